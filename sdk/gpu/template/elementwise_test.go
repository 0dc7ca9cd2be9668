package template_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// affine returns a body that computes 3·x plus the other operands, plus index·(axis+1) for each axis, in f32, and casts the sum to d.
func affine(d dtype.DType, rank int) template.Body {
	return func(b *ir.Builder, in []ir.Value, index func(int) ir.Value) []ir.Value {
		v := b.Mul(b.Cast(dtype.F32, in[0]), b.Float(dtype.F32, 3))
		for _, x := range in[1:] {
			v = b.Add(v, b.Cast(dtype.F32, x))
		}
		for axis := range rank {
			v = b.Add(v, b.Cast(dtype.F32, b.Mul(index(axis), b.Int(axis+1))))
		}
		return []ir.Value{b.Cast(d, v)}
	}
}

func affineOf(at []int, in ...tensor) float64 {
	v := 3 * in[0].get(at)
	for _, x := range in[1:] {
		v += x.get(at)
	}
	for axis, i := range at {
		v += float64(i * (axis + 1))
	}
	return v
}

// computeAffine runs affine on operands and compares the result.
func computeAffine(t *testing.T, target template.Target, dims []int, operands []tensor, y tensor) ir.Work {
	t.Helper()
	results := []tensor{y}
	in, out := numbered(operands, results)
	w := template.Elementwise(target, "affine", shape.Of(dims...), in, out, affine(y.operand.Type, len(dims)))
	execute(t, w, target, operands, results)
	equal(t, y, func(at []int) float64 { return affineOf(at, operands...) }, dims)
	return w
}

// TestElementwiseTypes loads and stores each type with accesses as wide as its offset allows, and with tails of several lengths.
func TestElementwiseTypes(t *testing.T) {
	r := random(1)
	for i, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.U64, dtype.I32, dtype.U32, dtype.I8, dtype.U8} {
		for k, n := range []int{1, 3, 8, 15, 33, 70} {
			x := dense(d, (i+k)%5, n).fill(r, 2)
			y := dense(dtype.F32, k%3, n)
			computeAffine(t, hopper(4), []int{n}, []tensor{x}, y)
		}
	}
	for _, d := range []dtype.DType{dtype.F64, dtype.F16, dtype.BF16, dtype.I64, dtype.I8, dtype.U8} { // results of each width
		x := dense(dtype.U32, 0, 19).fill(r, 2)
		computeAffine(t, hopper(4), []int{19}, []tensor{x}, dense(d, 1, 19))
		x = dense(dtype.U8, 1, 32).fill(r, 2)
		computeAffine(t, hopper(4), []int{32}, []tensor{x}, dense(d, 0, 32))
	}
}

// TestElementwiseViews: operands are broadcast, strided, reversed and permuted, alone and together.
func TestElementwiseViews(t *testing.T) {
	for seed := range uint64(60) {
		r := random(seed)
		dims := make([]int, r.IntN(5))
		for a := range dims {
			dims[a] = []int{1, 2, 3, 4, 5, 8, 9}[r.IntN(7)]
		}
		var fixed []int
		for a := range dims {
			if r.IntN(3) == 0 {
				fixed = append(fixed, a)
			}
		}
		operands := []tensor{strewn(r, dtype.F32, dims).fill(r, 9), strewn(r, dtype.I32, dims, fixed...).fill(r, 9), dense(dtype.U8, r.IntN(4), dims...).fill(r, 9)}
		y := dense(dtype.F32, r.IntN(5), dims...)
		if seed%3 == 0 {
			y = strewn(r, dtype.F32, dims)
		}
		target := hopper(4)
		if seed%4 == 1 {
			target.Grid = [3]int{2, 1, 1}
		}
		computeAffine(t, target, dims, operands, y)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestElementwiseAcrossRows: groups of neighbours run across the ends of rows whose length is no multiple of their number.
func TestElementwiseAcrossRows(t *testing.T) {
	r := random(2)
	for _, c := range []struct {
		dims  []int
		fixed [][]int // of each operand
	}{
		{[]int{7, 13}, [][]int{{0}}},
		{[]int{7, 13}, [][]int{{1}, {}}},
		{[]int{3, 5, 9}, [][]int{{1}, {0, 2}}},
		{[]int{2, 3, 4, 7}, [][]int{{0, 2}, {1, 3}, {}}},
		{[]int{5, 17}, [][]int{{0, 1}, {0}}},
	} {
		var operands []tensor
		for _, fixed := range c.fixed {
			x := newTensor(dtype.F32, c.dims, rowMajor)
			for _, a := range fixed {
				x.operand.View.Strides[a] = 0
			}
			operands = append(operands, x.fill(r, 9))
		}
		computeAffine(t, hopper(4), c.dims, operands, dense(dtype.F32, 0, c.dims...))
		computeAffine(t, hopper(4), c.dims, operands, dense(dtype.F32, 4, c.dims...))
		computeAffine(t, hopper(4), c.dims, operands, dense(dtype.F32, 1, c.dims...))
	}
}

// TestElementwiseAhead checks devices with many elements for each thread: a thread reads several groups before it computes, and loops if
// the grid is too small.
func TestElementwiseAhead(t *testing.T) {
	r := random(3)
	few := hopper(1)
	few.Blocks = 1
	short := few
	short.Grid = [3]int{3, 1, 1}
	for _, n := range []int{4 * 4 * 256, 4*4*256 + 5, 3*4*4*256 - 1, 9000} {
		for _, target := range []template.Target{few, short} {
			x := dense(dtype.F32, 0, n).fill(r, 9)
			w := computeAffine(t, target, []int{n}, []tensor{x}, dense(dtype.F32, 0, n))
			require.Len(t, w.Launches, 1)
		}
	}
}

// TestElementwiseTransposed checks that operands with a memory order transposed against the result pass through shared memory, in tiles
// with edges.
func TestElementwiseTransposed(t *testing.T) {
	r := random(4)
	for _, c := range []struct {
		d    dtype.DType
		dims []int
		perm []int // axes of the operand from the slowest on
		name string
	}{
		{dtype.F32, []int{33, 35}, []int{1, 0}, "affine_turned"},
		{dtype.F32, []int{16, 16}, []int{1, 0}, "affine_turned"},
		{dtype.F32, []int{15, 40}, []int{1, 0}, "affine"}, // too narrow for a tile
		{dtype.U8, []int{70, 65}, []int{1, 0}, "affine_turned"},
		{dtype.F64, []int{34, 17}, []int{1, 0}, "affine_turned"},
		{dtype.F16, []int{72, 80}, []int{1, 0}, "affine_turned"}, // 8 at a time
		{dtype.BF16, []int{2, 64, 72}, []int{0, 2, 1}, "affine_turned"},
		{dtype.F16, []int{66, 72}, []int{1, 0}, "affine_turned"},
		{dtype.F32, []int{3, 20, 18}, []int{0, 2, 1}, "affine_turned"},
		{dtype.F32, []int{18, 3, 20}, []int{2, 1, 0}, "affine_turned"},
		{dtype.F32, []int{2, 18, 3, 20}, []int{0, 3, 2, 1}, "affine_turned"},
		{dtype.F32, []int{17, 2, 19}, []int{1, 2, 0}, "affine_turned"},
	} {
		x := dense(c.d, 0, c.dims...)
		step := 1
		for i := len(c.perm) - 1; i >= 0; i-- {
			x.operand.View.Strides[c.perm[i]] = step
			step *= c.dims[c.perm[i]]
		}
		x.fill(r, 2)
		row := newTensor(dtype.F32, append([]int{1}, c.dims...)[1:], rowMajor)
		row.operand.View.Strides[0] = 0
		row.fill(r, 5)
		results := dense(dtype.F32, 0, c.dims...)
		w := computeAffine(t, hopper(4), c.dims, []tensor{x, row}, results)
		require.Equal(t, c.name, w.Launches[0].Kernel.Name, "%v", c.dims)
		computeAffine(t, hopper(4), c.dims, []tensor{x}, dense(c.d, 8, c.dims...))
		short := hopper(4)
		short.Grid[0] = 2
		computeAffine(t, short, c.dims, []tensor{x}, dense(c.d, 0, c.dims...))
	}
}

// TestElementwiseTransposedOffsets: transposed elements of 16 bits that do not begin at a group of 8 are read one at a time.
func TestElementwiseTransposedOffsets(t *testing.T) {
	dims := []int{64, 72}
	for _, offset := range []int{4, 7, 8} {
		x := dense(dtype.F16, offset, dims...)
		x.operand.View.Strides = []int{1, dims[0]}
		computeAffine(t, hopper(4), dims, []tensor{x.fill(random(8), 2)}, dense(dtype.F32, 0, dims...))
	}
}

// TestElementwiseNumbers checks that operands which are numbers have no memory, that a kernel can have several results of different
// types, and that a space without elements has no kernel.
func TestElementwiseNumbers(t *testing.T) {
	bits := uint64(math.Float32bits(2.5))
	for _, dims := range [][]int{{}, {1}, {13}, {3, 7}, {40, 36}} {
		r := random(5)
		x := dense(dtype.F32, 0, dims...)
		if len(dims) == 2 {
			x.operand.View.Strides = []int{1, dims[0]}
		}
		operands, results := []tensor{x.fill(r, 9)}, []tensor{dense(dtype.F32, 0, dims...), dense(dtype.I8, 3, dims...)}
		in, out := numbered(operands, results)
		half := template.Operand{Type: dtype.F32, View: shape.View{Shape: shape.Of(dims...), Strides: make([]int, len(dims))}, Number: &bits}
		w := template.Elementwise(hopper(4), "two", shape.Of(dims...), append([]template.Operand{half}, in...), out, func(b *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value {
			return []ir.Value{b.Mul(in[0], in[1]), b.Cast(dtype.I8, b.Cast(dtype.I32, b.Sub(in[1], in[0])))}
		})
		execute(t, w, hopper(4), operands, results)
		equal(t, results[0], func(at []int) float64 { return 2.5 * x.get(at) }, dims)
		equal(t, results[1], func(at []int) float64 { return math.Trunc(x.get(at) - 2.5) }, dims)
		require.NotContains(t, w.Launches[0].Kernel.String(), "buffer x0 ", "a number has no buffer")
	}
	// Nothing but numbers.
	results := []tensor{dense(dtype.F32, 1, 21)}
	half := template.Operand{Type: dtype.F32, View: shape.View{Shape: shape.Of(21), Strides: []int{0}}, Number: &bits}
	_, out := numbered(nil, results)
	w := template.Elementwise(hopper(4), "filled", shape.Of(21), []template.Operand{half}, out, func(_ *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value { return in })
	execute(t, w, hopper(4), nil, results)
	equal(t, results[0], func([]int) float64 { return 2.5 })
	for _, dims := range [][]int{{0}, {3, 0, 2}} {
		require.Empty(t, template.Elementwise(hopper(4), "none", shape.Of(dims...), nil, []template.Operand{dense(dtype.F32, 0, dims...).operand}, nil).Launches)
	}
}

// TestGenerate writes groups of neighbours: whole ones by one access where they are aligned, the last one element by element.
func TestGenerate(t *testing.T) {
	seed := uint64(40)
	for _, c := range []struct {
		d                dtype.DType
		n, width, offset int
	}{{d: dtype.U32, n: 40, width: 4}, {d: dtype.U32, n: 41, width: 4}, {d: dtype.U32, n: 3, width: 4}, {d: dtype.U32, n: 40, width: 4, offset: 2}, {d: dtype.F64, n: 9, width: 4}, {d: dtype.U8, n: 1030, width: 1},
		{d: dtype.F16, n: 17, width: 8}} {
		for _, most := range []int{1 << 20, 1} {
			target := hopper(4)
			target.Grid[0] = most
			y, x := dense(c.d, c.offset, c.n), dense(dtype.U32, 1, 1).fill(random(6), 9)
			operands, results := []tensor{x}, []tensor{y}
			in, out := numbered(operands, results)
			scalar := template.Operand{Type: dtype.U32, View: shape.Contiguous(shape.Of()), Number: &seed}
			w := template.Generate(target, "counted", c.width, out[0], in, []template.Operand{scalar}, func(b *ir.Builder, i ir.Value, scalars []ir.Value, reads []ir.Buf) []ir.Value {
				v := make([]ir.Value, c.width)
				for k := range v {
					place := b.Add(b.Mul(i, b.Int(c.width)), b.Int(k))
					sum := b.Add(b.Add(b.Cast(dtype.U32, place), scalars[0]), b.Load(reads[0], b.Int(0)))
					v[k] = b.Cast(c.d, b.Rem(sum, b.Const(dtype.U32, 100)))
				}
				return v
			})
			execute(t, w, target, operands, results)
			equal(t, y, func(at []int) float64 { return float64((at[0] + 40 + int(x.get([]int{0}))) % 100) }, fmt.Sprint(c))
		}
	}
	require.Empty(t, template.Generate(hopper(4), "none", 4, dense(dtype.F32, 0, 0).operand, nil, nil, nil).Launches)
}
