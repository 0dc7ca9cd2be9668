"""Random distortions of digit images: what a hand, a pen and a scanner vary."""

import numpy as np

SIDE = 28


def augment(images, rng):
    """Returns a distorted copy of images, f32 [N,28,28] in 0..1, each image distorted by its own draw from rng."""
    return _tone(_thickness(_affine(images, rng), rng), rng)


def _affine(images, rng):
    """Rotation to 15 degrees, scale 0.75 to 1.25 and aspect to 12 %, shear to 0.2, shift to 3 pixels; bilinear."""
    n = len(images)
    angle = rng.uniform(-np.pi / 12, np.pi / 12, n)
    scale = rng.uniform(0.75, 1.25, n)
    aspect = rng.uniform(0.88, 1.12, n)
    shear = rng.uniform(-0.2, 0.2, n)
    shift = rng.uniform(-3, 3, (2, n))
    # The inverse map: for each pixel of the result, the place in the source.
    cos, sin = np.cos(angle) / scale, np.sin(angle) / scale
    a, b = cos * aspect, (sin + shear * cos) * aspect
    c, d = -sin / aspect, (cos - shear * sin) / aspect
    centre = (SIDE - 1) / 2
    grid = np.arange(SIDE) - centre
    y, x = grid[None, :, None], grid[None, None, :]
    per_image = (slice(None), None, None)
    src_x = a[per_image] * x + b[per_image] * y + (centre + shift[0])[per_image]
    src_y = c[per_image] * x + d[per_image] * y + (centre + shift[1])[per_image]
    return _bilinear(images, src_x.astype(np.float32), src_y.astype(np.float32))


def _bilinear(images, x, y):
    # A margin of one black pixel, with coordinates clamped into it, makes everything outside the image black.
    side = SIDE + 2
    flat = np.pad(images, ((0, 0), (1, 1), (1, 1))).reshape(-1)
    x, y = np.clip(x + 1, 0, side - 1.001), np.clip(y + 1, 0, side - 1.001)
    fx, fy = x % 1, y % 1
    x0, y0 = x.astype(np.int32), y.astype(np.int32)
    first = np.arange(len(images), dtype=np.int32)[:, None, None] * (side * side)
    at = first + y0 * side + x0
    top = flat[at] * (1 - fx) + flat[at + 1] * fx
    bottom = flat[at + side] * (1 - fx) + flat[at + side + 1] * fx
    return top * (1 - fy) + bottom * fy


def _thickness(images, rng):
    """Blends each image towards its dilation or its erosion by a 3x3 cross, by up to the whole or 60 %."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    cross = [
        padded[:, 1:-1, 1:-1], padded[:, :-2, 1:-1], padded[:, 2:, 1:-1], padded[:, 1:-1, :-2], padded[:, 1:-1, 2:],
    ]
    amount = rng.uniform(-1.2, 1.2, (len(images), 1, 1)).astype(np.float32)
    amount = np.sign(amount) * np.maximum(np.abs(amount) - 0.2, 0)  # one image in six keeps its pen
    thick = np.maximum.reduce(cross) - images
    thin = np.minimum.reduce(cross) - images
    return images + np.maximum(amount, 0) * thick + np.maximum(-amount, 0) * 0.6 * thin


def _tone(images, rng):
    """Gamma 0.7 to 1.4 and contrast 0.8 to 1.25 for every image, grey noise for one image in four."""
    n = len(images)
    gamma = rng.uniform(0.7, 1.4, (n, 1, 1)).astype(np.float32)
    gain = rng.uniform(0.8, 1.25, (n, 1, 1)).astype(np.float32)
    level = np.where(rng.random((n, 1, 1)) < 0.25, rng.uniform(0, 0.15, (n, 1, 1)), 0).astype(np.float32)
    noise = rng.random(images.shape, dtype=np.float32) * level
    return np.clip(np.clip(images, 0, 1) ** gamma * gain + noise, 0, 1)
