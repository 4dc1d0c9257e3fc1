"""PyTorch tensors as buffers of a server: scores and results stay where PyTorch put them.

    torch_sharing.py WINNOW_SERVER

Starts the server on the GPU, shares two tensors with it through the allocator in use (see
PYTORCH_CUDA_ALLOC_CONF), lets it select, and compares with torch.topk. Needs torch, grpcio and the
generated modules of proto/, installed or in the folder WINNOW_PYTHON_STUBS. Prints one line and
exits 0; 1 when something is wrong, 77 when torch or the GPU is missing.
"""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

try:
    import grpc
    import torch
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)
if not torch.cuda.is_available():
    print('skipped: torch finds no GPU')
    sys.exit(77)

# After what is installed: a folder that brings protobuf along must not come before the installed
# one, whose compiled half would be imported all the same and fail with another version's modules.
if 'WINNOW_PYTHON_STUBS' in os.environ:
    sys.path.append(os.environ['WINNOW_PYTHON_STUBS'])
from winnow.v1 import indexer_service_pb2, indexer_service_pb2_grpc  # noqa: E402
from winnow.v1 import lease_service_pb2, lease_service_pb2_grpc  # noqa: E402
from winnow.v1 import memory_service_pb2, memory_service_pb2_grpc  # noqa: E402
from winnow.v1 import tensor_pb2  # noqa: E402

ROWS, COLUMNS, K = 4, 131072, 512
IPC_HANDLE_BYTES = 64


def send_descriptor(path, lease_id, descriptor):
    """Hands a descriptor to the server; returns the token to import it with."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(10)
        connection.connect(path)
        socket.send_fds(connection, [lease_id.encode()], [descriptor])
        answer = connection.recv(512).decode()
    if not answer.startswith('T'):
        raise RuntimeError(f'the server refused a descriptor: {answer}')
    return answer[1:]


def import_request(tensor, lease):
    """What ImportBuffer needs for the tensor's memory, and how PyTorch allocated it.

    PyTorch names memory by a version byte, a kind and either a cudaIpcMemHandle ('c') or a list of
    file descriptors of this process ('e', expandable segments).
    """
    _, handle, _, storage_offset, *_ = tensor.untyped_storage()._share_cuda_()
    size = tensor.numel() * tensor.element_size()
    offset = storage_offset + tensor.storage_offset() * tensor.element_size()
    request = memory_service_pb2.ImportBufferRequest(
        lease_id=lease.lease_id, offset_bytes=offset, size_bytes=size)
    kind = 'c' if len(handle) == IPC_HANDLE_BYTES else chr(handle[1])
    if kind == 'c':
        request.ipc_handle = handle[-IPC_HANDLE_BYTES:]
        return request, 'ipc handle'
    if kind != 'e':
        raise RuntimeError(f'unknown kind of shareable handle {kind!r}')
    header = struct.Struct('=i4xQQ')
    _, chunk_bytes, count = header.unpack_from(handle, 2)
    rest = handle[2 + header.size:]
    if len(rest) != 4 * count:
        raise RuntimeError(f'{count} chunks but {len(rest)} bytes of descriptors: fabric handles?')
    request.mapped_memory.chunk_size_bytes = chunk_bytes
    for descriptor in struct.unpack(f'={count}i', rest):
        request.mapped_memory.import_tokens.append(
            send_descriptor(lease.descriptor_socket_path, lease.lease_id, descriptor))
    return request, f'{count} descriptors of {chunk_bytes} bytes'


def select(channel, lease, scores, out):
    """Imports both tensors and lets the server write the selection into `out`."""
    memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
    buffers, ways = [], []
    for tensor in (scores, out):
        request, way = import_request(tensor, lease)
        buffers.append(memory.ImportBuffer(request, timeout=30).buffer)
        ways.append(way)
    request = indexer_service_pb2.TopKRequest(lease_id=lease.lease_id)
    step = request.step
    step.scores.data_type = tensor_pb2.DATA_TYPE_FLOAT32
    step.scores.row_count, step.scores.column_count = scores.shape
    step.scores.buffer.buffer.CopyFrom(buffers[0])
    step.lengths.data_type = tensor_pb2.DATA_TYPE_INT32
    step.lengths.row_count, step.lengths.column_count = scores.shape[0], 1
    step.lengths.inline_data = struct.pack(f'<{scores.shape[0]}i', *[scores.shape[1]] * scores.shape[0])
    step.k = out.shape[1]
    step.indices.placement = tensor_pb2.OUTPUT_PLACEMENT_BUFFER
    step.indices.buffer.buffer.CopyFrom(buffers[1])
    torch.cuda.synchronize()
    indexer_service_pb2_grpc.IndexerServiceStub(channel).TopK(request, timeout=30)
    return ways[0]


def check(scores, out):
    """The values at the chosen positions are the largest, and no position is chosen twice."""
    expected = torch.topk(scores, K, dim=1).values
    chosen = torch.gather(scores, 1, out.long()).sort(dim=1, descending=True).values
    distinct = all(len(set(row)) == K for row in out.tolist())
    return distinct and torch.equal(expected, chosen)


def wait_for_socket(path, server):
    for _ in range(600):
        if os.path.exists(path + '.fd') and os.path.exists(path):
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError('the server did not start')


def main():
    torch.manual_seed(1)
    # Something before it, so that the tensors do not start where their allocation does.
    before = torch.zeros(1000, device='cuda')
    scores = torch.randn(ROWS, COLUMNS, device='cuda')
    out = torch.full((ROWS, K), -1, dtype=torch.int32, device='cuda')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'winnow.sock')
        server = subprocess.Popen([sys.argv[1], '--backend=cuda', f'--listen=unix:{path}'])
        try:
            wait_for_socket(path, server)
            channel = grpc.insecure_channel(f'unix:{path}')
            leases = lease_service_pb2_grpc.LeaseServiceStub(channel)
            stream = leases.OpenLease(lease_service_pb2.OpenLeaseRequest())
            lease = next(stream).opened
            way = select(channel, lease, scores, out)
            right = check(scores, out)
            stream.cancel()
        finally:
            server.terminate()
            server.wait(timeout=60)
    del before
    print(f'torch {torch.__version__}, {way}: {"the selection is right" if right else "WRONG"}')
    return 0 if right else 1


if __name__ == '__main__':
    sys.exit(main())
