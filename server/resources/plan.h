// A routing plan kept for many top-k calls with the same lengths.

#ifndef WINNOW_SERVER_RESOURCES_PLAN_H_
#define WINNOW_SERVER_RESOURCES_PLAN_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "server/resources/resource.h"
#include "winnow/kernels/device.h"

namespace winnow::server {

// Immutable: PlanBytes(header.rows) bytes on the device, laid out as operations.h says.
class Plan final : public Resource {
 public:
  Plan(std::unique_ptr<DeviceMemory> memory, const PlanHeader& header)
      : memory_(std::move(memory)), header_(header) {}

  ResourceKind kind() const override { return ResourceKind::kPlan; }
  int64_t size_bytes() const override { return memory_->size_bytes(); }
  const std::byte* data() const { return memory_->data(); }
  const PlanHeader& header() const { return header_; }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  const PlanHeader header_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_PLAN_H_
