package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// plainType returns the type of an operand in tests of traits: f32 if the operand accepts it.
func plainType(o op.Operand) dtype.DType {
	if o.Types.Has(dtype.F32) {
		return dtype.F32
	}
	return o.Types.List()[0]
}

// plain returns a node of c with default attributes, except the type of a result, and random operands of the given shapes.
// It returns false if the op needs more attributes or refuses such operands.
func plain(r *rand.Rand, c op.Code, shapes []shape.Shape, attrs ...op.Attr) (op.Node, []ref.Tensor, bool) {
	row := op.Lookup(c)
	var in []ref.Tensor
	var descs []op.Desc
	for k, o := range row.Operands {
		d := op.Desc{DType: plainType(o), Shape: shapes[k%len(shapes)]}
		if o.SameAs > 0 {
			d.DType = descs[o.SameAs-1].DType
		}
		descs = append(descs, d)
	}
	for _, a := range row.Attrs {
		if a.Kind == op.KindDType && a.Default.Kind() == 0 {
			attrs = append(attrs, op.Type(a.Name, dtype.I32))
		}
	}
	n, err := op.New(c, descs, attrs...)
	if err != nil || len(descs) == 0 {
		return n, nil, false
	}
	for k, d := range descs {
		in = append(in, random(r, c, k, d))
	}
	return n, in, true
}

// part returns the elements of x, broadcast to whole, in the block of the given shape at index at, as a tensor.
func part(x ref.Tensor, whole, at, block shape.Shape) ref.Tensor {
	y := ref.Zeros(op.Desc{DType: x.Desc.DType, Shape: block})
	lead := len(whole) - len(x.Desc.Shape)
	for i := range block.Size() {
		pos, rest := 0, i
		place := slices.Clone(at)
		for d := len(block) - 1; d >= 0; d-- {
			place[d] += rest % block[d]
			rest /= block[d]
		}
		for d, n := range x.Desc.Shape {
			pos = pos*n + min(place[lead+d], n-1)
		}
		if x.F != nil {
			y.F[i] = x.F[pos]
		} else {
			y.I[i] = x.I[pos]
		}
	}
	return y
}

// sameElement reports whether element i of a equals element 0 of b to the bit, or both are NaN.
func sameElement(a ref.Tensor, i int, b ref.Tensor) bool {
	if a.F == nil {
		return a.I[i] == b.I[0]
	}
	x, y := a.F[i], b.F[0]
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// piecewise reports whether n, evaluated on each block of its operands separately, returns the elements of the whole result in order. ok is
// false if n has no such blocks: an evaluation fails or the result has another shape.
func piecewise(n *op.Node, in []ref.Tensor, whole, block shape.Shape, result shape.Shape) (same, ok bool) {
	outs, err := ref.Eval(n, in)
	if err != nil || len(outs) != 1 || !outs[0].Desc.Shape.Equal(result) {
		return false, false
	}
	i := 0
	for row := 0; row < whole[0]; row += block[0] {
		for col := 0; col < whole[1]; col += block[1] {
			var parts []ref.Tensor
			var descs []op.Desc
			for _, x := range in {
				p := part(x, whole, shape.Of(row, col), block)
				parts, descs = append(parts, p), append(descs, p.Desc)
			}
			m, err := op.New(n.Op, descs, n.Attrs...)
			if err != nil {
				return false, false
			}
			one, err := ref.Eval(&m, parts)
			if err != nil || one[0].Desc.Shape.Size() != 1 {
				return false, false
			}
			if !sameElement(outs[0], i, one[0]) {
				return false, true
			}
			i++
		}
	}
	return true, true
}

// An op has the trait Elementwise if and only if its result for each element alone equals the element of its result for the whole
// operands.
func TestElementwise(t *testing.T) {
	whole := shape.Of(3, 4)
	for _, c := range builtin() {
		marked := op.Lookup(c).Traits.Has(op.Elementwise)
		n, in, ok := plain(rand.New(rand.NewPCG(3, uint64(c))), c, []shape.Shape{whole, shape.Of(4), whole})
		if ok {
			var same bool
			if same, ok = piecewise(&n, in, whole, shape.Of(1, 1), whole); ok {
				require.Equal(t, same, marked, "%v", c)
			}
		}
		require.True(t, ok || !marked, "%v is marked and does not broadcast", c)
	}
}

// An op has the trait Reduces if and only if its result for each line alone equals its result for that line in the whole operand.
func TestReduces(t *testing.T) {
	whole := shape.Of(3, 4)
	for _, c := range builtin() {
		row := op.Lookup(c)
		marked := row.Traits.Has(op.Reduces)
		var along op.Attr
		for _, a := range row.Attrs {
			switch {
			case a.Name == "axis":
				along = op.Int("axis", 1)
			case a.Name == "axes" && a.Kind == op.KindInts:
				along = op.Ints("axes", 1)
			}
		}
		if along.Name == "" || len(row.Operands) != 1 {
			require.False(t, marked, "%v is marked and has no axes", c)
			continue
		}
		for _, keep := range []bool{false, true} {
			attrs, result := []op.Attr{along}, shape.Of(3)
			if keep {
				attrs, result = append(attrs, op.Flag("keep_dims", true)), shape.Of(3, 1)
			}
			n, in, ok := plain(rand.New(rand.NewPCG(4, uint64(c))), c, []shape.Shape{whole}, attrs...)
			if ok {
				var same bool
				if same, ok = piecewise(&n, in, whole, shape.Of(1, 4), result); ok {
					require.Equal(t, same, marked, "%v", c)
				}
			}
			require.True(t, ok || !marked, "%v is marked and does not reduce axis 1, keep_dims %v", c, keep)
		}
	}
}

// dearParts maps each cheap composite that decomposes into an op that is not cheap to the reason why it is cheap all the same.
var dearParts = map[op.Code]string{
	op.LocalResponseNorm: "a window is a few channels",
}

// A cheap composite decomposes into cheap ops, except for those in dearParts.
func TestCheap(t *testing.T) {
	tested := map[op.Code]bool{}
	for _, s := range allSamples() {
		if !op.Lookup(s.op).Traits.Has(op.Cheap) {
			continue
		}
		d := dtype.F32
		if len(s.in) > 0 {
			d = plainType(op.Lookup(s.op).Operands[0])
		}
		s, ok := s.retyped(d)
		if !ok {
			continue
		}
		tested[s.op] = true
		last := op.TensorID(0)
		next := func() op.TensorID { last++; return last }
		in := slices.Clone(s.in)
		for k := range in {
			in[k].ID = next()
		}
		n, err := op.New(s.op, in, s.attrs...)
		require.NoError(t, err, "%v", s.op)
		for k := range n.Outputs {
			n.Outputs[k].ID = next()
		}
		nodes, _, err := op.Decompose(&n, in, next)
		require.NoError(t, err)
		var dear []string
		for _, m := range nodes {
			if !op.Lookup(m.Op).Traits.Has(op.Cheap) {
				dear = append(dear, m.Op.String())
			}
		}
		if dearParts[s.op] != "" {
			require.NotEmpty(t, dear, "%v decomposes into cheap ops only: remove it from dearParts", s.op)
		} else {
			if len(dear) > 0 {
				t.Errorf("%v is cheap and decomposes into ops that are not: %v", s.op, dear)
			}
		}
	}
	for _, c := range builtin() {
		if row := op.Lookup(c); row.Class == op.Composite && row.Traits.Has(op.Cheap) {
			require.True(t, tested[c], "no sample of %v", c)
		}
	}
	for c := range dearParts {
		require.True(t, op.Lookup(c).Traits.Has(op.Cheap), "%v is not cheap", c)
	}
}

// An op has the trait Quantized if and only if it has a zero point among its operands or results.
func TestQuantized(t *testing.T) {
	for _, c := range builtin() {
		row := op.Lookup(c)
		names := slices.Clone(row.Results)
		for _, o := range row.Operands {
			names = append(names, o.Name)
		}
		zero := slices.ContainsFunc(names, func(s string) bool { return strings.Contains(s, "zero") })
		require.Equal(t, zero, row.Traits.Has(op.Quantized), "%v", c)
	}
}
