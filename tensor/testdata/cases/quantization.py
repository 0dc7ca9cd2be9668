"""Cases of quantization."""

import torch

from .base import case, x

# quantization
sc, zp = torch.tensor(0.1), torch.tensor(3, dtype=torch.int32)
qx = torch.quantize_per_tensor(x.float(), 0.1, 3, torch.quint8)
case("Quantize", qx.int_repr(), x.float(), sc.float(), zp.to(torch.uint8))
case("Dequantize", qx.dequantize(), qx.int_repr(), sc.float(), zp.to(torch.uint8))
case("FakeQuantize", torch.fake_quantize_per_tensor_affine(x.float(), 0.1, 3, 0, 255), x.float(), sc.float(), zp.to(torch.uint8))
case("FakeQuantize/axis", torch.fake_quantize_per_channel_affine(x.float(), torch.tensor([0.1, 0.2, 0.3], dtype=torch.float32), torch.tensor([3, 4, 5], dtype=torch.int32), 1, 0, 255), x.float(), torch.tensor([0.1, 0.2, 0.3], dtype=torch.float32), torch.tensor([3, 4, 5], dtype=torch.uint8))
