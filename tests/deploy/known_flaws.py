#!/usr/bin/env python3
"""Sends what is known to end or stall gRPC 1.51 and holds the server to what SECURITY.md says: it serves on.

 CVE-2023-1428: certain headers, and then more than the limit of headers, make some builds abort.
 CVE-2023-4785: connections beyond the process's descriptors make the accept loop stop for good.
"""

import resource
import socket
import struct
import time

import support
from support import check, run

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
SETTINGS, HEADERS, CONTINUATION, END_HEADERS = 4, 1, 9, 4
FRAME_BYTES = 16000


def literal(name, value):
    """A header field without indexing, of RFC 7541."""
    def text(data):
        length, encoded = len(data), b''
        if length < 127:
            return bytes([length]) + data
        length -= 127
        while length >= 128:
            encoded += bytes([length % 128 + 128])
            length //= 128
        return b'\x7f' + encoded + bytes([length]) + data

    return b'\x00' + text(name) + text(value)


def frame(kind, flags, stream, payload):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


def request_headers(extra, total_bytes):
    block = b''.join(literal(name, value) for name, value in (
        (b':method', b'POST'), (b':scheme', b'http'), (b':path', b'/winnow.v1.IndexerService/TopK'),
        (b':authority', b'a'), (b'content-type', b'application/grpc')))
    block += extra
    number = 0
    while len(block) < total_bytes:
        block += literal(b'x-%d' % number, b'v' * 1000)
        number += 1
    parts = [block[begin:begin + FRAME_BYTES] for begin in range(0, len(block), FRAME_BYTES)]
    return b''.join(frame(HEADERS if i == 0 else CONTINUATION, END_HEADERS if i == len(parts) - 1 else 0, 1, part)
                    for i, part in enumerate(parts))


def connect(server):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(1)
    peer.connect(server.target[len('unix:'):])
    return peer


def serves(server, command):
    code, output = run(support.CLI, *command, f'--target={server.target}', '--timeout=30')
    return code == 0, output


def hostile_headers(server, command):
    for extra in literal(b'te', b'x'), literal(b':scheme', b'x'), literal(b'grpclb_client_stats', b'x'):
        for total_bytes in 0, 9000, 40000, 200000:
            with connect(server) as peer:
                try:
                    peer.sendall(PREFACE + frame(SETTINGS, 0, 0, b'') + request_headers(extra, total_bytes))
                    while peer.recv(65536):
                        pass
                except OSError:
                    pass  # refused, or nothing more to say: both are answers
            check(server.process.poll() is None, f'the server lives after {extra} and {total_bytes} bytes of headers')
    ok, output = serves(server, command)
    check(ok, output)


def descriptors_used_up(server, command):
    peers = []
    try:
        for _ in range(200):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(0.05)
            peers.append(peer)
            try:
                peer.connect(server.target[len('unix:'):])
            except OSError:
                break  # its backlog is full
        deadline = time.monotonic() + 30
        while 'no descriptors left' not in server.log():
            check(time.monotonic() < deadline, 'the server says that its descriptors are used up')
            time.sleep(0.01)
    finally:
        for peer in peers:
            peer.close()
    # Soon, not at once: the server pauses before it accepts again, and what waits then fills its backlog.
    deadline = time.monotonic() + 30
    while not (answer := serves(server, command))[0] and time.monotonic() < deadline:
        time.sleep(0.02)
    check(answer[0] and server.process.poll() is None, 'connections are accepted again: ' + answer[1])


def main():
    with support.Server() as server:
        hostile_headers(server, support.topk_files(server.folder))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, before[1]))
    with support.Server('--max-connections=100000') as server:
        # Of the server alone: this process needs its own.
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        descriptors_used_up(server, support.topk_files(server.folder))


if __name__ == '__main__':
    main()
