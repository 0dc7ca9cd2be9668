"""One stream: tensors by id, commands in order, poison. PROTOCOL.md, section 4."""

import queue
import threading

import numpy as np

from . import codec, errors
from .codec import CHUNK_SIZE, GENERATION_SHIFT, Reader, broken
from .errors import BurnError, NodeError
from .types import NUMPY, Type

OPEN, NODE, FREE, WRITE, BEGIN_WRITE, CHUNK, READ, SYNC, CANCEL, DEFINE, RUN, UNDEFINE, MEMORY = range(1, 14)
OPENED, DATA, DONE, USAGE, FAIL = range(0x81, 0x86)

HAS_MEMORY = 2  # flag of OPENED


class Stream:
    """serve() takes frames and yields replies. A thread receives, so that what overtakes is seen at once; another computes."""

    def __init__(self, backend):
        self.backend = backend
        self.names = codec.Names()
        self.generation = 0
        self.tensors = {}  # id to array, or to the error that poisons it
        self.in_use = 0
        self.failure = None
        self.canceled = set()
        self.upload = None  # request, type, data so far; of a BEGIN_WRITE
        self.opened = self.over = False
        self.received = False  # the last frame was taken
        self.frames = queue.Queue(16)
        self.replies = queue.Queue(16)

    def serve(self, frames, alive):
        """alive() is false once the call was given up."""
        threading.Thread(target=self._receive, args=(frames,), daemon=True).start()
        threading.Thread(target=self._work, args=(alive,), daemon=True).start()
        while True:
            try:
                reply = self.replies.get(timeout=1)
            except queue.Empty:
                if not alive():
                    return
                continue
            if reply is None:
                return
            yield reply

    def _receive(self, frames):
        try:
            for frame in frames:
                if self.over:
                    break
                if self.opened and frame[:1] == bytes([CANCEL]):
                    self.canceled.add(Reader(memoryview(frame)[1:]).uvarint())
                elif self.opened and frame[:1] == bytes([MEMORY]):
                    request = Reader(memoryview(frame)[1:]).uvarint()
                    in_use, live = self.in_use, len(self.tensors)
                    self._reply(USAGE, request, codec.uvarint(in_use) + codec.uvarint(in_use) + codec.uvarint(live))
                else:
                    self.frames.put(frame)
        except Exception:  # the call was given up
            pass
        finally:
            self.frames.put(None)

    def _reply(self, tag, request, content=b""):
        self.replies.put(bytes([tag]) + codec.uvarint(request) + content)

    def _work(self, alive):
        np.seterr(all="ignore")  # of this thread
        try:
            while (frame := self._next()) is not None and alive():
                self._frame(memoryview(frame))
        except Exception as e:
            e = errors.of(e)
            self.replies.put(bytes([FAIL]) + codec.error(e))
        finally:
            self.over = True
            self.tensors.clear()
            self.replies.put(None)
            while not self.received:  # let the receiver end
                self._next()

    def _next(self):
        frame = self.frames.get()
        self.received = frame is None
        return frame

    def _frame(self, frame):
        r = Reader(frame, self.names, self.generation)
        if not self.opened:
            self._open(r)
            return
        if not r.more():
            raise broken("empty frame")
        while r.more():
            tag = r.byte()
            if self.upload and tag != CHUNK:
                raise broken(f"command {tag} amid the chunks of a write")
            command = self._commands.get(tag)
            if command is None:
                raise broken(f"command {tag}")
            command(self, r)

    def _open(self, r):
        if not r.more() or r.byte() != OPEN:
            raise broken("the first frame is not OPEN")
        device, self.generation = r.uvarint(), r.uvarint()
        if r.more() or self.generation >= 1 << 16:
            raise broken("OPEN does not stand alone, or its generation is too large")
        if device >= len(self.backend.devices):
            raise BurnError(errors.NOT_FOUND, f"device {device}, want one below {len(self.backend.devices)}")
        self.opened = True
        self.replies.put(bytes([OPENED]) + codec.uvarint(HAS_MEMORY))

    # Tensors.

    def _missing(self, tensor_id):
        stale = tensor_id >> GENERATION_SHIFT != self.generation
        return BurnError(errors.STALE if stale else errors.UNKNOWN_TENSOR, f"t{tensor_id & (1 << GENERATION_SHIFT) - 1}")

    def _remember(self, e):
        if self.failure is None:
            self.failure = e

    def _define(self, tensor_id, value):
        if tensor_id >> GENERATION_SHIFT != self.generation:
            self._remember(self._missing(tensor_id))
            return
        if tensor_id in self.tensors:
            value = BurnError(errors.PROTOCOL, f"t{tensor_id} is defined twice")
            self._remember(value)
            self._release(tensor_id)
        self.tensors[tensor_id] = value
        if isinstance(value, np.ndarray):
            self.in_use += value.nbytes

    def _release(self, tensor_id):
        value = self.tensors.pop(tensor_id, None)
        if isinstance(value, np.ndarray):
            self.in_use -= value.nbytes
        return value is not None

    def _array(self, t, data):
        """A tensor of written data, which it copies."""
        self.backend.check_tensor(t)
        if len(data) != t.nbytes:
            raise errors.shape_error(f"{len(data)} bytes, want {t.nbytes}")
        if NUMPY[t.dtype].kind == "b":
            return (np.frombuffer(data, np.uint8) != 0).reshape(t.shape)
        return np.frombuffer(data, NUMPY[t.dtype]).reshape(t.shape).copy()

    # Commands.

    def _node(self, r):
        n = r.node()
        arrays, poison, fault = [], None, None
        for tensor_id in n.inputs:
            value = self.tensors.get(tensor_id)
            if value is None:
                fault = fault or self._missing(tensor_id)
            elif isinstance(value, Exception):
                poison = poison or value
            else:
                arrays.append(value)
        if poison is None:
            try:
                if fault:
                    raise fault
                results = self._compute(n, arrays)
            except Exception as e:
                cause = errors.of(e)
                poison = NodeError(n.op, n.outputs, cause.cause if isinstance(cause, NodeError) else cause)
                self._remember(poison)
        for i, tensor_id in enumerate(n.inputs[:64]):
            if n.drop >> i & 1:
                self._release(tensor_id)
        for i, t in enumerate(n.outputs):
            self._define(t.id, poison if poison is not None else results[i])

    def _compute(self, n, arrays):
        """Runs a node. What does not come out as the host expects was an illegal node, or is a bug of the kernel."""
        self.backend.supports(n, [_type(a) for a in arrays])
        results = self.backend.ops[n.op].kernel(n, arrays)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if len(results) != len(n.outputs):
            raise errors.shape_error(f"{len(n.outputs)} outputs, want {len(results)}")
        for a, t in zip(results, n.outputs):
            if a.dtype != NUMPY[t.dtype]:
                raise errors.dtype_error(f"output has element type {t.dtype}, want {a.dtype}")
            if a.shape != t.shape:
                raise errors.shape_error(f"output has shape {t.shape}, want {a.shape}")
        return results

    def _free(self, r):
        for tensor_id in r.ids():
            if not self._release(tensor_id):
                self._remember(self._missing(tensor_id))

    def _write(self, r):
        t = r.desc()
        if t.nbytes > codec.MAX_INLINE:
            raise broken(f"WRITE of {t.nbytes} bytes, at most {codec.MAX_INLINE}")
        data = r.take(t.nbytes)
        try:
            value = self._array(t, data)
        except Exception as e:
            value = errors.of(e)
            self._remember(value)
        self._define(t.id, value)

    def _begin_write(self, r):
        request, t = r.uvarint(), r.desc()
        if r.more():
            raise broken("BEGIN_WRITE is not the last command of its frame")
        try:
            self.upload = (request, t, bytearray())
            if t.nbytes == 0:
                self._end_write()
        except MemoryError as e:
            raise errors.of(e) from e

    def _end_write(self):
        (request, t, data), self.upload = self.upload, None
        e = None
        try:
            self._define(t.id, self._array(t, data))
        except Exception as x:
            e = errors.of(x)
        self._reply(DONE, request, codec.error(e))

    def _chunk(self, r):
        request, data = r.uvarint(), r.rest()
        if self.upload is None or self.upload[0] != request:
            raise broken("CHUNK of no write")
        _, t, sofar = self.upload
        if len(data) == 0:
            self.upload = None
            self._reply(DONE, request, codec.error(BurnError(errors.CANCELED)))
            return
        sofar += data
        if len(data) != CHUNK_SIZE and len(sofar) != t.nbytes or len(sofar) > t.nbytes:
            raise broken(f"CHUNK of {len(data)} bytes, {len(sofar)} of {t.nbytes}")
        if len(sofar) == t.nbytes:
            self._end_write()

    def _read(self, r):
        request, tensor_id, size = r.uvarint(), r.id(), r.uvarint()
        value = self.tensors.get(tensor_id)
        if request in self.canceled:
            e = BurnError(errors.CANCELED)
        elif value is None:
            e = self._missing(tensor_id)
        elif isinstance(value, Exception):
            e = value
        elif size != value.nbytes:
            e = errors.shape_error(f"{size} bytes, want {value.nbytes}")
        else:
            data = memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8)) if size else memoryview(b"")
            for at in range(0, max(size, 1), CHUNK_SIZE):
                last = at + CHUNK_SIZE >= size
                self._reply(DATA, request, bytes([last]) + bytes(data[at:at + CHUNK_SIZE]))
            return
        self._reply(DONE, request, codec.error(e))

    def _sync(self, r):
        request = r.uvarint()
        if request in self.canceled:
            self._reply(DONE, request, codec.error(BurnError(errors.CANCELED)))
            return
        e, self.failure = self.failure, None
        self._reply(DONE, request, codec.error(e))

    _commands = {NODE: _node, FREE: _free, WRITE: _write, BEGIN_WRITE: _begin_write, CHUNK: _chunk, READ: _read, SYNC: _sync}


_CODES = {dtype: code for code, dtype in NUMPY.items()}


def _type(a):
    return Type(_CODES[a.dtype], a.shape)
