#!/usr/bin/env python3
"""Draws the example digits as PNG: the path of a pen for each digit, with the unsteadiness of a hand.

    python draw.py --out FOLDER [--seed N]

digit_D.png is 28x28, white ink on black; paper_D.png is 140x140, dark ink on off-white paper. None is a data set's
image. Which seed is drawn changes the hand, not what is written.
"""

import argparse
import pathlib

import numpy as np
from PIL import Image, ImageDraw

# Pen strokes on a page of 100 by 100, x to the right and y down. A stroke is a smooth curve through its points;
# a point given twice is a corner.
STROKES = {
    0: [[(55, 21), (40, 25), (31, 42), (32, 63), (43, 79), (58, 78), (68, 62), (69, 40), (62, 25), (52, 21)]],
    1: [[(44, 29), (53, 21), (53, 21), (52, 40), (50, 60), (49, 80)]],
    2: [[(33, 35), (38, 24), (52, 20), (64, 29), (61, 45), (47, 62), (31, 78), (31, 78), (50, 77), (70, 77)]],
    3: [
        [(34, 27), (46, 20), (60, 23), (64, 34), (57, 44), (46, 48), (46, 48), (61, 51), (67, 63), (60, 76),
         (46, 80), (32, 74)],
    ],
    4: [[(43, 21), (38, 36), (31, 55), (31, 55), (50, 55), (71, 53)], [(59, 33), (58, 55), (57, 81)]],
    5: [
        [(40, 22), (38, 34), (35, 47), (35, 47), (49, 43), (63, 50), (66, 63), (57, 76), (43, 80), (31, 74)],
        [(39, 22), (52, 22), (67, 20)],
    ],
    6: [
        [(59, 20), (45, 31), (35, 50), (34, 67), (43, 79), (57, 79), (66, 68), (62, 56), (50, 52), (39, 58),
         (35, 66)],
    ],
    7: [[(31, 24), (48, 23), (68, 22), (68, 22), (60, 40), (51, 60), (45, 81)]],
    8: [
        [(63, 28), (52, 20), (40, 24), (38, 36), (49, 47), (62, 59), (63, 73), (51, 81), (38, 76), (37, 63),
         (48, 49), (61, 38), (64, 28)],
    ],
    9: [[(64, 31), (54, 21), (41, 25), (36, 38), (43, 49), (56, 47), (64, 33), (64, 33), (63, 50), (59, 66), (54, 81)]],
}

PAPER = (3, 7)
FINE = 8  # samples to a pixel, along each side


def curve(points, per_segment=40):
    """Returns points along the Catmull-Rom spline through points, f64 [M,2]."""
    p = np.asarray(points, float)
    p = np.vstack([2 * p[0] - p[1], p, 2 * p[-1] - p[-2]])
    t = np.linspace(0, 1, per_segment)[:, None]
    parts = []
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        parts.append(b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))))
    return np.vstack(parts)


def unsteady(points, rng):
    """Moves each point by the hand's jitter; corners stay corners."""
    moved, last = [], None
    for point in points:
        if point != last:
            shift = rng.normal(0, 1.1, 2)
        moved.append(np.asarray(point) + shift)
        last = point
    return np.clip(moved, 8, 92)


def ink(digit, side, pen, rng):
    """Returns the ink of a drawn digit as coverage 0..1, f64 [side,side]; pen is the stroke's width in pixels."""
    slant, turn = rng.uniform(-0.05, 0.12), rng.uniform(-0.06, 0.06)
    shear = np.array([[1, -slant], [0, 1]])
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    image = Image.new("L", (side * FINE, side * FINE))
    canvas = ImageDraw.Draw(image)
    unit = side * FINE / 100
    for stroke in STROKES[digit]:
        path = ((curve(unsteady(stroke, rng)) - 50) @ (rotation @ shear).T + 50) * unit
        # The pen presses harder here and there.
        phase, along = rng.uniform(0, 2 * np.pi), np.linspace(0, 5, len(path))
        radii = pen * FINE / 2 * (1 + 0.12 * np.sin(along + phase))
        for (x, y), r in zip(path, radii):
            canvas.ellipse((x - r, y - r, x + r, y + r), fill=255)
    fine = np.asarray(image, float) / 255
    return fine.reshape(side, FINE, side, FINE).mean((1, 3))


def main():
    parser = argparse.ArgumentParser(description="draw the example digits as PNG")
    parser.add_argument("--out", required=True, help="folder to write into")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    out = pathlib.Path(args.out)
    for digit in STROKES:
        rng = np.random.default_rng((args.seed, digit, 28))
        drawn = ink(digit, 28, rng.uniform(2.2, 2.9), rng)
        save(drawn * 255, out / f"digit_{digit}.png")
    for digit in PAPER:
        rng = np.random.default_rng((args.seed, digit, 140))
        drawn = ink(digit, 140, rng.uniform(11, 14), rng)
        paper = rng.normal(251, 1.5, drawn.shape)
        save(paper + (28 - paper) * drawn, out / f"paper_{digit}.png")


def save(values, path):
    Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8)).save(path, optimize=True)


if __name__ == "__main__":
    main()
