"""The errors of the protocol, section 7."""

SHAPE, DTYPE, ATTR, UNSUPPORTED, INDEX, OUT_OF_MEMORY, BACKEND_LOST, STALE, UNKNOWN_TENSOR, PROTOCOL, CLOSED, CANCELED, NOT_FOUND, KERNEL = \
    range(1, 15)

NAMES = {SHAPE: "shape error", DTYPE: "dtype error", ATTR: "attribute error", UNSUPPORTED: "unsupported operation",
         INDEX: "index out of range", OUT_OF_MEMORY: "out of memory", BACKEND_LOST: "backend lost", STALE: "stale tensor",
         UNKNOWN_TENSOR: "unknown tensor", PROTOCOL: "protocol error", CLOSED: "closed", CANCELED: "canceled", NOT_FOUND: "not found",
         KERNEL: "kernel fault"}


class BurnError(Exception):
    """An error with a code, form 0."""

    def __init__(self, code, text=""):
        super().__init__(f"{text}: {NAMES[code]}" if text else NAMES[code])
        self.code = code


class NodeError(Exception):
    """The failure of a node, form 1: the op's name, the types of its outputs with their ids, and the cause."""

    def __init__(self, op, outputs, cause):
        super().__init__(f"{op}: {cause}")
        self.op, self.outputs, self.cause = op, outputs, cause


def shape_error(text):
    return BurnError(SHAPE, text)


def dtype_error(text):
    return BurnError(DTYPE, text)


def index_error(text):
    return BurnError(INDEX, text)


def unsupported(text):
    return BurnError(UNSUPPORTED, text)


def kernel_error(text):
    return BurnError(KERNEL, text)


def of(error):
    """The error of the protocol that an exception stands for."""
    if isinstance(error, (BurnError, NodeError)):
        return error
    if isinstance(error, MemoryError):
        return BurnError(OUT_OF_MEMORY, str(error))
    return BurnError(KERNEL, f"{type(error).__name__}: {error}")
