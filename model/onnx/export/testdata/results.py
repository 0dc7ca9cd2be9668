"""Runs testdata/*.onnx on the inputs of cases.json with ONNX Runtime and writes results.json.

    python results.py

Versions: ONNX Runtime 1.32.0, onnx 1.23.2, NumPy 2.4.6. cases.json and the models are written by
go test ./model/onnx/export -run Runtime -update, and cases.json can be removed afterwards.
"""
import json, pathlib
import numpy as np
import onnx, onnxruntime

here = pathlib.Path(__file__).parent
types = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "bool": np.bool_}
results = {}
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
for name, case in json.loads((here / "cases.json").read_text()).items():
    path = here / f"{name}.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {a["name"]: np.array(a["data"], types[a["dtype"]]).reshape(a["shape"]) for a in case["Inputs"]}
    outs = session.run(None, feeds)
    case["Outputs"] = [{"name": o.name, "dtype": "", "shape": list(v.shape), "data": [float(f"{x:.9g}") for x in v.astype(np.float64).ravel()]}
                       for o, v in zip(session.get_outputs(), outs)]
    results[name] = case
(here / "results.json").write_text(json.dumps(results))
print(len(results), "cases")
