#include "server/rpc/lease_methods.h"

#include "absl/strings/str_cat.h"

namespace winnow::server {

std::unique_ptr<RpcMethod> MakeCloseLease(RawLeaseService& service, RpcEnvironment& environment) {
  using Method = ImmediateMethod<v1::CloseLeaseRequest, v1::CloseLeaseResponse>;
  // Also while the server drains: a client that leaves makes that shorter.
  return std::make_unique<Method>(
      absl::StrCat(v1::LeaseService::service_full_name(), "/CloseLease"),
      BindRequest(service, &RawLeaseService::RequestCloseLease), environment,
      [&environment](const UnaryCall&, const v1::CloseLeaseRequest& request,
                     v1::CloseLeaseResponse&) {
        return environment.ledger->CloseLease(request.lease_id());
      });
}

}  // namespace winnow::server
