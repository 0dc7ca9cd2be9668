package op_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// dice draws shapes and attributes.
type dice struct{ *rand.Rand }

func (r dice) from(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

func (r dice) dims(rank, lo, hi int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = r.from(lo, hi)
	}
	return s
}

func (r dice) flag(name string) op.Attr { return op.Flag(name, r.IntN(2) == 1) }

func (r dice) one(name string, of ...string) op.Attr { return op.Str(name, of[r.IntN(len(of))]) }

// axes draws distinct axes, maybe none.
func (r dice) axes(rank int) []int { return r.Perm(rank)[:r.from(0, rank)] }

// broadcastTo returns a shape that broadcasts to s: a tail of it with ones here and there.
func (r dice) broadcastTo(s []int) []int {
	t := slices.Clone(s[r.from(0, len(s)):])
	for i := range t {
		if r.IntN(3) == 0 {
			t[i] = 1
		}
	}
	return t
}

// slides returns the attributes of a window over the given dimensions, which need not fit.
func (r dice) slides(dims int, more ...op.Attr) []op.Attr {
	return append(more, op.Ints("window", r.dims(dims, 1, 3)...), op.Ints("strides", r.dims(dims, 1, 3)...), op.Ints("pad_lo", r.dims(dims, 0, 2)...), op.Ints("pad_hi", r.dims(dims, 0, 2)...),
		op.Ints("dilation", r.dims(dims, 1, 2)...))
}

// draws maps each kind of composite to a function that draws a sample, with shapes that hand-written tables omit.
var draws = map[string]func(r dice) sample{
	"softmax": func(r dice) sample {
		s := r.dims(r.from(1, 5), 0, 3)
		c := []op.Code{op.Softmax, op.LogSoftmax, op.Softmin, op.Hardmax, op.LogCumSumExp, op.ArgSort, op.CumArgMax, op.CumArgMin}[r.IntN(8)]
		return sample{c, ins(f(s...)), axis(r.IntN(len(s)))}
	},
	"reduce": func(r dice) sample {
		s := r.dims(r.from(0, 8), 1, 2)
		c := []op.Code{op.Mean, op.Variance, op.Std, op.LogSumExp, op.VectorNorm, op.Median}[r.IntN(6)]
		return sample{c, ins(f(s...)), with(op.Ints("axes", r.axes(len(s))...), r.flag("keep_dims"))}
	},
	"norm of order": func(r dice) sample {
		s := r.dims(2, 1, 3)
		return sample{op.VectorNorm, ins(f(s...)), with(op.Ints("axes", r.axes(2)...), op.Float("p", []float64{0, 1, 2, 3, 0.5}[r.IntN(5)]))}
	},
	"layer norm": func(r dice) sample {
		s := r.dims(r.from(1, 4), 1, 3)
		at := r.IntN(len(s))
		in := ins(f(s...), f(r.broadcastTo(s[at:])...), f(r.broadcastTo(s[at:])...))[:r.from(1, 3)]
		return sample{op.LayerNorm, in, with(op.Int("axis", at), op.Float("epsilon", 0.1))}
	},
	"group norm": func(r dice) sample {
		groups := r.from(1, 3)
		s := append([]int{r.from(0, 2), groups * r.from(1, 2)}, r.dims(r.from(0, 3), 1, 3)...)
		return sample{op.GroupNorm, ins(f(s...), f(s[1]), f(s[1])), with(op.Int("groups", groups), op.Float("epsilon", 0.1))}
	},
	"local norm": func(r dice) sample {
		s := append([]int{r.from(1, 2), r.from(1, 6)}, r.dims(r.from(0, 2), 1, 3)...)
		return sample{op.LocalResponseNorm, ins(f(s...)), with(op.Int("size", r.from(1, 7)), op.Float("alpha", 0.5))}
	},
	"pool": func(r dice) sample {
		s := r.dims(r.from(1, 4), 2, 5)
		n := r.from(1, min(3, len(s)))
		over := op.Ints("overhang", r.dims(n, 0, 2)...)
		switch r.IntN(3) {
		case 0:
			return sample{op.AvgPool, ins(f(s...)), r.slides(n, over, r.flag("count_pad"))}
		case 1:
			return sample{op.LpPool, ins(f(s...)), r.slides(n, over)}
		}
		return sample{op.MaxPool, ins(f(s...)), r.slides(n, over, r.flag("indices"))}
	},
	"adaptive pool": func(r dice) sample {
		s := r.dims(r.from(1, 4), 1, 6)
		n := r.from(1, min(3, len(s)))
		if r.IntN(2) == 0 {
			return sample{op.AdaptiveAvgPool, ins(f(s...)), with(size(r.dims(n, 1, 7)...))}
		}
		return sample{op.AdaptiveMaxPool, ins(f(s...)), with(size(r.dims(n, 1, 7)...), r.flag("indices"))}
	},
	"interpolate": func(r dice) sample {
		s := append(r.dims(r.from(0, 2), 1, 2), r.dims(r.from(1, 3), 1, 5)...)
		n := r.from(1, min(3, len(s)))
		return sample{op.Interpolate, ins(f(s...)), with(size(r.dims(n, 0, 6)...), r.one("mode", "nearest", "linear", "cubic", "lanczos"), r.flag("antialias"), r.flag("exclude_outside"),
			r.one("coordinates", "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"), r.one("rounding", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))}
	},
	"grid sample": func(r dice) sample {
		n := r.from(1, 3)
		s, points := append(r.dims(2, 1, 2), r.dims(n, 1, 4)...), append(r.dims(1, 1, 1), r.dims(n, 0, 3)...)
		points[0] = s[0]
		return sample{op.GridSample, ins(f(s...), f(append(points, n)...)), with(r.one("mode", "nearest", "linear", "cubic"), r.one("padding", "zeros", "border", "reflection"), r.flag("align_corners"))}
	},
	"patches": func(r dice) sample {
		n := r.from(1, 3)
		return sample{op.Im2Col, ins(f(append(r.dims(2, 0, 2), r.dims(n, 2, 5)...)...)), r.slides(n)}
	},
	"transposed conv": func(r dice) sample {
		n, groups := r.from(1, 3), r.from(1, 2)
		x, w := append([]int{r.from(1, 2), groups * r.from(1, 2)}, r.dims(n, 1, 4)...), append([]int{0, r.from(1, 2)}, r.dims(n, 1, 3)...)
		w[0] = x[1]
		return sample{op.ConvTranspose, ins(f(x...), f(w...)), with(op.Ints("strides", r.dims(n, 1, 3)...), op.Ints("pad_lo", r.dims(n, -1, 2)...), op.Ints("pad_hi", r.dims(n, -1, 2)...),
			op.Ints("output_padding", r.dims(n, 0, 2)...), op.Ints("dilation", r.dims(n, 1, 2)...), op.Int("groups", groups))}
	},
	"gather": func(r dice) sample { // indices are 0 or 1
		s := r.dims(r.from(1, 5), 2, 4)
		switch tuple := r.from(1, len(s)); r.IntN(3) {
		case 0:
			return sample{op.GatherND, ins(f(s...), i(append(r.dims(r.from(0, 2), 0, 3), tuple)...)), nil}
		case 1:
			index := slices.Clone(s)
			at := r.IntN(len(s))
			index[at] = r.from(0, 5)
			return sample{op.GatherElements, ins(f(s...), i(index...)), axis(at)}
		default:
			batch := r.IntN(len(s))
			index := append(slices.Clone(s[:batch]), append(r.dims(r.from(0, 2), 1, 2), r.from(0, len(s)-batch))...)
			return sample{op.GatherND, ins(f(s...), i(index...)), with(op.Int("batch", batch))}
		}
	},
	"scatter": func(r dice) sample {
		s := r.dims(r.from(1, 4), 2, 4)
		mode := r.one("mode", "assign", "add", "mul", "min", "max")
		if r.IntN(2) == 0 {
			index := slices.Clone(s)
			at := r.IntN(len(s))
			index[at] = r.from(0, 4)
			return sample{op.ScatterElements, ins(f(s...), i(index...), f(index...)), with(op.Int("axis", at), mode)}
		}
		tuple, before := r.from(1, len(s)), r.dims(r.from(0, 2), 0, 3)
		return sample{op.ScatterND, ins(f(s...), i(append(slices.Clone(before), tuple)...), f(append(slices.Clone(before), s[tuple:]...)...)), with(mode)}
	},
	"top": func(r dice) sample {
		s := r.dims(r.from(1, 4), 0, 4)
		at := r.IntN(len(s))
		return sample{op.TopK, ins(f(s...)), with(op.Int("k", r.from(0, s[at])), op.Int("axis", at), r.flag("largest"))}
	},
	"one hot": func(r dice) sample {
		s := r.dims(r.from(0, 4), 0, 3)
		return sample{op.OneHot, ins(i(s...)), with(op.Int("depth", r.from(0, 4)), op.Int("axis", r.from(0, len(s))), op.Type("dtype", dtype.F32))}
	},
	"quantize": func(r dice) sample {
		s := r.dims(r.from(1, 4), 1, 4)
		at := r.IntN(len(s))
		of := []dtype.DType{dtype.I8, dtype.U8, dtype.I16, dtype.U16, dtype.I32}[r.IntN(5)]
		c := []op.Code{op.Quantize, op.FakeQuantize}[r.IntN(2)]
		if r.IntN(3) == 0 {
			return sample{c, ins(f(s...), f(), op.DescOf(of)), nil}
		}
		return sample{c, ins(f(s...), f(s[at]), op.DescOf(of, s[at])), axis(at)}
	},
	"einsum": func(r dice) sample {
		letters, length := "abcd", map[byte]int{}
		for k := range letters {
			length[letters[k]] = r.from(1, 3)
		}
		equation, out := "", ""
		var in []op.Desc
		for range r.from(1, 3) {
			var s []int
			for range r.from(0, 3) {
				l := letters[r.IntN(len(letters))]
				equation, s = equation+string(l), append(s, length[l])
				if !slices.Contains([]byte(out), l) && r.IntN(2) == 0 {
					out += string(l)
				}
			}
			in = append(in, f(s...))
			equation += ","
		}
		return sample{op.Einsum, in, eq(equation[:len(equation)-1] + "->" + out)}
	},
	"transforms": func(r dice) sample {
		s := r.dims(r.from(1, 3), 1, 6)
		at, scale := r.IntN(len(s)), r.one("norm", "backward", "ortho", "forward")
		switch r.IntN(3) {
		case 0:
			return sample{op.FFT, ins(f(append(s, 2)...)), with(op.Int("axis", at), r.flag("inverse"), scale)}
		case 1:
			return sample{op.RFFT, ins(f(s...)), with(op.Int("axis", at), op.Int("n", r.from(0, 8)), scale)}
		}
		return sample{op.IRFFT, ins(f(append(s, 2)...)), with(op.Int("axis", at), op.Int("n", r.from(1, 9)), scale)}
	},
	"attention": func(r dice) sample {
		b, h, g, s, n, d := r.from(0, 2), r.from(1, 2), r.from(1, 2), r.from(0, 3), r.from(1, 4), r.from(1, 3)
		in := ins(f(b, h*g, s, d), f(b, h, n, d), f(b, h, n, r.from(1, 3)))
		switch r.IntN(3) {
		case 0:
			in = append(in, f(r.broadcastTo([]int{b, h * g, s, n})...))
		case 1:
			in = append(in, op.DescOf(dtype.Bool, r.broadcastTo([]int{b, h * g, s, n})...))
		}
		return sample{op.Attention, in, with(r.flag("causal"), op.Int("past", r.from(0, 2)), op.Int("window", r.from(0, 3)), op.Float("softcap", float64(r.IntN(2))))}
	},
	"recurrent": func(r dice) sample {
		t, b, wide, h := r.from(0, 3), r.from(0, 2), r.from(1, 3), r.from(1, 2)
		direction, ways := "forward", 1
		if r.IntN(2) == 0 {
			direction, ways = "bidirectional", 2
		}
		x, state := f(t, b, wide), f(ways, b, h)
		switch r.IntN(3) {
		case 0:
			return sample{op.RNN, ins(x, f(ways, h, wide), f(ways, h, h), f(ways, h), state), with(op.Str("direction", direction), r.one("activation", "tanh", "relu"))}
		case 1:
			return sample{op.GRU, ins(x, f(ways, 3*h, wide), f(ways, 3*h, h), f(ways, 3*h), f(ways, 3*h), state), with(op.Str("direction", direction), r.flag("reset_after"))}
		}
		return sample{op.LSTM, ins(x, f(ways, 4*h, wide), f(ways, 4*h, h), f(ways, 4*h), state, state), with(op.Str("direction", direction))}
	},
	"arrange": func(r dice) sample {
		s := r.dims(r.from(1, 4), 1, 3)
		at := r.IntN(len(s))
		switch r.IntN(5) {
		case 0:
			axes := r.axes(len(s))
			return sample{op.Roll, ins(f(s...)), with(op.Ints("shifts", r.dims(len(axes), -7, 7)...), op.Ints("axes", axes...))}
		case 1:
			return sample{op.Tile, ins(f(s...)), with(op.Ints("repeats", r.dims(len(s), 0, 3)...))}
		case 2:
			return sample{op.RepeatInterleave, ins(f(s...)), with(op.Int("repeats", r.from(0, 3)), op.Int("axis", at))}
		case 3:
			return sample{op.Stack, slices.Repeat(ins(f(s...)), r.from(1, 4)), axis(r.from(0, len(s)))}
		}
		return sample{op.Extend, ins(f(s...)), with(op.Ints("lo", r.dims(len(s), -1, 5)...), op.Ints("hi", r.dims(len(s), -1, 5)...), r.one("mode", "edge", "reflect", "symmetric", "wrap"))}
	},
	"matrices": func(r dice) sample {
		s := append(r.dims(r.from(0, 2), 0, 2), r.dims(2, 1, 4)...)
		return sample{[]op.Code{op.Tril, op.Triu, op.Diagonal}[r.IntN(3)], ins(f(s...)), with(op.Int("offset", r.from(-5, 5)))}
	},
	"factors": func(r dice) sample {
		n := r.from(1, 4)
		batch := r.dims(r.from(0, 2), 0, 2)
		square := append(slices.Clone(batch), n, n)
		switch r.IntN(4) {
		case 0:
			return sample{[]op.Code{op.Cholesky, op.Det, op.Inverse, op.Eigh, op.SVD, op.QR}[r.IntN(6)], ins(f(square...)), nil}
		case 1:
			return sample{op.MatrixPower, ins(f(square...)), with(op.Int("n", r.from(-2, 5)))}
		case 2:
			return sample{op.TriangularSolve, ins(f(square...), f(append(r.broadcastTo(batch), n, r.from(0, 3))...)), with(r.flag("upper"), r.flag("transpose"), r.flag("unit"))}
		}
		return sample{op.Solve, ins(f(append(r.broadcastTo(batch), n, n)...), f(append(slices.Clone(batch), n, r.from(0, 3))...)), nil}
	},
	"losses": func(r dice) sample {
		s := append([]int{r.from(1, 3), r.from(2, 4)}, r.dims(r.from(0, 2), 1, 3)...)
		target := i(append([]int{s[0]}, s[2:]...)...)
		in := ins(f(s...), target, f(s[1]))[:r.from(2, 3)]
		if r.IntN(2) == 0 {
			return sample{op.NLLLoss, in, with(r.one("reduction", "mean", "sum", "none"), op.Int("ignore_index", r.from(-1, 1)))}
		}
		return sample{op.CrossEntropyLoss, in, with(r.one("reduction", "mean", "sum", "none"), op.Int("ignore_index", r.from(-1, 1)), op.Float("label_smoothing", 0.1*float64(r.IntN(3))))}
	},
	"similarity": func(r dice) sample {
		s := r.dims(r.from(1, 3), 1, 3)
		return sample{op.CosineSimilarity, ins(f(s...), f(r.broadcastTo(s)...)), axis(r.IntN(len(s)))}
	},
	"search": func(r dice) sample {
		if r.IntN(2) == 0 {
			return sample{op.Histogram, ins(f(r.dims(r.from(0, 3), 0, 3)...), f(r.from(2, 4))), nil}
		}
		lead := r.dims(r.from(0, 2), 0, 2)
		return sample{op.SearchSorted, ins(f(append(slices.Clone(lead), r.from(0, 4))...), f(append(slices.Clone(lead), r.from(0, 3))...)), with(r.flag("right"))}
	},
}

// Decompositions agree with the reference on drawn shapes and attributes. A sample that its row refuses is skipped.
func TestDecompositionsOfDrawnSamples(t *testing.T) {
	for name, draw := range draws {
		t.Run(name, func(t *testing.T) {
			done := 0
			for seed := range uint64(48) {
				s := draw(dice{rand.New(rand.NewPCG(seed, uint64(len(name))))})
				d := []dtype.DType{dtype.F64, dtype.F32, dtype.BF16, dtype.I32, dtype.F16, dtype.U8}[seed%6]
				if typed, ok := s.retyped(d); ok { // an op on indices keeps its own types
					s = typed
				}
				if _, err := op.New(s.op, s.in, s.attrs...); err != nil {
					require.ErrorAs(t, err, new(*op.Error))
					continue
				}
				done++
				t.Run(fmt.Sprintf("%d %v %v %v", seed, s.op, s.in, op.Attrs(s.attrs)), func(t *testing.T) { decomposes(t, s) })
			}
			require.Greater(t, done, 20, "most samples are legal")
		})
	}
}
