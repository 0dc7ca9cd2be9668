"""Numbers, ids, types, nodes and errors in bytes: PROTOCOL.md, sections 4, 5 and 7."""

import struct

from . import errors
from .backend import Node
from .types import MAX_RANK, SIZES, Type

MAX_FRAME = 4 << 20
CHUNK_SIZE = 1 << 20
MAX_INLINE = 64 << 10
MAX_NAME, MAX_TEXT, MAX_NAMES, MAX_ATTRS = 256, 64 << 10, 1 << 16, 256
MAX_EVENTS, MAX_BLAMED = 1 << 16, 64
GENERATION_SHIFT = 48


def broken(text):
    return errors.BurnError(errors.PROTOCOL, text)


class Names:
    """The numbered names of a stream: ops with their versions, and attributes."""

    def __init__(self):
        self.ops, self.attrs = [], []


class Reader:
    """Reads one frame, front to back."""

    def __init__(self, data, names=None, generation=0):
        self.data, self.at = data, 0
        self.names = names if names is not None else Names()
        self.last_id = generation << GENERATION_SHIFT

    def more(self):
        return self.at < len(self.data)

    def take(self, n):
        if n < 0 or self.at + n > len(self.data):
            raise broken(f"frame ends {self.at + n - len(self.data)} bytes too early")
        part = self.data[self.at:self.at + n]
        self.at += n
        return part

    def rest(self):
        return self.take(len(self.data) - self.at)

    def byte(self):
        return self.take(1)[0]

    def bit(self):
        b = self.byte()
        if b > 1:
            raise broken(f"byte {b}, want 0 or 1")
        return b == 1

    def uvarint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 0x7F) << shift
            if b < 0x80:
                if value >= 1 << 64:
                    raise broken("number is beyond 64 bits")
                return value
            shift += 7
            if shift >= 70:
                raise broken("number has more than ten bytes")

    def varint(self):
        u = self.uvarint()
        return (u >> 1) ^ -(u & 1)

    def count(self, least=1):
        """A number of things that take at least so many bytes each."""
        n = self.uvarint()
        if n * least > len(self.data) - self.at:
            raise broken(f"{n} entries in the {len(self.data) - self.at} bytes that are left")
        return n

    def text(self, most):
        n = self.uvarint()
        if n > most:
            raise broken(f"text of {n} bytes, at most {most}")
        return bytes(self.take(n)).decode("utf-8", "surrogateescape")

    def id(self):
        self.last_id = (self.last_id + self.varint()) & (1 << 64) - 1
        return self.last_id

    def ids(self):
        return [self.id() for _ in range(self.count())]

    def type(self, tensor_id=0):
        dtype, rank = self.byte(), self.byte()
        if dtype not in SIZES or rank > MAX_RANK:
            raise broken(f"element type {dtype}, rank {rank}")
        t = Type(dtype, tuple(self.uvarint() for _ in range(rank)), tensor_id)
        nonzero = SIZES[dtype]
        for d in t.shape:
            nonzero *= max(d, 1)
        if nonzero >= 1 << 63:
            raise broken(f"shape {t.shape} is too large")
        return t

    def desc(self):
        return self.type(self.id())

    def numbered(self, known, most, read):
        """A name that has a number, or a new one that gets the next."""
        n = self.uvarint()
        if n > len(known):
            raise broken(f"name {n} of {len(known)}")
        if n > 0:
            return known[n - 1]
        if len(known) >= most:
            raise broken(f"more than {most} names")
        known.append(read())
        return known[-1]

    def value(self):
        kind = self.byte()
        if kind == 1:
            return self.varint()
        if kind == 2:
            return struct.unpack("<d", self.take(8))[0]
        if kind == 3:
            return self.bit()
        if kind == 4:
            return self.text(MAX_TEXT)
        if kind == 5:
            return self.byte()
        if kind == 6:
            return [self.varint() for _ in range(self.count())]
        if kind == 7:
            return list(struct.unpack(f"<{(n := self.count(8))}d", self.take(8 * n)))
        if kind == 8:
            return self.varint() if self.bit() else struct.unpack("<d", self.take(8))[0]
        raise broken(f"attribute of kind {kind}")

    def node(self):
        name, version = self.numbered(self.names.ops, MAX_NAMES, lambda: (self.text(MAX_NAME), self.uvarint()))
        inputs, drop = self.ids(), self.uvarint()
        outputs = [self.desc() for _ in range(self.count(3))]
        attrs, n = {}, self.count()
        if n > MAX_ATTRS:
            raise broken(f"{n} attributes, at most {MAX_ATTRS}")
        for _ in range(n):
            key = self.numbered(self.names.attrs, MAX_NAMES, lambda: self.text(MAX_NAME))
            attrs[key] = self.value()
        return Node(name, version, inputs, outputs, attrs, drop)


def uvarint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def varint(n):
    return uvarint((n << 1) & (1 << 64) - 1 if n >= 0 else (-n << 1) - 1)


def text(s):
    data = s.encode("utf-8", "surrogateescape")[:MAX_TEXT]
    return uvarint(len(data)) + data


def error(e):
    """An error; None is no bytes at all."""
    if e is None:
        return b""
    if isinstance(e, errors.NodeError):
        outputs = e.outputs[:MAX_BLAMED]
        out = b"\x01" + text(e.op) + text("") + uvarint(len(outputs))  # of no program
        for t in outputs:
            out += uvarint(t.id) + bytes([t.dtype, len(t.shape)]) + b"".join(varint(d) for d in t.shape)
        return out + error(e.cause)
    return b"\x00" + uvarint(e.code) + text(str(e))
