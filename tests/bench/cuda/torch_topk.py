#!/usr/bin/env python3
"""Times torch.topk(sorted=False) at the shapes of kernel_bench's table; one CSV line a shape.

Cold like kernel_bench: CUDA-graph replays over rotating buffers, L2 flushed before each replay.
"""

import statistics
import sys

try:
    import torch
except ImportError:
    sys.exit("torch is not installed: nothing to time")

LAUNCHES, REPLAYS = 20, 9


def time_topk(scores, k, flush):
    buffers = len(scores)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.topk(scores[0], k, sorted=False)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(LAUNCHES):
                torch.topk(scores[i % buffers], k, sorted=False)
        times = []
        for replay in range(REPLAYS + 2):
            flush.sum()
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record(stream)
            graph.replay()
            stop.record(stream)
            stop.synchronize()
            if replay >= 2:
                times.append(start.elapsed_time(stop) * 1e3 / LAUNCHES)
    return statistics.median(times)


def main():
    if not torch.cuda.is_available():
        sys.exit("no CUDA device: nothing to time")
    flush = torch.ones(64 << 20, device="cuda")
    print("operation,dtype,rows,columns,k,overlap,peer,us", flush=True)
    for columns in (8, 16, 32, 64, 128, 512):
        for rows in (1, 16, 64, 256):
            elements = rows * columns * 1024
            buffers = max(2, min(LAUNCHES, (160 << 20) // (4 * elements) + 1))
            scores = [torch.randn(rows, columns * 1024, device="cuda") for _ in range(buffers)]
            for k in (512, 2048):
                print(f"topk,float32,{rows},{columns * 1024},{k},serial,torch,"
                      f"{time_topk(scores, k, flush):.2f}", flush=True)
            del scores


if __name__ == "__main__":
    main()
