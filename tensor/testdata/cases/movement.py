"""Cases of functions that move, make, pick and place elements."""

import numpy as np
import torch
import torch.nn.functional as F

from .base import case, gen, i64, ints, x, y

# movement
r3 = torch.arange(24).reshape(2, 3, 4)
for name, out in [
    ("Reshape", r3.reshape(4, -1)), ("Flatten", r3.flatten()), ("FlattenFrom", r3.flatten(1, 2)), ("Permute", r3.permute(2, 0, 1)), ("Transpose", r3.transpose(0, 2)),
    ("T", r3.mT), ("MoveAxis", r3.movedim([0, 2], [2, 1])), ("MoveAxis/one", r3.movedim(0, -1)), ("Unsqueeze", r3.unsqueeze(1)), ("UnsqueezeAll", r3[None, :, None]), ("UnsqueezeTo", r3[None, None]),
    ("Roll", r3.roll([1, -2], [0, 2])), ("Flip", r3.flip(0, 2)), ("Narrow", r3.narrow(2, 1, 2)), ("Slice", r3[:, :, 1:4:2]), ("SliceRanges", r3[1:, 0:2, 1::2]),
    ("SliceRanges/reverse", r3[:, :2].flip(2)), ("SliceRanges/negative", r3[:, -2:, :-1]), ("SliceRanges/back", torch.from_numpy(r3.numpy()[:, :, 3:0:-2].copy())), ("Select", r3[:, -1]),
    ("SliceFill", torch.from_numpy(np.where(np.isin(r3.numpy(), r3[:, 1:, ::2].numpy()), -1, r3.numpy()))), ("SliceFill/all", torch.full_like(r3, -1)),
    ("Split", r3.split(3, 2)), ("SplitSizes", r3.split([1, 2], 1)), ("Chunk", r3.chunk(3, 2)), ("Unbind", r3.unbind(1)), ("Unfold", r3.unfold(2, 2, 2)), ("Unfold/middle", r3.unfold(1, 2, 1)),
    ("Tile", r3.tile(2, 1, 3)), ("TileAxis", r3.repeat(1, 2, 1)), ("RepeatInterleave", r3.repeat_interleave(2, 1)),
    ("Pad", F.pad(r3, (0, 0, 1, 2), value=7)), ("PadAll", F.pad(r3, (1, -1, 0, 2, 0, 1), value=7)), ("Tril", r3.tril(1)), ("Triu", r3.triu(1)), ("Diagonal", r3.diagonal(1, -2, -1)),
    ("Diag", torch.diag_embed(r3, 1)), ("Trace", r3.diagonal(0, -2, -1).sum(-1)), ("FullLike", torch.full_like(r3, 7)), ("ZerosLike", torch.zeros_like(r3)), ("OnesLike", torch.ones_like(r3)),
]:
    case(name, out, r3)
for mode, np_mode in [("edge", "edge"), ("reflect", "reflect"), ("symmetric", "symmetric"), ("wrap", "wrap")]:
    case("ExtendAll/" + mode, np.pad(r3.numpy(), [(0, 0), (1, 2), (2, 1)], mode=np_mode), r3)
case("Extend", np.pad(r3.numpy(), [(0, 0), (0, 0), (2, 1)], mode="reflect"), r3)
case("Expand", torch.arange(3).reshape(3, 1).expand(2, 3, 4), torch.arange(3).reshape(3, 1))
thin = torch.arange(6).reshape(1, 2, 1, 3)
case("Squeeze", thin.squeeze(0), thin)
case("SqueezeAll", thin.squeeze(), thin)
case("SqueezeAll/one", thin.squeeze(2), thin)
val = ints(50, 90, 2, 1, 2)
asg = r3.clone()
asg[:, 1:, ::2] = val
case("SliceAssign", asg, r3, val)
asg = r3.clone().numpy()
asg[1, :, 3:0:-2] = val[0, 0].numpy()
case("SliceAssign/back", asg, r3, val[0, 0])
case("Concat", torch.cat([r3, r3[:, :1]], 1), r3, r3[:, :1])
case("Stack", torch.stack([x, y], -1), x, y)
shuf = torch.arange(2 * 12 * 2 * 3).reshape(2, 12, 2, 3)
case("PixelShuffle", F.pixel_shuffle(shuf.double(), 2), shuf.double())
case("PixelUnshuffle", F.pixel_unshuffle(F.pixel_shuffle(shuf.double(), 2), 2), F.pixel_shuffle(shuf.double(), 2))
case("ChannelShuffle", F.channel_shuffle(shuf.double(), 3), shuf.double())

# creation
case("Arange", torch.arange(2, 11, 3))
case("Arange/down", torch.arange(5.0, 0.0, -1.25))
case("Arange/none", torch.arange(3, 3))
case("LinSpace", torch.linspace(-1, 2, 7))
case("Eye", torch.eye(2, 3))
case("TrilMask", torch.ones(3, 4).tril(1).bool())
case("TriuMask", torch.ones(3, 4).triu(1).bool())
case("DiagMask", torch.eye(3, 4).bool())
case("HannWindow", torch.hann_window(7))
case("HannWindow/symmetric", torch.hann_window(7, periodic=False))
case("HammingWindow", torch.hamming_window(7))
case("BlackmanWindow", torch.blackman_window(7))
case("KaiserWindow", torch.kaiser_window(7, True, 12.0))
case("CartesianGrid", torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), -1))

# indexing
idx = i64([[2, 0], [1, 1]])
case("IndexSelect", torch.from_numpy(np.take(r3.numpy(), idx.numpy(), 1)), r3, idx)
dup, upd = i64(1, 0, 1), ints(1, 9, 2, 3, 4)
for mode, red in [("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax")]:
    full = dup[None, :, None].expand(2, 3, 4)
    case("IndexScatter/" + mode, r3.scatter_reduce(1, full, upd, red), r3, dup, upd)
    along = ints(0, 3, 2, 2, 3)
    case("Scatter/" + mode, r3.scatter_reduce(1, along, upd[:, :2, :3].contiguous(), red), r3, along, upd[:, :2, :3])
case("IndexScatter/assign", r3.index_copy(1, i64(2, 0), upd[:, :2]), r3, i64(2, 0), upd[:, :2])
along = torch.stack([torch.randperm(3, generator=gen)[:2] for _ in range(8)], 1).reshape(2, 2, 4).contiguous()
case("Scatter/assign", r3.scatter(1, along, upd[:, :2]), r3, along, upd[:, :2])
case("Gather", r3.gather(1, along), r3, along)
nd = i64([[1, 2], [0, 1]])
case("GatherND", r3[nd[:, 0], nd[:, 1]], r3, nd)
vals = ints(50, 90, 2, 4)
case("ScatterND", r3.index_put((nd[:, 0], nd[:, 1]), vals), r3, nd, vals)
case("ScatterND/add", r3.index_put((nd[:, 0], nd[:, 1]), vals, accumulate=True), r3, nd, vals)
case("OneHot", F.one_hot(idx, 4).double(), idx)
case("OneHot/axis", F.one_hot(idx, 4).permute(2, 0, 1).double(), idx)
case("OneHotFill", torch.where(F.one_hot(idx, 4).bool(), 5, -1), idx)
