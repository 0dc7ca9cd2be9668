"""Writes schemas.txt: the operators of the default domain with the opsets that changed them, from the schemas of onnx.
Run: python schemas.py > schemas.txt"""
from collections import defaultdict

import onnx.defs

versions = defaultdict(list)
for s in onnx.defs.get_all_schemas_with_history():
    if s.domain == "":
        versions[s.name].append(f"{s.since_version}{'-' if s.deprecated else ''}")
print(f"# onnx {onnx.__version__}, opset {onnx.defs.onnx_opset_version()}; a minus: deprecated since")
for name in sorted(versions):
    print(name, *sorted(versions[name], key=lambda v: int(v.rstrip("-"))))
