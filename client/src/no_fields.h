// What an RPC without parameters, or without results, has in their place.

#ifndef WINNOW_CLIENT_SRC_NO_FIELDS_H_
#define WINNOW_CLIENT_SRC_NO_FIELDS_H_

namespace winnow::client {

struct NoFields {};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_NO_FIELDS_H_
