// Where in a request's message the ids of resources stand, so that each attempt names them as the
// server calls them now.

#ifndef WINNOW_CLIENT_SRC_RESOURCE_BINDINGS_H_
#define WINNOW_CLIENT_SRC_RESOURCE_BINDINGS_H_

#include <string>
#include <utility>
#include <vector>

#include "client/src/lease_core.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::client {

// `uses` and `ids` go side by side. The message that `ids` point into outlives it.
class ResourceBindings {
 public:
  void Add(ResourceUse use, v1::ResourceId* id) {
    uses_.push_back(std::move(use));
    ids_.push_back(id);
  }

  std::vector<ResourceUse>& uses() { return uses_; }
  const std::vector<ResourceUse>& uses() const { return uses_; }
  bool writes() const {
    for (const ResourceUse& use : uses_) {
      if (use.writes) return true;
    }
    return false;
  }
  // Writes the ids of `uses` to the message.
  void Apply() const {
    for (size_t i = 0; i < ids_.size(); ++i) {
      ids_[i]->set_id(uses_[i].id.id);
      ids_[i]->set_generation(uses_[i].id.generation);
    }
  }

 private:
  std::vector<ResourceUse> uses_;
  std::vector<v1::ResourceId*> ids_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_RESOURCE_BINDINGS_H_
