package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// factoring lists the ops whose results mean nothing for matrices that are not finite or are badly conditioned.
var factoring = []op.Code{op.Cholesky, op.TriangularSolve, op.LU, op.Det, op.SlogDet, op.Inverse, op.Solve, op.MatrixPower, op.QR, op.Eigh, op.SVD, op.MatrixNorm, op.PInv, op.LstSq}

// unordered lists, by reason, the ops for which infinite operands may result in NaN in the decomposition and not in the reference, or the
// other way round, because the decomposition adds in another order or multiplies by a weight of zero.
var unordered = map[string][]op.Code{
	"a transform may multiply by a sine of 0":                            {op.FFT, op.RFFT, op.IRFFT, op.STFT, op.ISTFT},
	"operands meet pairwise, and the products are not all made at once":  {op.Einsum},
	"elements that are apart have zeros between them, beside the kernel": {op.ConvTranspose},
	"one dimension follows another, and a weight of 0 meets an infinity": {op.Interpolate},
	"factorisations of numbers that are not finite mean nothing":         factoring,
}

// exempt reports whether c is in one of the lists.
func exempt(c op.Code, lists map[string][]op.Code) bool {
	for _, l := range lists {
		if slices.Contains(l, c) {
			return true
		}
	}
	return false
}

// places maps ops to the operand that holds coordinates, in which TestDecompositionsOfInfinities plants no infinities.
var places = map[op.Code]int{op.GridSample: 1, op.DeformConv: 2, op.RoiAlign: 2}

// Decompositions treat zeros of both signs, infinities and NaN among their operands as the reference does.
func TestDecompositionsOfInfinities(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	pool := []float64{0, math.Copysign(0, -1), 1, -1, 2, inf, -inf, nan, 3, 0.5}
	compared := 0
	for at, s := range allSamples() {
		s, ok := s.retyped(dtype.F32)
		row := op.Lookup(s.op)
		if !ok || exempt(s.op, unordered) {
			continue
		}
		t.Run(fmt.Sprintf("%02d-%v", at, s.op), func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, uint64(at)))
			n, err := op.New(s.op, s.in, s.attrs...)
			require.NoError(t, err)
			rel, abs := row.Tolerance.Bounds(dtype.F32, 16)
			for range 3 {
				var in []ref.Tensor
				for k, d := range s.in {
					x := random(r, s.op, k, d)
					if at, ok := places[s.op]; !(k < len(row.Domain) && row.Domain[k].Whole) && !(ok && k == at) {
						for i := range x.F {
							if r.IntN(3) == 0 {
								x.F[i] = pool[r.IntN(len(pool))]
							}
						}
					}
					in = append(in, x)
				}
				want, err := ref.Eval(&n, in)
				require.NoError(t, err)
				got := primitives(t, n, in)
				compared++
				for k := range want {
					same(t, want[k], got[k], rel+1e-5, abs+1e-5, func(i int) string { return fmt.Sprintf("result %d, element %d of %v", k, i, in) })
				}
			}
		})
	}
	require.Greater(t, compared, 800)
}

// Coordinates that are infinite, NaN or huge lie outside the image: the reference and the decomposition read zeros there, and neither
// panics with another padding than zeros.
func TestInfiniteCoordinates(t *testing.T) {
	x := ref.Tensor{Desc: f(1, 1, 2, 3), F: []float64{1, 2, 3, 4, 5, 6}}
	beyond := []float64{math.Inf(1), math.Inf(-1), math.NaN(), 3e38, -3e38}
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, align := range []bool{false, true} {
				for _, p := range beyond {
					grid := ref.Tensor{Desc: f(1, 1, 2, 2), F: []float64{p, 0, 0, p}}
					n, err := op.New(op.GridSample, []op.Desc{x.Desc, grid.Desc}, op.Str("mode", mode), op.Str("padding", padding), op.Flag("align_corners", align))
					require.NoError(t, err)
					want, err := ref.Eval(&n, []ref.Tensor{x, grid})
					require.NoError(t, err)
					got := primitives(t, n, []ref.Tensor{x, grid})
					if padding == "zeros" {
						require.Equal(t, []float64{0, 0}, want[0].F, "%s at %v", mode, p)
						require.Equal(t, []float64{0, 0}, got[0].F, "%s at %v", mode, p)
					}
				}
			}
		}
	}
	for _, p := range beyond { // offsets and regions
		w, offset := ref.Tensor{Desc: f(1, 1, 1, 1), F: []float64{2}}, ref.Tensor{Desc: f(1, 2, 2, 3), F: make([]float64, 12)}
		offset.F[1] = p
		n, err := op.New(op.DeformConv, []op.Desc{x.Desc, w.Desc, offset.Desc}, deform(0, 1, 1)...)
		require.NoError(t, err)
		want, err := ref.Eval(&n, []ref.Tensor{x, w, offset})
		require.NoError(t, err)
		require.Equal(t, []float64{2, 0, 6, 8, 10, 12}, want[0].F, "%v", p)
		require.Equal(t, want[0].F, primitives(t, n, []ref.Tensor{x, w, offset})[0].F, "%v", p)
		rois := ref.Tensor{Desc: f(1, 4), F: []float64{0, 0, p, 1}}
		n, err = op.New(op.RoiAlign, []op.Desc{x.Desc, i(1), rois.Desc}, size(1, 1), op.Int("samples", 1))
		require.NoError(t, err)
		_, err = ref.Eval(&n, []ref.Tensor{x, {Desc: i(1), I: []int64{0}}, rois})
		require.NoError(t, err)
	}
}
