"""The protobuf messages of backend.proto, by hand: they are few and small."""

from .codec import uvarint
from .types import MAX_RANK


def fields(data):
    """Yields (number, value) of a message; value is an int or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            b = data[at]
            at += 1
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value

    while at < len(data):
        key = number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, number()
        elif kind in (1, 2, 5):
            size = number() if kind == 2 else 8 if kind == 1 else 4
            yield key >> 3, bytes(data[at:at + size])
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def field(number, value):
    """One field: an int, text, bytes; zero values are left out, as proto3 does."""
    if isinstance(value, str):
        value = value.encode()
    if not value:
        return b""
    if isinstance(value, bytes):
        return uvarint(number << 3 | 2) + uvarint(len(value)) + value
    return uvarint(number << 3) + uvarint(int(value) & (1 << 64) - 1)


def hello_request(data):
    """protocol_min, protocol_max, and what else the backend may want to know."""
    out = {"min": 0, "max": 0, "threads": 0, "options": {}}
    for number, value in fields(data):
        if number == 1:
            out["min"] = value
        elif number == 2:
            out["max"] = value
        elif number == 6:
            out["threads"] = value
        elif number == 7:
            entry = dict(fields(value))
            out["options"][entry.get(1, b"").decode()] = entry.get(2, b"").decode()
    return out


HELLO_ERROR = 7  # the field of a Hello reply with why the backend could not be opened


def hello_reply(low, high, version, backend):
    info = field(1, backend.name) + field(2, backend.version) + field(3, backend.vendor)
    for i, d in enumerate(backend.devices):
        device = field(1, i) + field(2, d.name) + field(3, d.kind) + field(4, d.memory) + field(5, d.detail)
        info += message(4, device)
    out = field(1, low) + field(2, high) + field(3, version)
    return out + (message(5, info) if version else b"")


def open_request(data):
    """The handle of a device, its index, and the generation of its ids."""
    got = dict(fields(data))
    return handle(got), got.get(2, 0), got.get(3, 0)


def handle(got):
    """The handle that a message about a device begins with."""
    return int.from_bytes(got.get(1, b""), "little")


def capabilities(backend):
    out = field(1, backend.types)
    for name, op in backend.ops.items():
        claim = field(1, name) + field(2, op.version) + packed(3, op.operands) + packed(4, [op.results] if op.results else [])
        out += message(3, claim)
    out += message(4, field(1, MAX_RANK)) + field(5, 1)
    return out + field(6, "memory_stats")


def open_reply(backend):
    return message(2, capabilities(backend)) + message(3, field(2, 1))  # the extension memory


def memory_reply(in_use, tensors):
    return field(2, in_use) + field(3, in_use) + field(4, tensors)


def packed(number, values):
    """A list of numbers."""
    return field(number, b"".join(uvarint(v) for v in values))


def message(number, data):
    """An embedded message, present also when it is empty."""
    return uvarint(number << 3 | 2) + uvarint(len(data)) + data
