package attention_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/attention"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, attention.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// sizes are the sizes of an attention: depth is the length of a query and of a key, width the length of a value.
type sizes struct{ batch, queryHeads, keyHeads, queries, keys, depth, width int }

func (s sizes) operands(r *rand.Rand, d dtype.DType) list {
	return list{kerneltest.Random(r, d, -2, 2, s.batch, s.queryHeads, s.queries, s.depth),
		kerneltest.Random(r, d, -2, 2, s.batch, s.keyHeads, s.keys, s.depth), kerneltest.Random(r, d, -2, 2, s.batch, s.keyHeads, s.keys, s.width)}
}

// cases have few queries, for which keys are not packed, and many; one block of queries and several; one tile of keys and several;
// depths and widths that are no multiple of a vector; and zero for each size but the numbers of heads.
var cases = []sizes{{1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 7, 3, 5}, {2, 2, 2, 5, 9, 8, 4}, {1, 4, 2, 3, 17, 5, 7}, {2, 6, 1, 7, 5, 16, 9}, {1, 2, 1, 33, 70, 9, 17},
	{1, 1, 1, 60, 65, 17, 8}, {1, 3, 3, 130, 131, 4, 3}, {1, 1, 1, 2, 1100, 3, 2}, {1, 1, 1, 17, 600, 5, 65},
	{0, 1, 1, 2, 2, 2, 2}, {1, 1, 1, 0, 2, 2, 2}, {1, 1, 1, 2, 0, 2, 2}, {1, 1, 1, 2, 2, 0, 2}, {1, 1, 1, 2, 2, 2, 0}, {1, 2, 1, 20, 30, 0, 3}}

func TestAttention(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, s := range cases {
		b.Check(op.Attention, s.operands(r, dtype.F32))
		b.Check(op.Attention, s.operands(r, dtype.F32), op.Flag("causal", true), op.Float("scale", 0.3))
	}
	for _, d := range dtype.Floats.List() {
		b.Check(op.Attention, sizes{2, 4, 2, 9, 19, 7, 5}.operands(r, d))
	}
}

// Keys are hidden by position: keys after a query, and keys outside its window, with keys before the first query and without. Some
// queries see no key.
func TestLimits(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, s := range []sizes{{1, 2, 1, 5, 9, 3, 4}, {1, 1, 1, 70, 75, 5, 3}, {2, 1, 1, 3, 140, 4, 9}} {
		in := s.operands(r, dtype.F32)
		for _, causal := range []bool{false, true} {
			for _, past := range []int{0, 4, s.keys - s.queries, -3, 1000, -1000} {
				for _, window := range []int{0, 1, 3, 64, 1 << 40} {
					b.Check(op.Attention, in, op.Flag("causal", causal), op.Int("past", past), op.Int("window", window))
				}
			}
		}
	}
}

func TestMasks(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range []sizes{{2, 4, 2, 5, 9, 3, 4}, {1, 2, 2, 35, 70, 8, 5}, {2, 2, 1, 3, 1, 2, 2}} {
		in := s.operands(r, dtype.F32)
		for _, dims := range [][]int{{s.batch, s.queryHeads, s.queries, s.keys}, {s.queries, s.keys}, {s.keys}, {1}, nil,
			{s.batch, 1, 1, s.keys}, {s.batch, 1, s.queries, 1}, {1, s.queryHeads, 1, s.keys}} {
			seen := kerneltest.Random(r, dtype.U8, 0, 1, dims...)
			visible := kerneltest.Ints(dtype.Bool, dims, 0)
			copy(visible.Data, seen.Data)
			for _, mask := range []kerneltest.Operand{visible, kerneltest.Random(r, dtype.F32, -3, 3, dims...),
				kerneltest.Random(r, dtype.F64, -3, 3, dims...), kerneltest.Random(r, dtype.F32, -1, 1, dims...).Sprinkle(r, 4, math.Inf(-1))} {
				withMask := append(append(list(nil), in...), mask)
				b.Check(op.Attention, withMask)
				b.Check(op.Attention, withMask, op.Flag("causal", true), op.Float("softcap", 2))
			}
		}
	}
}

// Scores are capped before the mask is added.
func TestSoftcap(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		for _, softcap := range []float64{0.5, 20, 1e-3} {
			b.Check(op.Attention, sizes{1, 2, 1, 9, 33, 5, 4}.operands(r, d), op.Float("softcap", softcap), op.Float("scale", 3))
		}
	}
}

// The result of a query that sees no key is zero, whether its position or the mask hides the keys.
func TestNothingSeen(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(9, 10))
	for _, s := range []sizes{{1, 1, 1, 3, 5, 2, 4}, {1, 2, 1, 40, 80, 8, 3}} {
		in := s.operands(r, dtype.F32)
		zeros := list{kerneltest.Floats(dtype.F32, []int{s.batch, s.queryHeads, s.queries, s.width}, 0)}
		b.Expect(op.Attention, append(in, kerneltest.Ints(dtype.Bool, nil, 0)), zeros, 0, 0)
		b.Expect(op.Attention, append(in, kerneltest.Floats(dtype.F32, nil, math.Inf(-1))), zeros, 0, 0)
		b.Expect(op.Attention, in, zeros, 0, 0, op.Flag("causal", true), op.Int("past", -1000))
	}
}

// With equal scores the result is the mean of the values, even of values near the limits of f32: the weighted sum does not overflow
// before it is divided.
func TestMeanOfValues(t *testing.T) {
	b := newBench(t)
	for _, keys := range []int{1, 3, 100, 777} {
		for _, v := range []float64{1, 3e38, -2.5e38, 1e-38} {
			in := list{kerneltest.Floats(dtype.F32, []int{1, 1, 20, 3}, 0), kerneltest.Floats(dtype.F32, []int{1, 1, keys, 3}, 1), kerneltest.Floats(dtype.F32, []int{1, 1, keys, 2}, v)}
			b.Expect(op.Attention, in, list{kerneltest.Floats(dtype.F32, []int{1, 1, 20, 2}, v)}, 1e-5, 0)
		}
	}
}

// Scores that are far apart select one value, and very large scores do not overflow.
func TestSharpScores(t *testing.T) {
	b := newBench(t)
	for _, keys := range []int{2, 90, 700} {
		for at := 0; at < keys; at += 1 + keys/3 {
			k, v := kerneltest.Floats(dtype.F32, []int{1, 1, keys, 1}, -1), kerneltest.Floats(dtype.F32, []int{1, 1, keys, 1}, 5)
			k.SetFloat(at, 1)
			v.SetFloat(at, -7)
			in := list{kerneltest.Floats(dtype.F32, []int{1, 1, 18, 1}, 1e30), k, v}
			b.Expect(op.Attention, in, list{kerneltest.Floats(dtype.F32, []int{1, 1, 18, 1}, -7)}, 1e-6, 0)
		}
	}
}

// A NaN or an infinity in a query affects only the results of the query, in a value one column, in a key all queries. A key that is
// hidden by position has weight zero, and zero times NaN is NaN.
func TestAttentionSpecialValues(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(11, 12))
	for _, s := range []sizes{{1, 1, 1, 3, 5, 2, 4}, {1, 2, 1, 20, 70, 8, 3}} {
		for operand := range 3 {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				in := s.operands(r, dtype.F32)
				in[operand].SetFloat(4, v)
				b.Check(op.Attention, in)
				b.Check(op.Attention, in, op.Flag("causal", true))
				b.Check(op.Attention, append(in, kerneltest.Ints(dtype.Bool, []int{s.queries, s.keys}, 1, 0)))
			}
		}
	}
}

// TestAttentionByHand computes two queries and three keys from the definition.
func TestAttentionByHand(t *testing.T) {
	b := newBench(t)
	q, k, v := [2]float64{0.5, -1}, [3]float64{1, 2, -1}, [3]float64{10, 20, 40}
	for _, causal := range []bool{false, true} {
		var want []float64
		for i, query := range q {
			var sum, total float64
			for j, key := range k {
				if causal && j > i {
					continue
				}
				w := math.Exp(0.7 * query * key)
				sum, total = sum+w, total+w*v[j]
			}
			want = append(want, total/sum)
		}
		in := list{kerneltest.Floats(dtype.F64, []int{1, 1, 2, 1}, q[:]...), kerneltest.Floats(dtype.F64, []int{1, 1, 3, 1}, k[:]...), kerneltest.Floats(dtype.F64, []int{1, 1, 3, 1}, v[:]...)}
		b.Expect(op.Attention, in, list{kerneltest.Floats(dtype.F64, []int{1, 1, 2, 1}, want...)}, 1e-14, 0, op.Float("scale", 0.7), op.Flag("causal", causal))
	}
}
