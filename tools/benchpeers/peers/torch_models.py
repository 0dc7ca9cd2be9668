"""The generated models, and those of the cold start, as PyTorch modules."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import weights


def encoder():
    layer = nn.TransformerEncoderLayer(weights.WIDTH, weights.HEADS, weights.FORWARD, 0.0, "gelu", batch_first=True)
    m = nn.TransformerEncoder(layer, weights.LAYERS, enable_nested_tensor=False)
    w = {k: torch.from_numpy(a) for k, a in weights.encoder().items()}
    state = {}
    for i in range(weights.LAYERS):
        p = f"layers.{i}."
        state[p + "self_attn.in_proj_weight"] = torch.cat([w[f"{i}.{n}"].T for n in "qkv"])
        state[p + "self_attn.in_proj_bias"] = torch.cat([w[f"{i}.{n}b"] for n in "qkv"])
        state[p + "self_attn.out_proj.weight"], state[p + "self_attn.out_proj.bias"] = w[f"{i}.o"].T, w[f"{i}.ob"]
        state[p + "linear1.weight"], state[p + "linear1.bias"] = w[f"{i}.up"].T, w[f"{i}.upb"]
        state[p + "linear2.weight"], state[p + "linear2.bias"] = w[f"{i}.down"].T, w[f"{i}.downb"]
        for n in ("1", "2"):
            state[p + f"norm{n}.weight"], state[p + f"norm{n}.bias"] = w[f"{i}.scale{n}"], w[f"{i}.bias{n}"]
    m.load_state_dict(state)
    return m


class Digits(nn.Module):
    """The Burn Book's."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.pool, self.dropout = nn.AdaptiveAvgPool2d(8), nn.Dropout(0.5)
        self.linear1, self.linear2 = nn.Linear(1024, 512), nn.Linear(512, 10)

    def forward(self, x):
        x = self.dropout(self.conv1(x))
        x = self.pool(F.relu(self.dropout(self.conv2(x))))
        return self.linear2(F.relu(self.dropout(self.linear1(x.flatten(1)))))


def digits():
    m = Digits()
    m.load_state_dict({k: torch.from_numpy(a) for k, a in weights.digits().items()})
    return m


class MnistCnn(nn.Module):
    """models/mnist_cnn of the test data."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3), nn.Conv2d(16, 24, 3)
        self.norm1, self.fc1, self.fc2, self.norm2 = nn.BatchNorm2d(24), nn.Linear(11616, 32), nn.Linear(32, 10), nn.BatchNorm1d(10)

    def forward(self, x):
        for c in (self.conv1, self.conv2, self.conv3):
            x = F.relu(c(x))
        return F.log_softmax(self.norm2(self.fc2(F.relu(self.fc1(self.norm1(x).flatten(1))))), 1)


class Fire(nn.Module):
    def __init__(self, i, squeeze, expand):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(i, squeeze, 1), nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)


def squeezenet():
    """SqueezeNet 1.1, as models/light_squeezenet."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2), Fire(64, 16, 64), Fire(128, 16, 64), nn.MaxPool2d(3, 2), Fire(128, 32, 128),
        Fire(256, 32, 128), nn.MaxPool2d(3, 2), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256), nn.Dropout(0.5),
        nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Softmax(1))


table = {"transformer_encoder": encoder, "burn_book_mnist": digits, "mnist_cnn": MnistCnn, "light_squeezenet": squeezenet}


def build(name):
    return table[name]().eval()


if __name__ == "__main__":  # NAME FILE: the state of a model, for the cold start
    torch.manual_seed(1)
    torch.save(build(sys.argv[1]).state_dict(), sys.argv[2])
