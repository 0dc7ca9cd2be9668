#!/usr/bin/env python3
"""Writes what ONNX Runtime makes of the example digits.

    python expected.py --model digits.onnx --images FOLDER --out expected.json

Each PNG named NAME_D.png of the folder is read as 8-bit grey, divided by 255, averaged over equal square blocks down to
28x28 where it is larger, and turned (1 - x) where NAME is paper. The run fails unless each is recognised as D with a
probability of at least 0.9.
"""

import argparse
import json
import pathlib

import numpy as np
import onnxruntime
from PIL import Image

SIDE = 28
MARGIN = 0.9


def prepare(path):
    """Returns the model's input for the PNG at path, f32 [1,1,28,28], white ink on black."""
    image = Image.open(path)
    if image.mode != "L" or image.width != image.height or image.width % SIDE:
        raise ValueError(f"{path.name}: got {image.mode} {image.size}, want 8-bit grey, square, a multiple of {SIDE}")
    block = image.width // SIDE
    x = np.asarray(image, np.float64).reshape(SIDE, block, SIDE, block).mean((1, 3)) / 255
    if path.name.startswith("paper_"):
        x = 1 - x
    return x.astype(np.float32)[None, None]


def main():
    parser = argparse.ArgumentParser(description="write ONNX Runtime's answers for the example digits")
    parser.add_argument("--model", required=True)
    parser.add_argument("--images", required=True, help="folder with the PNG files")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()

    session = onnxruntime.InferenceSession(args.model, providers=["CPUExecutionProvider"])
    entries = []
    for path in sorted(pathlib.Path(args.images).glob("*_[0-9].png")):
        probabilities = session.run(["probabilities"], {"image": prepare(path)})[0][0]
        label = int(probabilities.argmax())
        if label != int(path.stem[-1]) or probabilities[label] < MARGIN:
            raise SystemExit(f"{path.name}: got {label} with {probabilities[label]:.3f}, want {path.stem[-1]} with {MARGIN}")
        print(f"{path.name}: {label} {probabilities[label]:.4f}")
        entries.append({
            "file": path.name,
            "side": Image.open(path).width,
            "invert": path.name.startswith("paper_"),
            "label": label,
            "probabilities": [float(f"{p:.9g}") for p in probabilities],
        })
    if not entries:
        raise SystemExit(f"{args.images}: got no PNG named NAME_D.png")
    document = {
        "runtime": f"onnxruntime {onnxruntime.__version__}",
        "model": pathlib.Path(args.model).name,
        "input": "image",
        "output": "probabilities",
        "preprocessing": (
            "8-bit grey / 255; side over 28: mean of equal square blocks to 28x28, not rounded; invert: 1 - x"
        ),
        "images": entries,
    }
    pathlib.Path(args.out).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
