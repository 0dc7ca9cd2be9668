"""Writes pixels.json: small images with the pixels that Pillow (libjpeg-turbo, libwebp) gives.
Run: python pixels.py > pixels.json"""
import base64
import io
import json
import sys

import numpy as np
from PIL import Image, features

rng = np.random.default_rng(1)


def picture(w, h, channels=3):
    """Gradients, edges and noise, extremes included."""
    y, x = np.mgrid[0:h, 0:w]
    planes = [x * 255 / w, y * 255 / h, ((x // 3 + y // 5) % 2) * 255, 255 - x * 200 / w][:channels]
    noise = rng.integers(-40, 41, (h, w, channels))
    return np.clip(np.stack(planes, -1) + noise, 0, 255).astype(np.uint8)


cases = []


def case(name, kind, image, edit=lambda b: b, **options):
    b = io.BytesIO()
    image.save(b, kind, **options)
    b = edit(b.getvalue())
    got = Image.open(io.BytesIO(b))
    mode = "L" if got.mode == "L" else "RGBA" if got.mode == "RGBA" else "RGB"
    pixels = np.asarray(got.convert(mode))
    cases.append(dict(name=name, width=got.width, height=got.height, channels=len(mode),
                      file=base64.b64encode(b).decode(), pixels=base64.b64encode(pixels.tobytes()).decode()))


for w, h in [(1, 1), (2, 3), (3, 2), (5, 4), (17, 9), (16, 16), (31, 33)]:
    for s in ["4:4:4", "4:2:2", "4:2:0"]:
        case(f"jpeg {s} {w}x{h}", "JPEG", Image.fromarray(picture(w, h)), quality=90, subsampling=s)


def factors(old, new):
    """Other sampling factors of Y, with as many blocks in an MCU: the picture is scrambled, and legal."""
    def edit(b):
        at = b.index(b"\xff\xc0") + 11
        assert b[at] == old
        return b[:at] + bytes([new]) + b[at + 1:]
    return edit


case("jpeg 4:4:0", "JPEG", Image.fromarray(picture(32, 32)), edit=factors(0x21, 0x12), quality=90, subsampling="4:2:2")
case("jpeg 4:1:1", "JPEG", Image.fromarray(picture(32, 32)), edit=factors(0x22, 0x41), quality=90, subsampling="4:2:0")
case("jpeg four high", "JPEG", Image.fromarray(picture(32, 32)), edit=factors(0x22, 0x14), quality=90, subsampling="4:2:0")
big = Image.fromarray(picture(45, 37))
for q in [5, 50, 100]:
    case(f"jpeg quality {q}", "JPEG", big, quality=q)
    case(f"jpeg progressive quality {q}", "JPEG", big, quality=q, progressive=True)
case("jpeg progressive 4:4:4", "JPEG", big, quality=75, progressive=True, subsampling="4:4:4")
case("jpeg restart", "JPEG", big, quality=75, restart_marker_blocks=2)
case("jpeg progressive restart", "JPEG", big, quality=75, restart_marker_blocks=3, progressive=True)
case("jpeg optimized", "JPEG", big, quality=75, optimize=True)
case("jpeg grey", "JPEG", Image.fromarray(picture(21, 13, 1)[..., 0]), quality=80)
case("jpeg grey progressive", "JPEG", Image.fromarray(picture(21, 13, 1)[..., 0]), quality=80, progressive=True)
for w, h in [(1, 1), (2, 2), (3, 5), (16, 16), (33, 18)]:
    case(f"webp lossy {w}x{h}", "WEBP", Image.fromarray(picture(w, h)), quality=80)
case("webp lossy low", "WEBP", big, quality=5)
case("webp lossless", "WEBP", big, lossless=True)
rgba = Image.fromarray(picture(19, 14, 4))
case("webp lossy alpha", "WEBP", rgba, quality=80)
case("webp lossless alpha", "WEBP", rgba, lossless=True, exact=True)
for name, lossless in [("lossy", False), ("lossless", True)]:
    case(f"webp animated {name}", "WEBP", big, save_all=True, append_images=[Image.fromarray(picture(45, 37))], duration=50, lossless=lossless, quality=80)
patch = Image.new("RGBA", (24, 20))
patch.paste(Image.fromarray(picture(8, 6)), (10, 8))
case("webp animated patch", "WEBP", patch, save_all=True, append_images=[Image.fromarray(picture(24, 20))], duration=50, lossless=True, exact=True)
json.dump(dict(made=f"libjpeg-turbo {features.version('libjpeg_turbo')}, libwebp {features.version('webp')}", cases=cases), sys.stdout, indent=0)
