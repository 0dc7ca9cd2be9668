"""One stream: commands in order, events, poison. PROTOCOL.md, section 4."""

import queue
import threading

import numpy as np

from . import codec, errors
from .codec import CHUNK_SIZE, MAX_EVENTS, Reader, broken
from .errors import BurnError, NodeError
from .types import NUMPY, Type

OPEN, NODE, FREE, WRITE, BEGIN_WRITE, CHUNK, READ, SIGNAL, CANCEL, _, _, WAIT, AWAIT = range(1, 14)
OPENED, DATA, DONE, FAIL = range(0x81, 0x85)

MOST_FAILURES = 16  # that are kept for the events to come


class Streams:
    """The open streams of a process by their numbers, and what they wait for of each other."""

    def __init__(self):
        self.changed = threading.Condition()
        self.open = {}

    def add(self, number, stream):
        with self.changed:
            if number in self.open:
                raise broken(f"stream {number} is open")
            self.open[number] = stream

    def remove(self, stream):
        with self.changed:
            self.open = {n: s for n, s in self.open.items() if s is not stream}
            self.changed.notify_all()

    def signal(self, stream):
        with self.changed:
            stream.signaled += 1
            self.changed.notify_all()

    def wait(self, number, event, going):
        """Waits until a stream has come to its event, or has ended, while going() is true."""
        with self.changed:
            while number in self.open and self.open[number].signaled < event and going():
                self.changed.wait(timeout=1)


class Stream:
    """serve() takes frames and yields replies. A thread receives, so that what overtakes is seen at once; another computes."""

    def __init__(self, devices, streams):
        self.devices, self.others = devices, streams
        self.names = codec.Names()
        self.device = None  # until OPEN
        self.signaled = self.settled = 0  # events: the last that was made, and that the host knows to be reached
        self.failures = []  # each with the event that it is behind
        self.canceled = set()
        self.upload = None  # request, type, data so far; of a BEGIN_WRITE
        self.over = False
        self.received = False  # the last frame was taken
        self.frames = queue.Queue(16)
        self.replies = queue.Queue(16)

    def serve(self, frames, alive):
        """alive() is false once the call was given up."""
        self.alive = alive
        threading.Thread(target=self._receive, args=(frames,), daemon=True).start()
        threading.Thread(target=self._work, daemon=True).start()
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

    def end(self):
        """Ends the stream after the command that runs."""
        self.over = True
        try:
            self.frames.put_nowait(None)
        except queue.Full:  # the worker has a frame to come to
            pass

    def _receive(self, frames):
        try:
            for frame in frames:
                if self.over:
                    break
                if self.device and frame[:1] == bytes([CANCEL]):
                    self.canceled.add(Reader(memoryview(frame)[1:]).uvarint())
                else:
                    self.frames.put(frame)
        except Exception:  # the call was given up
            pass
        finally:
            self.frames.put(None)

    def _reply(self, tag, request, content=b""):
        self.replies.put(bytes([tag]) + codec.uvarint(request) + content)

    def _going(self):
        return self.alive() and not self.over

    def _work(self):
        np.seterr(all="ignore")  # of this thread
        try:
            while (frame := self._next()) is not None and self._going():
                self._frame(memoryview(frame))
        except Exception as e:
            e = errors.of(e)
            self.replies.put(bytes([FAIL]) + codec.error(e))
        finally:
            self.over = True
            self.others.remove(self)
            if self.device:
                self.device.streams.discard(self)
            self.replies.put(None)
            while not self.received:  # let the receiver end
                self._next()

    def _next(self):
        frame = self.frames.get()
        self.received = frame is None
        return frame

    def _frame(self, frame):
        r = Reader(frame, self.names, self.device.generation if self.device else 0)
        if not self.device:
            self._open(r)
            return
        if not r.more():
            raise broken("empty frame")
        while r.more():
            tag = r.byte()
            if self.upload and tag not in (CHUNK, AWAIT):
                raise broken(f"command {tag} amid the chunks of a write")
            command = self._commands.get(tag)
            if command is None:
                raise broken(f"command {tag}")
            command(self, r)

    def _open(self, r):
        if not r.more() or r.byte() != OPEN:
            raise broken("the first frame is not OPEN")
        handle, number = r.uvarint(), r.uvarint()
        if r.more():
            raise broken("OPEN does not stand alone")
        device = self.devices.get(handle)
        if device is None:
            raise BurnError(errors.CLOSED, f"no device has handle {handle}")
        self.others.add(number, self)
        device.enter(self)
        self.device = device
        self.replies.put(bytes([OPENED]))

    # Failures and events.

    def _note(self, e):
        """Keeps a failure for the next event."""
        if e is not None and len(self.failures) < MOST_FAILURES:
            self.failures.append((self.signaled, e))

    def _signal(self, r):
        if self.signaled - self.settled >= MAX_EVENTS:
            raise broken(f"{self.signaled - self.settled} events since the last that was waited for, at most {MAX_EVENTS}")
        self.others.signal(self)

    def _wait(self, r):
        number, event = r.uvarint(), r.uvarint()
        if self.others.open.get(number) is not self:
            self.others.wait(number, event, self._going)
        elif not 0 < event <= self.signaled:
            raise broken(f"event {event}, {self.signaled} were signaled")

    def _await(self, r):
        request, event = r.uvarint(), r.uvarint()
        if not 0 < event <= self.signaled:
            raise broken(f"event {event}, {self.signaled} were signaled")
        if request in self.canceled:
            self._reply(DONE, request, codec.error(BurnError(errors.CANCELED)))
            return
        before = [e for behind, e in self.failures if behind < event]
        self.failures = [(behind, e) for behind, e in self.failures if behind >= event]
        self.settled = max(self.settled, event)
        self._reply(DONE, request, codec.error(before[0] if before else None))

    # Commands.

    def _node(self, r):
        n = r.node()
        arrays, poison, fault = [], None, None
        for tensor_id in n.inputs:
            value = self.device.get(tensor_id)
            if value is None:
                fault = fault or self.device.missing(tensor_id)
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
                self._note(poison)
        for i, tensor_id in enumerate(n.inputs[:64]):
            if n.drop >> i & 1:
                self.device.release(tensor_id)
        for i, t in enumerate(n.outputs):
            self._note(self.device.define(t.id, poison if poison is not None else results[i]))

    def _compute(self, n, arrays):
        """Runs a node. What does not come out as the host expects was an illegal node, or is a bug of the kernel."""
        self.device.backend.check(n, [_type(a) for a in arrays])
        results = self.device.backend.ops[n.op].kernel(n, arrays)
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
            if not self.device.release(tensor_id):
                self._note(self.device.missing(tensor_id))

    def _write(self, r):
        t = r.desc()
        if t.nbytes > codec.MAX_INLINE:
            raise broken(f"WRITE of {t.nbytes} bytes, at most {codec.MAX_INLINE}")
        data = r.take(t.nbytes)
        try:
            value = self.device.array(t, data)
        except Exception as e:
            value = errors.of(e)
            self._note(value)
        self._note(self.device.define(t.id, value))

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
        _, t, data = self.upload
        try:
            self._written(self.device.array(t, data))
        except Exception as e:
            self._written(errors.of(e))

    def _written(self, value):
        """Ends a write with its array, or with the error that poisons the tensor, and answers it."""
        (request, t, _), self.upload = self.upload, None
        e = value if isinstance(value, Exception) else None
        fault = self.device.define(t.id, NodeError("write", [t], e) if e else value)
        self._reply(DONE, request, codec.error(e or fault))

    def _chunk(self, r):
        request, data = r.uvarint(), r.rest()
        if self.upload is None or self.upload[0] != request:
            raise broken("CHUNK of no write")
        _, t, sofar = self.upload
        if len(data) == 0:
            self._written(BurnError(errors.CANCELED, "the host gave the write up"))
            return
        sofar += data
        if len(data) != CHUNK_SIZE and len(sofar) != t.nbytes or len(sofar) > t.nbytes:
            raise broken(f"CHUNK of {len(data)} bytes, {len(sofar)} of {t.nbytes}")
        if len(sofar) == t.nbytes:
            self._end_write()

    def _read(self, r):
        request, tensor_id, size = r.uvarint(), r.id(), r.uvarint()
        value = self.device.get(tensor_id)
        if request in self.canceled:
            e = BurnError(errors.CANCELED)
        elif value is None:
            e = self.device.missing(tensor_id)
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

    _commands = {NODE: _node, FREE: _free, WRITE: _write, BEGIN_WRITE: _begin_write, CHUNK: _chunk, READ: _read, SIGNAL: _signal,
                 WAIT: _wait, AWAIT: _await}


_CODES = {dtype: code for code, dtype in NUMPY.items()}


def _type(a):
    return Type(_CODES[a.dtype], a.shape)
