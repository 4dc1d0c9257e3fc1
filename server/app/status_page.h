// The status page: one HTML document without outside assets that reads /status.json and /metrics.

#ifndef WINNOW_SERVER_APP_STATUS_PAGE_H_
#define WINNOW_SERVER_APP_STATUS_PAGE_H_

#include <string>

namespace winnow::server {

std::string StatusPage();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_STATUS_PAGE_H_
