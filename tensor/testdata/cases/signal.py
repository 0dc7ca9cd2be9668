"""Cases of Fourier transforms, grids and interpolation."""

import torch
import torch.nn.functional as F

from .base import case, rnd, uni, x, y
from .elementwise import img, row
from .layer import b4, v1, v3

# signal
ri = lambda z: torch.view_as_real(z.resolve_conj().contiguous())
sig = rnd(2, 7)
cx = rnd(2, 6, 2)
cplx = torch.view_as_complex(cx)
case("Complex", torch.stack([x, y], -1), x, y)
case("Real", cx[..., 0], cx)
case("Imag", cx[..., 1], cx)
case("FFT", ri(torch.fft.fft(cplx)), cx)
case("FFT/first", ri(torch.fft.fft(cplx, dim=0, norm="ortho")), cx)
case("IFFT", ri(torch.fft.ifft(cplx)), cx)
case("RFFT", ri(torch.fft.rfft(sig)), sig)
case("RFFT/n", ri(torch.fft.rfft(sig, n=10)), sig)
case("IRFFT", torch.fft.irfft(cplx), cx)
case("IRFFT/odd", torch.fft.irfft(cplx, n=11), cx)
case("FFTShift", torch.fft.fftshift(sig), sig)
case("IFFTShift", torch.fft.ifftshift(sig), sig)
wave, win = rnd(2, 40), torch.hann_window(8)
st = torch.stft(wave, 8, 2, 8, win, return_complex=True).mT
case("STFT", ri(st), wave, win)
case("STFT/plain", ri(torch.stft(wave, 8, 4, 8, torch.ones(8), center=False, onesided=False, return_complex=True).mT), wave)
case("ISTFT", torch.istft(st.mT, 8, 2, 8, win, length=40), ri(st), win)

# grids
case("MeshGrid", list(torch.meshgrid(row, b4, indexing="ij")), row, b4)
case("MeshGridXY", list(torch.meshgrid(row, b4, indexing="xy")), row, b4)
case("MeshGridStack", torch.cartesian_prod(row, b4).reshape(3, 4, 2), row, b4)
th2, th3 = rnd(2, 2, 3), rnd(1, 3, 4)
case("AffineGrid", F.affine_grid(th2, (2, 3, 4, 3), align_corners=False), th2)
case("AffineGrid/3d", F.affine_grid(th3, (1, 2, 2, 3, 4), align_corners=True), th3)
gr = uni(-1.3, 1.3, 2, 3, 2, 2)
case("GridSample", F.grid_sample(img, gr, align_corners=False), img, gr)
case("GridSample/nearest", F.grid_sample(img, gr, "nearest", "border", align_corners=True), img, gr)
case("GridSample/cubic", F.grid_sample(img, gr, "bicubic", "reflection", align_corners=False), img, gr)
gr3 = uni(-1.2, 1.2, 1, 2, 2, 2, 3)
case("GridSample/3d", F.grid_sample(v3, gr3, align_corners=False), v3, gr3)
case("Interpolate", F.interpolate(img, (7, 3)), img)
case("Interpolate/exact", F.interpolate(img, (7, 3), mode="nearest-exact"), img)
case("Interpolate/linear", F.interpolate(img, (7, 3), mode="bilinear"), img)
case("Interpolate/corners", F.interpolate(img, (7, 3), mode="bilinear", align_corners=True), img)
case("Interpolate/cubic", F.interpolate(img, (7, 6), mode="bicubic"), img)
case("Interpolate/antialias", F.interpolate(img, (3, 2), mode="bilinear", antialias=True), img)
case("Interpolate/3d", F.interpolate(v3, (3, 5, 6), mode="trilinear"), v3)
case("Interpolate/1d", F.interpolate(v1, 5, mode="linear"), v1)
