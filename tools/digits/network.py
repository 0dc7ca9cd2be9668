"""The digit network and its gradients, in plain numpy.

conv 3x3 1>8, relu, pool 2 · conv 3x3 8>16, relu, pool 2 · conv 3x3 16>32, relu, pool 2 · dense 288>64, relu ·
dense 64>10. Activations are channels-last here; export.py reorders the weights for ONNX.
"""

import numpy as np

CLASSES = 10
CHANNELS = (1, 8, 16, 32)
HIDDEN = 64
LAST_SIDE = 3  # 28 halves to 14 and 7, and 7 pools to 3: the odd row and column are dropped


def init(rng):
    """Returns fresh parameters by name (f32): He-normal weights, zero biases.

    conv{i}.w is [9*in, out] with rows ordered (ky, kx, in); dense{i}.w is [in, out].
    """
    flat = LAST_SIDE * LAST_SIDE * CHANNELS[-1]
    shapes = {f"conv{i}": (9 * CHANNELS[i - 1], CHANNELS[i]) for i in (1, 2, 3)}
    shapes |= {"dense1": (flat, HIDDEN), "dense2": (HIDDEN, CLASSES)}
    params = {}
    for name, (fan_in, fan_out) in shapes.items():
        params[name + ".w"] = rng.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)).astype(np.float32)
        params[name + ".b"] = np.zeros(fan_out, np.float32)
    return params


def forward(params, images):
    """Returns (logits [N,10], tape) for images [N,28,28] in 0..1; tape is what backward needs."""
    x, tape = images[..., None], []
    for i in (1, 2, 3):
        cols = _patches(x)
        y = cols @ params[f"conv{i}.w"] + params[f"conv{i}.b"]
        # Pooling before relu gives the same values as relu before pooling, for a quarter of the work.
        pooled = _pool(y)
        tape.append((cols, y, pooled))
        x = np.maximum(pooled, 0)
    flat = x.reshape(len(x), -1)
    hidden = np.maximum(flat @ params["dense1.w"] + params["dense1.b"], 0)
    tape.append((flat, hidden))
    return hidden @ params["dense2.w"] + params["dense2.b"], tape


def loss(logits, labels):
    """Returns (mean cross entropy, its gradient by logits)."""
    z = logits - logits.max(1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
    rows = np.arange(len(labels))
    grad = np.exp(log_p)
    grad[rows, labels] -= 1
    return -log_p[rows, labels].mean(), grad / len(labels)


def backward(params, tape, grad):
    """Returns the gradient of every parameter, given the gradient by logits and forward's tape."""
    flat, hidden = tape[3]
    out = {"dense2.w": hidden.T @ grad, "dense2.b": grad.sum(0)}
    grad = (grad @ params["dense2.w"].T) * (hidden > 0)
    out |= {"dense1.w": flat.T @ grad, "dense1.b": grad.sum(0)}
    grad = (grad @ params["dense1.w"].T).reshape(tape[2][2].shape)
    for i in (3, 2, 1):
        cols, y, pooled = tape[i - 1]
        grad = _pool_grad(y, grad * (pooled > 0)).reshape(-1, y.shape[-1])
        out[f"conv{i}.w"] = cols.reshape(len(grad), -1).T @ grad
        out[f"conv{i}.b"] = grad.sum(0)
        if i > 1:
            grad = _patches_grad((grad @ params[f"conv{i}.w"].T).reshape(cols.shape))
    return out


def _patches(x):
    """[N,H,W,C] to [N,H,W,9C]: the 3x3 neighbourhood of every pixel, zero outside."""
    _, h, w, _ = x.shape
    p = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.concatenate([p[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=-1)


def _patches_grad(grad):
    n, h, w, c9 = grad.shape
    c = c9 // 9
    out = np.zeros((n, h + 2, w + 2, c), grad.dtype)
    for k in range(9):
        i, j = divmod(k, 3)
        out[:, i : i + h, j : j + w] += grad[..., k * c : (k + 1) * c]
    return out[:, 1:-1, 1:-1]


def _quarters(x):
    h, w = x.shape[1] // 2 * 2, x.shape[2] // 2 * 2
    return [x[:, i:h:2, j:w:2] for i in (0, 1) for j in (0, 1)]


def _pool(x):
    return np.maximum.reduce(_quarters(x))


def _pool_grad(x, grad):
    """Sends grad to the first of each window's greatest values."""
    a, b, c, d = _quarters(x)
    top = grad * (np.maximum(a, b) >= np.maximum(c, d))
    bottom = grad - top
    out = np.zeros_like(x)
    slots = _quarters(out)
    slots[0][...] = top * (a >= b)
    slots[1][...] = top * (a < b)
    slots[2][...] = bottom * (c >= d)
    slots[3][...] = bottom * (c < d)
    return out
