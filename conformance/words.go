package conformance

import (
	"context"
	"fmt"
	"math"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// wordCases test i64 and u8 where hardware that emulates them goes wrong: carries between words, values that differ only in the high word,
// signs, shifts across a word, indices that are valid only in their low word, neighbouring bytes of a word. They run regardless of Emulated
// in the document.
func wordCases() []testCase {
	var cases []testCase
	for _, x := range wordNodes() {
		c := ruled("words/"+x.name, "emulated arithmetic returns the same results as native arithmetic",
			func(ctx context.Context, q *queue) error { return x.run(ctx, q) })
		c.storage, c.types = true, typesOfTensors(x.in)
		cases = append(cases, c)
	}
	for _, x := range []struct {
		name  string
		index int64
	}{{"above", 1 << 32}, {"below", -1 << 32}, {"most", math.MaxInt64}, {"least", math.MinInt64}} {
		c := ruled("words/i64/index-"+x.name, "all 64 bits of an index are checked", func(ctx context.Context, q *queue) error { return wideIndex(ctx, q, x.index) })
		c.storage, c.types = true, dtype.SetOf(dtype.F32, dtype.I64)
		cases = append(cases, c)
	}
	return cases
}

// wordNode is one node of a case.
type wordNode struct {
	name  string
	op    op.Code
	in    []ref.Tensor
	attrs []op.Attr
}

func typesOfTensors(ts []ref.Tensor) (s dtype.Set) {
	for _, t := range ts {
		s |= dtype.SetOf(t.Desc.DType)
	}
	return s
}

func (x wordNode) run(ctx context.Context, q *queue) error {
	ds, err := q.putAll(ctx, x.in)
	if err != nil {
		return err
	}
	n, err := op.New(x.op, ds, x.attrs...)
	if err != nil {
		return fmt.Errorf("the suite made a faulty node: %w", err)
	}
	if err := q.claims(&n, ds); err != nil {
		return err
	}
	return q.expect(ctx, n, x.in)
}

// borders contains i64 values around the bounds of words, and edgeBytes u8 values around the sign bit.
var (
	borders = []int64{0, 1, -1, 7, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxUint32, math.MaxUint32 + 1,
		-math.MaxUint32, -math.MaxUint32 - 1, -math.MaxUint32 - 2, 1<<53 + 1, 0x123456789abcdef, -0x123456789abcdef, math.MaxInt64, math.MinInt64}
	edgeBytes = []int64{0, 1, 2, 7, 100, 126, 127, 128, 129, 200, 254, 255}
)

func integers(d dtype.DType, dims []int, values ...int64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, dims...), I: values}
}

// everyPair returns every pair of values, as two operands. If zeros is false, the second operand contains no 0.
func everyPair(d dtype.DType, values []int64, zeros bool) []ref.Tensor {
	var a, b []int64
	for _, x := range values {
		for _, y := range values {
			if y != 0 || zeros {
				a, b = append(a, x), append(b, y)
			}
		}
	}
	return []ref.Tensor{integers(d, []int{len(a)}, a...), integers(d, []int{len(b)}, b...)}
}

// shifted returns two operands that pair every value with every shift of 0 to the number of bits of d, less one.
func shifted(d dtype.DType, values []int64) []ref.Tensor {
	var a, b []int64
	for _, x := range values {
		for k := range int64(8 * d.Size()) {
			a, b = append(a, x), append(b, k)
		}
	}
	return []ref.Tensor{integers(d, []int{len(a)}, a...), integers(d, []int{len(b)}, b...)}
}

func wordNodes() []wordNode {
	var nodes []wordNode
	for _, x := range []struct {
		d      dtype.DType
		values []int64
	}{{dtype.I64, borders}, {dtype.U8, edgeBytes}} {
		add := func(name string, c op.Code, in []ref.Tensor, attrs ...op.Attr) {
			nodes = append(nodes, wordNode{x.d.String() + "/" + name, c, in, attrs})
		}
		n := len(x.values)
		one := []ref.Tensor{integers(x.d, []int{n}, x.values...)}
		for _, c := range []op.Code{op.Add, op.Sub, op.Mul, op.Max, op.Min, op.Equal, op.Less, op.And, op.Or, op.Xor} {
			add(c.String(), c, everyPair(x.d, x.values, true))
		}
		for _, c := range []op.Code{op.Div, op.Rem} {
			add(c.String(), c, everyPair(x.d, x.values, false))
		}
		for _, c := range []op.Code{op.Shl, op.Shr} {
			add(c.String(), c, shifted(x.d, x.values))
		}
		for _, c := range []op.Code{op.Not, op.Copy} {
			add(c.String(), c, one)
		}
		for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin} {
			add(c.String(), c, one, op.Ints("axes", 0))
		}
		for _, c := range []op.Code{op.ArgMax, op.ArgMin, op.CumSum, op.CumMax, op.Sort} {
			add(c.String(), c, one, op.Int("axis", 0))
		}
		for _, to := range []dtype.DType{dtype.I64, dtype.I32, dtype.U8, dtype.F32, dtype.Bool} {
			if to != x.d {
				add("cast-"+to.String(), op.Cast, one, op.Type("dtype", to))
			}
		}
		cond := integers(dtype.Bool, []int{n}, make([]int64, n)...)
		for i := range cond.I {
			cond.I[i] = int64(i & 1)
		}
		flipped := one[0].Clone()
		for i := range n {
			flipped.I[i] = one[0].I[n-1-i]
		}
		add("where", op.Where, []ref.Tensor{cond, one[0], flipped})
		add("gather", op.Gather, []ref.Tensor{one[0], integers(dtype.I64, []int{4}, 0, int64(n-1), 3, 3)}, op.Int("axis", 0))
		add("odd-slice", op.Slice, one, op.Ints("start", 1), op.Ints("size", n-3), op.Ints("step", 1))
		add("concat", op.Concat, []ref.Tensor{one[0], flipped, one[0]}, op.Int("axis", 0))
		add("scatter", op.Scatter, []ref.Tensor{one[0], integers(dtype.I64, []int{3}, 5, 1, 2), integers(x.d, []int{3}, x.values[n-1], x.values[n-2], 1)},
			op.Int("axis", 0), op.Str("mode", "assign"))
	}
	return append(nodes, wordNode{"i64/neg", op.Neg, []ref.Tensor{integers(dtype.I64, []int{len(borders)}, borders...)}, nil},
		wordNode{"i64/abs", op.Abs, []ref.Tensor{integers(dtype.I64, []int{len(borders)}, borders...)}, nil})
}

// wideIndex checks that index i is out of range, although its low word may be in range.
func wideIndex(ctx context.Context, q *queue, i int64) error {
	ds, err := q.putAll(ctx, []ref.Tensor{numbers(1, 2, 3), integers(dtype.I64, []int{2}, 1, i)})
	if err != nil {
		return err
	}
	outs, err := q.do(op.Gather, ds, op.Int("axis", 0))
	if err != nil {
		return err
	}
	_, err = q.get(ctx, outs[0])
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return fmt.Errorf("index %d: %w", i, err)
	}
	return nil
}
