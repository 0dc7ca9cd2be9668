"""A contestant of tools/benchpeers: one JSON request a line on stdin, one JSON answer a line on stdout.

Started as: peer.py onnxruntime|torch THREADS OUTDIR. The first line is {"version": ...}.

open:  {"do": "open", "op" | "onnx" | "model": ..., ...} -> {"outputs": [paths of .npy]}: makes what is asked for current, runs it once.
turn:  {"do": "turn", "seconds": s} -> {"calls": n, "samples": [nanoseconds of one call, ...]}: runs it for about s.
Faults are {"error": text}.
"""

import json
import os
import sys
import time

import numpy


class Peer:
    """What both have: the current call, its timing, and its outputs."""

    def __init__(self, out):
        self.out, self.call, self.batch = out, None, 1

    def open(self, req):
        self.call, self.batch = self.prepare(req), 0
        paths = []
        for i, a in enumerate(self.arrays(self.call())):
            paths.append(os.path.join(self.out, f"output_{i}.npy"))
            numpy.save(paths[-1], numpy.ascontiguousarray(a) if a.ndim else a)
        return {"outputs": paths}

    def turn(self, req):
        call, samples, calls = self.call, [], 0
        single = req.get("single", False)  # a sample is one call
        end = time.perf_counter() + req["seconds"]
        while True:
            n = 1 if single else max(1, self.batch)
            start = time.perf_counter_ns()
            for _ in range(n):
                call()
            took = time.perf_counter_ns() - start
            if not single and (self.batch == 0 or took < 500_000 and self.batch < 4096):  # warm-up: samples of a millisecond
                if took >= 500_000 or n >= 4096:
                    self.batch = n
                else:
                    self.batch = min(4096, max(n + 1, int(n * 1.2e6 / max(took, 1))))
                continue
            calls += n
            samples.append(took // n)
            if time.perf_counter() >= end:
                return {"calls": calls, "samples": samples}


def main():
    name, threads, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if name == "torch":
        import torch_peer as module
    else:
        import ort_peer as module
    peer = module.make(threads, out)
    print(json.dumps({"version": module.version}), flush=True)
    for line in sys.stdin:
        try:
            req = json.loads(line)
            answer = peer.open(req) if req["do"] == "open" else peer.turn(req)
        except Exception as e:  # the other side reports it
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
