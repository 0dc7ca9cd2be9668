"""An opened device: the tensors that its streams share."""

import threading

import numpy as np

from . import errors
from .codec import GENERATION_SHIFT
from .errors import BurnError
from .types import NUMPY


class OpenDevice:
    """Streams may use it at the same time."""

    def __init__(self, backend, generation):
        self.backend, self.generation = backend, generation
        self.lock = threading.Lock()
        self.tensors = {}  # id to array, or to the error that poisons it
        self.in_use = 0
        self.streams = set()
        self.closed = False

    def usage(self):
        """Bytes of elements, and live tensors."""
        with self.lock:
            return self.in_use, len(self.tensors)

    def missing(self, tensor_id):
        stale = tensor_id >> GENERATION_SHIFT != self.generation
        return BurnError(errors.STALE if stale else errors.UNKNOWN_TENSOR, f"t{tensor_id & (1 << GENERATION_SHIFT) - 1}")

    def get(self, tensor_id):
        """An array, the error of a poisoned tensor, or None."""
        return self.tensors.get(tensor_id)

    def define(self, tensor_id, value):
        """Makes a tensor of an array or an error. What is wrong with the id is returned, and takes its place."""
        fault = None
        with self.lock:
            if tensor_id >> GENERATION_SHIFT != self.generation:
                return self.missing(tensor_id)
            if tensor_id in self.tensors:
                value = fault = BurnError(errors.PROTOCOL, f"t{tensor_id} is defined twice")
                self._remove(tensor_id)
            self.tensors[tensor_id] = value
            if isinstance(value, np.ndarray):
                self.in_use += value.nbytes
        return fault

    def release(self, tensor_id):
        """Frees a tensor, and returns whether it was there."""
        with self.lock:
            return self._remove(tensor_id)

    def _remove(self, tensor_id):
        value = self.tensors.pop(tensor_id, None)
        if isinstance(value, np.ndarray):
            self.in_use -= value.nbytes
        return value is not None

    def array(self, t, data):
        """A copy of written data."""
        self.backend.check_tensor(t)
        if len(data) != t.nbytes:
            raise errors.shape_error(f"{len(data)} bytes, want {t.nbytes}")
        if NUMPY[t.dtype].kind == "b":
            return (np.frombuffer(data, np.uint8) != 0).reshape(t.shape)
        return np.frombuffer(data, NUMPY[t.dtype]).reshape(t.shape).copy()

    def enter(self, stream):
        with self.lock:
            if self.closed:
                raise BurnError(errors.CLOSED, "device")
            self.streams.add(stream)

    def close(self):
        with self.lock:
            self.closed = True
            streams, self.streams = self.streams, set()
            self.tensors.clear()
            self.in_use = 0
        for stream in streams:
            stream.end()
