// The RPCs of IndexerService.

#ifndef WINNOW_SERVER_RPC_INDEXER_METHODS_H_
#define WINNOW_SERVER_RPC_INDEXER_METHODS_H_

#include <memory>
#include <vector>

#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_method.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::server {

// Every method in its raw form: the server parses requests itself, to refuse bad bytes with an
// error detail and sizes before memory is reserved. A method that is missing here answers
// UNIMPLEMENTED.
using RawIndexerUnary =
    v1::IndexerService::WithRawMethod_PlanTopK<v1::IndexerService::WithRawMethod_ReleasePlan<
        v1::IndexerService::WithRawMethod_TopK<v1::IndexerService::WithRawMethod_BlockAmax<
            v1::IndexerService::WithRawMethod_SortCandidateBlocks<
                v1::IndexerService::WithRawMethod_PublishCandidates<
                    v1::IndexerService::WithRawMethod_ConsumeCandidates<
                        v1::IndexerService::WithRawMethod_Execute<
                            v1::IndexerService::Service>>>>>>>>;
using RawIndexerService = v1::IndexerService::WithRawMethod_ExecuteStream<RawIndexerUnary>;

// `service` and `environment` outlive the methods.
std::vector<std::unique_ptr<RpcMethod>> MakeIndexerMethods(RawIndexerService& service,
                                                           RpcEnvironment& environment);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_INDEXER_METHODS_H_
