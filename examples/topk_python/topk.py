#!/usr/bin/env python3
"""Selects the three largest scores of two rows on a running server, with grpcio alone.

    topk.py [TARGET]      e.g. unix:/tmp/winnow.sock; default: $WINNOW_TARGET, else the local server's socket

Needs grpcio, protobuf and the modules that protoc makes of proto/: examples/README.md has the command.
"""

import os
import struct
import sys

import grpc
from winnow.v1 import error_detail_pb2, rpc_status_pb2
from winnow.v1 import indexer_service_pb2, indexer_service_pb2_grpc, steps_pb2, tensor_pb2


def default_target():
    if os.environ.get('WINNOW_TARGET'):
        return os.environ['WINNOW_TARGET']
    folder = os.environ.get('XDG_RUNTIME_DIR') or f'/tmp/winnow-{os.getuid()}'
    return f'unix:{folder}/winnow.sock'


def float32_matrix(rows):
    """With numpy: inline_data=array.astype('<f4').tobytes()."""
    values = [value for row in rows for value in row]
    return tensor_pb2.Tensor(data_type=tensor_pb2.DATA_TYPE_FLOAT32, row_count=len(rows), column_count=len(rows[0]),
                             inline_data=struct.pack(f'<{len(values)}f', *values))


def int32_column(values):
    return tensor_pb2.Tensor(data_type=tensor_pb2.DATA_TYPE_INT32, row_count=len(values), column_count=1,
                             inline_data=struct.pack(f'<{len(values)}i', *values))


def int32_rows(tensor):
    values = struct.unpack(f'<{tensor.row_count * tensor.column_count}i', tensor.inline_data)
    return [values[row * tensor.column_count:(row + 1) * tensor.column_count] for row in range(tensor.row_count)]


def error_detail(error):
    """What programs branch on: reason, field, value, limit. None when the server did not answer."""
    for key, value in error.trailing_metadata() or ():
        if key == 'grpc-status-details-bin':
            status = rpc_status_pb2.RpcStatus.FromString(value)
            detail = error_detail_pb2.ErrorDetail()
            if status.details and status.details[0].Unpack(detail):
                return detail
    return None


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else default_target()
    request = indexer_service_pb2.TopKRequest()
    step = request.step
    step.scores.CopyFrom(float32_matrix([[0.5, 4.0, 1.0, 3.0, 2.0],
                                         [9.0, 7.0, 8.0, 0.0, 0.0]]))  # row 1 uses three
    step.lengths.CopyFrom(int32_column([5, 3]))
    step.k = 3
    step.order = steps_pb2.SELECTION_ORDER_SCORE
    step.indices.placement = tensor_pb2.OUTPUT_PLACEMENT_INLINE

    # gRPC's own limit on replies is 4 MiB; a server answers with what the request implies.
    with grpc.insecure_channel(target, options=[('grpc.max_receive_message_length', -1)]) as channel:
        indexer = indexer_service_pb2_grpc.IndexerServiceStub(channel)
        try:
            reply = indexer.TopK(request, timeout=10, wait_for_ready=True)
        except grpc.RpcError as error:
            print(f'{error.code().name}: {error.details()}', file=sys.stderr)
            detail = error_detail(error)
            if detail is not None:
                reason = error_detail_pb2.ErrorReason.Name(detail.reason)
                print(f"reason {reason}, field '{detail.field}', value '{detail.value}', accepted '{detail.limit}'",
                      file=sys.stderr)
            return 1
    for number, positions in enumerate(int32_rows(reply.result.outputs[0].tensor)):
        print(f'row {number}:', *positions)
    return 0


if __name__ == '__main__':
    sys.exit(main())
