package template_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// totals reduces rows in one pass. The results are the sum of x·w and of remainders of the indices, plus side, and the greatest x.
type totals struct {
	rank      int
	side      ir.Value
	sum, most ir.Value
}

func (r *totals) Before(*ir.Builder, int) {}

func (r *totals) Lift(b *ir.Builder, _ int, e template.Element) (state, keep []ir.Value) {
	x := b.Cast(dtype.F32, e.In[0])
	v := b.Mul(x, b.Cast(dtype.F32, e.In[1]))
	for axis := range r.rank {
		v = b.Add(v, b.Cast(dtype.F32, b.Rem(e.Index(axis), b.Int(5+axis)))) // sums stay exact
	}
	return []ir.Value{v, x}, nil
}

func (r *totals) Done(_ *ir.Builder, _ int, state []ir.Value) { r.sum, r.most = state[0], state[1] }

func (r *totals) Final(*ir.Builder, template.Element) []ir.Value { return nil }

func (r *totals) Finish(b *ir.Builder) []ir.Value {
	return []ir.Value{b.Add(r.sum, r.side), b.Cast(dtype.I32, b.Max(r.most, b.Float(dtype.F32, -1000)))}
}

func totalsPass() template.Pass {
	return template.Pass{
		Reads: []int{0, 1}, All: []int{0, 1}, State: []dtype.DType{dtype.F32, dtype.F32},
		Zero: func(b *ir.Builder) []ir.Value {
			return []ir.Value{b.Float(dtype.F32, 0), b.Float(dtype.F32, math.Inf(-1))}
		},
		Join: func(b *ir.Builder, x, y []ir.Value) []ir.Value {
			return []ir.Value{b.Add(x[0], y[0]), b.Max(x[1], y[1])}
		},
	}
}

// reduceCase is a reduction of a space along some axes.
type reduceCase struct {
	dims, axes []int
	layout     func(x *tensor)
	target     func(t *template.Target)
	kernels    string // names of the kernels
}

// broadcastAlong returns a tensor, whose dimensions are 1 along axes, as a view of the space of shape dims.
func broadcastAlong(x tensor, dims, axes []int) tensor {
	x.operand.View = shape.View{Shape: shape.Of(dims...), Strides: slices.Clone(x.operand.View.Strides), Offset: x.operand.View.Offset}
	for _, a := range axes {
		x.operand.View.Strides[a] = 0
	}
	return x
}

func testReduce(t *testing.T, c reduceCase) {
	t.Helper()
	r := random(uint64(len(c.dims)))
	target := hopper(4)
	if c.target != nil {
		c.target(&target)
	}
	kept := slices.Clone(c.dims)
	for _, a := range c.axes {
		kept[a] = 1
	}
	x, w, side := dense(dtype.F32, 0, c.dims...), dense(dtype.I8, 0, c.dims...), broadcastAlong(dense(dtype.F32, 3, kept...), c.dims, c.axes)
	if c.layout != nil {
		c.layout(&x)
	}
	operands := []tensor{x.fill(r, 4), w.fill(r, 2), side.fill(r, 9)}
	sums, most := dense(dtype.F32, 1, kept...), dense(dtype.I32, 0, kept...)
	whole := []tensor{broadcastAlong(sums, c.dims, c.axes), broadcastAlong(most, c.dims, c.axes)}
	in, once := numbered(operands, whole)
	rows := &template.Rows{Name: "totals", Space: shape.Of(c.dims...), Axes: c.axes, In: in[:2], Side: in[2:], Once: once, Passes: []template.Pass{totalsPass()},
		Begin: func(_ *ir.Builder, side []ir.Value) template.Row {
			return &totals{rank: len(c.dims), side: side[0]}
		}}
	work := template.Reduce(target, rows)
	execute(t, work, target, operands, []tensor{sums, most})
	var names []string
	for _, l := range work.Launches {
		names = append(names, l.Kernel.Name)
	}
	if c.kernels != "" {
		require.Equal(t, c.kernels, strings.Join(names, " "), "%v along %v", c.dims, c.axes)
	}
	wantSum, wantMost := map[string]float64{}, map[string]float64{}
	row := func(at []int) string {
		at = slices.Clone(at)
		for _, a := range c.axes {
			at[a] = 0
		}
		return fmt.Sprint(at)
	}
	each(c.dims, func(at []int) {
		k := row(at)
		v := x.get(at) * w.get(at)
		for axis, i := range at {
			v += float64(i % (5 + axis))
		}
		if _, ok := wantMost[k]; !ok {
			wantMost[k] = math.Inf(-1)
		}
		wantSum[k], wantMost[k] = wantSum[k]+v, math.Max(wantMost[k], x.get(at))
	})
	equal(t, sums, func(at []int) float64 { return wantSum[fmt.Sprint(at)] + side.get(at) }, c.dims, c.axes)
	equal(t, most, func(at []int) float64 {
		if v, ok := wantMost[fmt.Sprint(at)]; ok {
			return v
		}
		return -1000 // a row without elements
	}, c.dims, c.axes)
}

func colMajorly(x *tensor) {
	step := 1
	for a := range x.operand.View.Shape {
		x.operand.View.Strides[a] = step
		step *= x.operand.View.Shape[a]
	}
}

// TestReduce joins rows by lanes, subgroups, blocks and several blocks, along memory and across it.
func TestReduce(t *testing.T) {
	one := func(t *template.Target) { t.Units, t.Blocks = 1, 1 }
	short := func(t *template.Target) { t.Grid[0], t.Units = 2, 1 }
	lonely := func(t *template.Target) { t.Subgroup = 1 }
	for _, c := range []reduceCase{
		{dims: []int{5}, axes: []int{0}, kernels: "totals"},
		{dims: []int{1}, axes: []int{0}},
		{dims: []int{9, 1}, axes: []int{1}},
		{dims: []int{9, 3}, axes: []int{1}, kernels: "totals"},
		{dims: []int{9, 40}, axes: []int{1}, kernels: "totals"},
		{dims: []int{3, 500}, axes: []int{1}, kernels: "totals"},
		{dims: []int{3, 503}, axes: []int{1}, kernels: "totals"},
		{dims: []int{2, 3000}, axes: []int{1}, kernels: "totals"},
		{dims: []int{5, 40}, axes: []int{1}, target: short},
		{dims: []int{5, 1100}, axes: []int{1}, target: short},
		{dims: []int{2, 8300}, axes: []int{1}, kernels: "totals_part totals_join"},
		{dims: []int{8301}, axes: []int{0}, kernels: "totals_part totals_join"},
		{dims: []int{8301}, axes: []int{0}, target: one, kernels: "totals_part totals_join"},
		{dims: []int{3, 8200}, axes: []int{1}, target: func(t *template.Target) { t.Grid[0] = 2 }, kernels: "totals_part totals_join"},
		{dims: []int{40, 9}, axes: []int{0}, kernels: "totals"},
		{dims: []int{3, 130}, axes: []int{0}, kernels: "totals"},
		{dims: []int{3, 1100}, axes: []int{0}, target: one, kernels: "totals"},
		{dims: []int{700, 6}, axes: []int{0}, kernels: "totals"},
		{dims: []int{2100, 7}, axes: []int{0}, kernels: "totals_part totals_join"},
		{dims: []int{2200, 32}, axes: []int{0}, kernels: "totals_part totals_join"},
		{dims: []int{4200, 3}, axes: []int{0}, target: func(t *template.Target) { t.Grid[0] = 2 }, kernels: "totals_part totals_join"},
		{dims: []int{3, 4, 5}, axes: []int{1}},
		{dims: []int{3, 4, 5}, axes: []int{0, 2}},
		{dims: []int{3, 4, 5}, axes: []int{0, 1, 2}},
		{dims: []int{3, 4, 5}, axes: nil},
		{dims: []int{4, 1, 9, 3}, axes: []int{2, 0}},
		{dims: []int{13, 33}, axes: []int{1}, layout: colMajorly},
		{dims: []int{13, 33}, axes: []int{0}, layout: colMajorly},
		{dims: []int{3, 8, 12}, axes: []int{2}, layout: func(x *tensor) { x.operand.View.Strides = []int{0, 1, 8} }},
		{dims: []int{6, 16}, axes: []int{1}, layout: func(x *tensor) { x.operand.View.Strides, x.operand.View.Offset = []int{-16, 1}, 80 }},
		{dims: []int{6, 16}, axes: []int{1}, layout: func(x *tensor) { x.operand.View.Strides, x.operand.View.Offset = []int{16, -1}, 15 }},
		{dims: []int{7, 50}, axes: []int{1}, target: lonely},
		{dims: []int{0, 4}, axes: []int{0}, kernels: "totals"},
		{dims: []int{3, 0, 2}, axes: []int{1}, kernels: "totals"},
		{dims: []int{4, 0}, axes: []int{0}, kernels: ""},
	} {
		testReduce(t, c)
	}
}

// centred reduces rows in two passes: the greatest element of a row, and the sum of the distances from it. Its results are, for each
// element, the distance times the sum plus an index and v·side, and for each row the sum.
type centred struct {
	axis      int
	side      ir.Value
	most, sum ir.Value
}

func (r *centred) Before(*ir.Builder, int) {}

func (r *centred) distance(b *ir.Builder, e template.Element) ir.Value {
	if e.Kept != nil {
		return e.Kept[0]
	}
	return b.Sub(r.most, b.Cast(dtype.F32, e.In[0]))
}

func (r *centred) Lift(b *ir.Builder, pass int, e template.Element) (state, keep []ir.Value) {
	if pass == 0 {
		return []ir.Value{b.Cast(dtype.F32, e.In[0])}, nil
	}
	d := r.distance(b, template.Element{In: e.In})
	return []ir.Value{d}, []ir.Value{d}
}

func (r *centred) Done(_ *ir.Builder, pass int, state []ir.Value) {
	if pass == 0 {
		r.most = state[0]
	} else {
		r.sum = state[0]
	}
}

func (r *centred) Final(b *ir.Builder, e template.Element) []ir.Value {
	return []ir.Value{b.Add(b.Mul(r.distance(b, e), r.sum), b.Add(b.Cast(dtype.F32, e.Index(r.axis)), b.Mul(e.In[1], r.side)))}
}

func (r *centred) Finish(*ir.Builder) []ir.Value { return []ir.Value{r.sum} }

// TestReducePasses checks rows of several lengths, whose elements stay in registers from pass to pass or are read again.
func TestReducePasses(t *testing.T) {
	join := func(o ir.Op) func(b *ir.Builder, x, y []ir.Value) []ir.Value {
		return func(b *ir.Builder, x, y []ir.Value) []ir.Value { return []ir.Value{b.Binary(o, x[0], y[0])} }
	}
	zero := func(f float64) func(b *ir.Builder) []ir.Value {
		return func(b *ir.Builder) []ir.Value { return []ir.Value{b.Float(dtype.F32, f)} }
	}
	short := func(t *template.Target) { t.Grid[0] = 2 }
	for _, c := range []reduceCase{
		{dims: []int{1, 1}, axes: []int{1}}, {dims: []int{5, 3}, axes: []int{1}}, {dims: []int{3, 33}, axes: []int{1}}, {dims: []int{3, 256}, axes: []int{1}},
		{dims: []int{2, 1027}, axes: []int{1}}, {dims: []int{3, 1500}, axes: []int{1}, target: short}, {dims: []int{9, 31}, axes: []int{1}, target: short}, {dims: []int{2, 17000}, axes: []int{1}},
		{dims: []int{1, 5000}, axes: []int{1}, target: func(t *template.Target) { t.Threads = 64 }}, {dims: []int{20, 6}, axes: []int{0}}, {dims: []int{4, 3, 5}, axes: []int{0, 2}},
		{dims: []int{12, 8}, axes: []int{1}, layout: colMajorly}, {dims: []int{0, 8}, axes: []int{1}}, {dims: []int{4, 64}, axes: []int{1}, target: func(t *template.Target) { t.Subgroup = 1 }},
	} {
		r := random(7)
		target := hopper(4)
		if c.target != nil {
			c.target(&target)
		}
		kept := slices.Clone(c.dims)
		for _, a := range c.axes {
			kept[a] = 1
		}
		x, v, side := dense(dtype.I8, 0, c.dims...), dense(dtype.F32, 2, c.dims...), broadcastAlong(dense(dtype.F32, 0, kept...), c.dims, c.axes)
		if c.layout != nil {
			c.layout(&x)
		}
		operands := []tensor{x.fill(r, 4), v.fill(r, 4), side.fill(r, 4)}
		y, sums := dense(dtype.F32, 0, c.dims...), dense(dtype.F32, 1, kept...)
		results := []tensor{y, broadcastAlong(sums, c.dims, c.axes)}
		in, out := numbered(operands, results)
		axis := c.axes[0]
		w := template.Reduce(target, &template.Rows{Name: "centred", Space: shape.Of(c.dims...), Axes: c.axes, In: in[:2], Side: in[2:],
			Passes: []template.Pass{
				{Reads: []int{0}, All: []int{0}, State: []dtype.DType{dtype.F32}, Zero: zero(math.Inf(-1)), Join: join(ir.Max)},
				{Reads: []int{0}, All: []int{0}, State: []dtype.DType{dtype.F32}, Zero: zero(0), Join: join(ir.Add)},
			},
			Keep: []dtype.DType{dtype.F32}, From: []int{1}, Out: out[:1], Once: out[1:], Reads: []int{1}, All: []int{0, 1},
			Begin: func(_ *ir.Builder, side []ir.Value) template.Row { return &centred{axis: axis, side: side[0]} }})
		execute(t, w, target, operands, []tensor{y, sums})
		most, sum := map[string]float64{}, map[string]float64{}
		row := func(at []int) string {
			at = slices.Clone(at)
			for _, a := range c.axes {
				at[a] = 0
			}
			return fmt.Sprint(at)
		}
		each(c.dims, func(at []int) {
			k := row(at)
			if m, ok := most[k]; !ok || x.get(at) > m {
				most[k] = x.get(at)
			}
		})
		each(c.dims, func(at []int) { sum[row(at)] += most[row(at)] - x.get(at) })
		equal(t, y, func(at []int) float64 {
			return (most[row(at)]-x.get(at))*sum[row(at)] + float64(at[axis]) + v.get(at)*side.get(at)
		}, c.dims, c.axes)
		equal(t, sums, func(at []int) float64 { return sum[fmt.Sprint(at)] }, c.dims, c.axes)
	}
}

// TestFits checks that a kernel with a result for each element suits rows that fit into registers, and longer rows if there are enough of
// them.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		dims, axes []int
		want       bool
	}{
		{[]int{1, 16 << 10}, []int{1}, true}, {[]int{1, 16<<10 + 1}, []int{1}, false}, {[]int{8, 16<<10 + 1}, []int{1}, true}, {[]int{7, 16<<10 + 1}, []int{1}, false},
		{[]int{0, 4}, []int{1}, false}, {[]int{4, 0}, []int{1}, false}, {[]int{128, 129}, []int{0, 1}, false}, {[]int{128, 128}, []int{0, 1}, true},
	} {
		require.Equal(t, c.want, template.Fits(hopper(4), shape.Of(c.dims...), c.axes), "%v along %v", c.dims, c.axes)
	}
}
