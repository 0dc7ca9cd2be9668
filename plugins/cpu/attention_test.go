package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// attentionCase is an attention node. Most have several blocks of queries or several tiles of keys.
type attentionCase struct {
	name                         string
	heads, shared, queries, keys int
	depth, width                 int
	attrs                        []op.Attr
	mask                         []int // dims; nil for none
	bools, unseen                bool  // the mask is of bools; all of them are false
	infinite                     bool  // most elements of the mask are -Inf, and one is Inf
	f64, permuted                bool
	all                          float64 // if not 0, the number that all elements of v are
	strange                      bool    // one element of v is odd
	odd                          float64
	nanKey                       bool
}

func attentionCases() []attentionCase {
	causal := op.Flag("causal", true)
	inf, nan := math.Inf(1), math.NaN()
	return []attentionCase{
		{name: "plain", heads: 2, shared: 2, queries: 131, keys: 517, depth: 24, width: 20},
		{name: "f64", heads: 2, shared: 1, queries: 67, keys: 300, depth: 17, width: 9, f64: true, attrs: []op.Attr{causal, op.Int("past", 233)}},
		{name: "permuted", heads: 3, shared: 3, queries: 120, keys: 300, depth: 16, width: 16, permuted: true},
		{name: "causal", heads: 2, shared: 2, queries: 530, keys: 530, depth: 8, width: 8, attrs: []op.Attr{causal}},
		{name: "causal, none seen", heads: 1, shared: 1, queries: 300, keys: 700, depth: 8, width: 8, attrs: []op.Attr{causal, op.Int("past", -150)}},
		{name: "window", heads: 2, shared: 1, queries: 260, keys: 700, depth: 8, width: 8, attrs: []op.Attr{op.Int("window", 40), op.Int("past", 300)}},
		{name: "one query, shared heads", heads: 8, shared: 2, queries: 1, keys: 1000, depth: 32, width: 32, attrs: []op.Attr{causal, op.Int("past", 900)}},
		{name: "deep and wide", heads: 1, shared: 1, queries: 40, keys: 290, depth: 700, width: 600, attrs: []op.Attr{causal, op.Int("past", 200)}},
		{name: "no depth", heads: 2, shared: 1, queries: 20, keys: 300, width: 5},
		{name: "softcap", heads: 2, shared: 2, queries: 40, keys: 300, depth: 16, width: 8, attrs: []op.Attr{op.Float("softcap", 0.5), op.Float("scale", 1)}},
		{name: "bool mask", heads: 2, shared: 2, queries: 130, keys: 403, depth: 8, width: 8, mask: []int{2, 1, 130, 403}, bools: true},
		{name: "bool mask of keys", heads: 2, shared: 2, queries: 130, keys: 403, depth: 8, width: 8, mask: []int{403}, bools: true, unseen: true},
		{name: "bool mask of queries", heads: 2, shared: 1, queries: 30, keys: 403, depth: 8, width: 8, mask: []int{30, 1}, bools: true},
		{name: "bias", heads: 4, shared: 2, queries: 130, keys: 403, depth: 8, width: 8, mask: []int{4, 130, 403}, attrs: []op.Attr{causal}},
		{name: "huge values", heads: 1, shared: 1, queries: 20, keys: 600, depth: 8, width: 8, all: 2e38},
		{name: "infinite value, not seen", heads: 1, shared: 1, queries: 20, keys: 600, depth: 8, width: 8, strange: true, odd: inf, attrs: []op.Attr{causal}},
		{name: "nan value, not seen", heads: 1, shared: 1, queries: 20, keys: 600, depth: 8, width: 8, strange: true, odd: nan, attrs: []op.Attr{causal}},
		{name: "nan key", heads: 1, shared: 1, queries: 20, keys: 600, depth: 8, width: 8, nanKey: true},
		{name: "infinite bias", heads: 1, shared: 1, queries: 20, keys: 600, depth: 8, width: 8, mask: []int{20, 600}, infinite: true},
	}
}

func TestAttention(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.name, func(t *testing.T) {
			if c.f64 {
				checkAttention[float64](t, c, 1e-12)
				return
			}
			checkAttention[float32](t, c, 3e-6)
		})
	}
}

func checkAttention[T float32 | float64](t *testing.T, c attentionCase, tolerance float64) {
	const batch = 2
	b := newBed(t)
	of := func(seed uint64, n int) []T {
		v := make([]T, n)
		for i, x := range random(seed, n) {
			v[i] = T(x)
		}
		return v
	}
	q, k, v := of(1, batch*c.heads*c.queries*c.depth), of(2, batch*c.shared*c.keys*c.depth), of(3, batch*c.shared*c.keys*c.width)
	size := 1.0
	if c.all != 0 {
		size = c.all
		for i := range v {
			v[i] = T(size)
		}
	}
	if c.strange {
		v[500*c.width+3] = T(c.odd)
	}
	if c.nanKey {
		k[500*c.depth] = T(math.NaN())
	}
	var descs, in []op.Desc
	var tensors []ref.Tensor
	operand := func(v []T, heads, rows, cols int) {
		d := op.DescOf(dtype.Of[T](), batch, heads, rows, cols)
		x, err := ref.FromBytes(d, bytesOf(v))
		require.NoError(t, err)
		tensors, descs = append(tensors, x), append(descs, d)
		if !c.permuted {
			in = append(in, put(b, v, batch, heads, rows, cols))
			return
		}
		turned := make([]T, len(v)) // [batch, rows, heads, cols]
		for i := range v {
			turned[((i/(heads*rows*cols)*rows+i/cols%rows)*heads+i/(rows*cols)%heads)*cols+i%cols] = v[i]
		}
		in = append(in, b.do(op.Permute, list(put(b, turned, batch, rows, heads, cols)), op.Ints("axes", 0, 2, 1, 3))[0])
	}
	operand(q, c.heads, c.queries, c.depth)
	operand(k, c.shared, c.keys, c.depth)
	operand(v, c.shared, c.keys, c.width)
	if c.mask != nil {
		n := 1
		for _, d := range c.mask {
			n *= d
		}
		bias := random(4, n)
		var x ref.Tensor
		var err error
		if c.bools {
			seen := make([]bool, n)
			for i := range seen {
				seen[i] = bias[i] > 0 && !c.unseen
			}
			in = append(in, put(b, seen, c.mask...))
			x, err = ref.FromBytes(op.DescOf(dtype.Bool, c.mask...), bytesOf(seen))
		} else {
			for i := range bias {
				if c.infinite && (i%3 > 0 || i < 2*c.keys) {
					bias[i] = float32(math.Inf(-1))
				}
			}
			if c.infinite {
				bias[7*c.keys+450] = float32(math.Inf(1))
			}
			in = append(in, put(b, bias, c.mask...))
			x, err = ref.FromBytes(op.DescOf(dtype.F32, c.mask...), bytesOf(bias))
		}
		require.NoError(t, err)
		tensors, descs = append(tensors, x), append(descs, x.Desc)
	}
	n, err := op.New(op.Attention, descs, c.attrs...)
	require.NoError(t, err)
	want, err := ref.Eval(&n, tensors)
	require.NoError(t, err)
	for i, got := range get[T](b, b.do(op.Attention, in, c.attrs...)[0]) {
		w := want[0].F[i]
		same := math.Abs(float64(got)-w) <= tolerance*size || got != got && w != w || float64(got) == w
		require.True(t, same, fmt.Sprintf("element %d: got %v, want %v", i, got, w))
	}
}

// TestAttentionHoldsNoScores computes attention whose scores would occupy 512 MiB, and checks that it reserves less than 64 MiB.
func TestAttentionHoldsNoScores(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test computes attention of a long sequence")
	}
	const heads, length, depth = 8, 4096, 16
	b := newBed(t)
	x := put(b, random(1, heads*length*depth), 1, heads, length, depth)
	y := b.do(op.Attention, list(x, x, x), op.Flag("causal", true))[0]
	get[float32](b, y)
	require.Less(t, b.Memory().Reserved, int64(64<<20))
}
