"""Times ONNX Runtime for tools/benchmodels: one JSON request a line on stdin, one JSON answer a line on stdout.

request: {"model": path, "data": test_data_set directory, "threads": n, "seconds": s, "out": directory for output_N.npy}
answer:  {"runs": n, "median_us": t, "best_us": t, "outputs": [path, ...]} or {"error": text}
"""

import glob
import json
import os
import statistics
import sys
import time

import numpy
import onnx
import onnxruntime


def tensor(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return onnx.numpy_helper.to_array(t)


onnxruntime.set_default_logger_severity(3)


def measure(req):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = req["threads"]
    o.inter_op_num_threads = 1
    s = onnxruntime.InferenceSession(req["model"], o, providers=["CPUExecutionProvider"])
    files = sorted(glob.glob(os.path.join(req["data"], "input_*.pb")), key=lambda p: int(p.rsplit("_", 1)[1][:-3]))
    feed = {i.name: tensor(p) for i, p in zip(s.get_inputs(), files)}
    outputs = s.run(None, feed)
    times, end = [], time.perf_counter() + req["seconds"]
    while time.perf_counter() < end or len(times) < 5:
        t = time.perf_counter()
        s.run(None, feed)
        times.append((time.perf_counter() - t) * 1e6)
    paths = []
    for i, a in enumerate(outputs):
        paths.append(os.path.join(req["out"], f"output_{i}.npy"))
        numpy.save(paths[-1], numpy.ascontiguousarray(a))
    return {"runs": len(times), "median_us": statistics.median(times), "best_us": min(times), "outputs": paths}


print(json.dumps({"version": onnxruntime.__version__}), flush=True)
for line in sys.stdin:
    try:
        answer = measure(json.loads(line))
    except Exception as e:  # the Go side reports it
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
