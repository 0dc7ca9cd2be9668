package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/tensor"
)

var transformCalls = map[string]call{
	"Complex":       one(func(x ts) tt { return tensor.Complex(x[0], x[1]) }),
	"Real":          one(func(x ts) tt { return x[0].Real() }),
	"Imag":          one(func(x ts) tt { return x[0].Imag() }),
	"FFT":           one(func(x ts) tt { return x[0].FFT(-1, tensor.FFTOptions{}) }),
	"FFT/first":     one(func(x ts) tt { return x[0].FFT(0, tensor.FFTOptions{Norm: "ortho"}) }),
	"IFFT":          one(func(x ts) tt { return x[0].IFFT(1, tensor.FFTOptions{}) }),
	"RFFT":          one(func(x ts) tt { return x[0].RFFT(-1, tensor.FFTOptions{}) }),
	"RFFT/n":        one(func(x ts) tt { return x[0].RFFT(-1, tensor.FFTOptions{N: 10}) }),
	"IRFFT":         one(func(x ts) tt { return x[0].IRFFT(1, tensor.FFTOptions{}) }),
	"IRFFT/odd":     one(func(x ts) tt { return x[0].IRFFT(-1, tensor.FFTOptions{N: 11}) }),
	"FFTShift":      one(func(x ts) tt { return x[0].FFTShift() }),
	"IFFTShift":     one(func(x ts) tt { return x[0].IFFTShift() }),
	"STFT":          one(func(x ts) tt { return x[0].STFT(tensor.STFTOptions{N: 8, Window: x[1]}) }),
	"STFT/plain":    one(func(x ts) tt { return x[0].STFT(tensor.STFTOptions{N: 8, Hop: 4, NoCenter: true, TwoSided: true}) }),
	"ISTFT":         one(func(x ts) tt { return x[0].ISTFT(tensor.STFTOptions{N: 8, Hop: 2, Window: x[1], Length: 40}) }),
	"AffineGrid":    one(func(x ts) tt { return x[0].AffineGrid(false, 4, 3) }),
	"AffineGrid/3d": one(func(x ts) tt { return x[0].AffineGrid(true, 2, 3, 4) }),
	"GridSample":    one(func(x ts) tt { return x[0].GridSample(x[1], tensor.GridOptions{}) }),
	"GridSample/nearest": one(func(x ts) tt {
		return x[0].GridSample(x[1], tensor.GridOptions{Mode: "nearest", Padding: "border", AlignCorners: true})
	}),
	"GridSample/cubic":   one(func(x ts) tt { return x[0].GridSample(x[1], tensor.GridOptions{Mode: "cubic", Padding: "reflection"}) }),
	"GridSample/3d":      one(func(x ts) tt { return x[0].GridSample(x[1], tensor.GridOptions{}) }),
	"Interpolate":        one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{}, 7, 3) }),
	"Interpolate/exact":  one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{Mode: "nearest-exact"}, 7, 3) }),
	"Interpolate/linear": one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{Mode: "linear"}, 7, 3) }),
	"Interpolate/corners": one(func(x ts) tt {
		return x[0].Interpolate(tensor.InterpolateOptions{Mode: "linear", AlignCorners: true}, 7, 3)
	}),
	"Interpolate/cubic": one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{Mode: "cubic"}, 7, 6) }),
	"Interpolate/antialias": one(func(x ts) tt {
		return x[0].Interpolate(tensor.InterpolateOptions{Mode: "linear", Antialias: true}, 3, 2)
	}),
	"Interpolate/3d": one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{Mode: "linear"}, 3, 5, 6) }),
	"Interpolate/1d": one(func(x ts) tt { return x[0].Interpolate(tensor.InterpolateOptions{Mode: "linear"}, 5) }),
	"MeshGrid":       many(func(x ts) ts { return tensor.MeshGrid(x...) }),
	"MeshGridStack":  one(func(x ts) tt { return tensor.MeshGridStack(x...) }),
	"MeshGridXY":     many(func(x ts) ts { return tensor.MeshGridXY(x...) }),
	"ArgWhere": func(t *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		y, err := x[0].ArgWhere(ctx)
		require.NoError(t, err)
		return ts{y}
	},
	"NonZero": func(t *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		ys, err := x[0].NonZero(ctx)
		require.NoError(t, err)
		return ys
	},
	"MaskSelect": func(t *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		y, err := x[0].MaskSelect(ctx, x[1])
		require.NoError(t, err)
		return ts{y}
	},
	"Compress": func(t *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		y, err := x[0].Compress(ctx, 1, x[1])
		require.NoError(t, err)
		return ts{y}
	},
	"Unique": func(t *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		u, err := x[0].Unique(ctx, true)
		require.NoError(t, err)
		return ts{u.Values, u.First, u.Counts, u.Inverse}
	},
}
