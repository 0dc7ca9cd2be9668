package template_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/template"
)

// indicesOf returns random indices of shape [batch, count] below n. If bad is not 0, one index of the last batch is bad.
func indicesOf(d dtype.DType, seed uint64, batch, count, n int, bad float64) tensor {
	x := dense(d, 1, batch, count)
	r := random(seed)
	each(dimsOf(x), func(at []int) { x.set(at, float64(r.IntN(max(n, 1)))) })
	if bad != 0 {
		x.set([]int{batch - 1, count / 2}, bad)
	}
	return x
}

// TestGather copies the elements that indices name, by units as wide as rows and offsets allow.
func TestGather(t *testing.T) {
	for i, g := range []template.Indexing{
		{Batch: 1, Outer: 1, Axis: 7, Inner: 1, Count: 5}, {Batch: 2, Outer: 3, Axis: 4, Inner: 8, Count: 3}, {Batch: 3, Outer: 1, Axis: 5, Inner: 3, Count: 9},
		{Batch: 1, Outer: 2, Axis: 300, Inner: 2, Count: 1}, {Batch: 2, Outer: 2, Axis: 1, Inner: 5, Count: 4}, {Batch: 2, Outer: 2, Axis: 3, Inner: 4, Count: 2, Line: 16},
		{Batch: 1, Outer: 3, Axis: 3, Inner: 3, Count: 2, Line: 11}, {Batch: 1, Outer: 300, Axis: 2, Inner: 1, Count: 2},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.U8, dtype.F16, dtype.I64} {
			for _, padding := range []int{-1, g.Axis - 1} {
				line := max(g.Line, g.Axis*g.Inner)
				x := dense(d, (i+k)%3, g.Batch, g.Outer, g.Axis, g.Inner)
				x.operand.View.Strides = []int{g.Outer * line, line, g.Inner, 1}
				x.bytes = make([]byte, wholeWords((g.Batch*g.Outer*line+8)*d.Size()))
				x.fill(random(uint64(i)), 9)
				indices := indicesOf([]dtype.DType{dtype.I64, dtype.I32}[k%2], uint64(i), g.Batch, g.Count, g.Axis, 0)
				y := dense(d, k, g.Batch, g.Outer, g.Count, g.Inner)
				w := template.Gather(hopper(4), g, padding, x.operand, indices.operand, y.operand)
				require.False(t, execute(t, w, hopper(4), []tensor{x, indices}, []tensor{y}))
				equal(t, y, func(at []int) float64 {
					at = slices.Clone(at)
					index := int(indices.get([]int{at[0], at[2]}))
					if at[2] = index; index == padding {
						return 0
					}
					return x.get(at)
				}, g, padding)
			}
		}
	}
}

// TestGatherFaults checks that an index outside of the axis sets the fault, and that no memory is accessed by it.
func TestGatherFaults(t *testing.T) {
	g := template.Indexing{Batch: 2, Outer: 2, Axis: 5, Inner: 3, Count: 4}
	for _, bad := range []float64{-1, 5, 1e9, -1e9} {
		x, indices := dense(dtype.F32, 0, 2, 2, 5, 3).fill(random(1), 9), indicesOf(dtype.I64, 1, 2, 4, 5, bad)
		y := dense(dtype.F32, 0, 2, 2, 4, 3)
		require.True(t, execute(t, template.Gather(hopper(4), g, -1, x.operand, indices.operand, y.operand), hopper(4), []tensor{x, indices}, []tensor{y}), "index %v", bad)

		updates, z := dense(dtype.F32, 0, 2, 2, 4, 3).fill(random(2), 9), dense(dtype.F32, 0, 2, 2, 5, 3)
		for name, w := range map[string]func() bool{
			"assign": func() bool {
				return execute(t, template.Assign(hopper(4), g, x.operand, indices.operand, updates.operand, z.operand), hopper(4), []tensor{x, indices, updates}, []tensor{z})
			},
			"scatter": func() bool {
				return execute(t, template.Scatter(hopper(4), g, template.JoinAdd, x.operand, indices.operand, updates.operand, z.operand), hopper(4), []tensor{x, indices, updates}, []tensor{z})
			},
		} {
			require.True(t, w(), "%s with index %v", name, bad)
		}
	}
	// Every index into an axis without elements is out of range; without indices there is no fault.
	for count, want := range map[int]bool{0: false, 3: true} {
		g := template.Indexing{Batch: 1, Outer: 2, Axis: 0, Inner: 3, Count: count}
		x, indices, updates := dense(dtype.F32, 0, 1, 2, 0, 3), dense(dtype.I64, 0, 1, count), dense(dtype.F32, 0, 1, 2, count, 3)
		y, none := dense(dtype.F32, 0, 1, 2, count, 3), dense(dtype.F32, 0, 1, 2, 0, 3)
		require.Equal(t, want, execute(t, template.Gather(hopper(4), g, -1, x.operand, indices.operand, y.operand), hopper(4), []tensor{x, indices}, []tensor{y}))
		for _, w := range []bool{
			execute(t, template.Assign(hopper(4), g, x.operand, indices.operand, updates.operand, none.operand), hopper(4), []tensor{x, indices, updates}, []tensor{none}),
			execute(t, template.Scatter(hopper(4), g, template.JoinAdd, x.operand, indices.operand, updates.operand, none.operand), hopper(4), []tensor{x, indices, updates}, []tensor{none}),
		} {
			require.Equal(t, want, w)
		}
		z, one := dense(dtype.F32, 0, count, 2), dense(dtype.I64, 0, count, 2)
		require.Equal(t, want, execute(t, template.GatherElements(hopper(4), []int{0, 2}, []int{count, 2}, 0, dense(dtype.F32, 0, 0, 2).operand, one.operand, z.operand), hopper(4),
			[]tensor{dense(dtype.F32, 0, 0, 2), one}, []tensor{z}))
	}
}

// TestGatherElements reads each element from the position that its own index names. The other axes of x may be longer than those of the
// indices.
func TestGatherElements(t *testing.T) {
	for i, c := range []struct {
		whole, dims []int
		axis        int
	}{{[]int{6}, []int{9}, 0}, {[]int{4, 5}, []int{7, 3}, 0}, {[]int{4, 5}, []int{3, 9}, 1}, {[]int{3, 4, 5}, []int{2, 6, 5}, 1}, {[]int{300, 2}, []int{280, 2}, 1}} {
		for k, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.BF16, dtype.I8} {
			x, indices, y := dense(d, k, c.whole...).fill(random(3), 9), dense([]dtype.DType{dtype.I32, dtype.I64}[i%2], 0, c.dims...), dense(d, i%2, c.dims...)
			r := random(uint64(i))
			each(c.dims, func(at []int) { indices.set(at, float64(r.IntN(c.whole[c.axis]))) })
			w := template.GatherElements(hopper(4), c.whole, c.dims, c.axis, x.operand, indices.operand, y.operand)
			require.False(t, execute(t, w, hopper(4), []tensor{x, indices}, []tensor{y}))
			equal(t, y, func(at []int) float64 {
				from := slices.Clone(at)
				from[c.axis] = int(indices.get(at))
				return x.get(from)
			}, c)
			last := make([]int, len(c.dims))
			indices.set(last, float64(c.whole[c.axis]))
			require.True(t, execute(t, w, hopper(4), []tensor{x, indices}, []tensor{y}))
		}
	}
}

// TestAssign checks that the last of equal indices wins, in any order of threads.
func TestAssign(t *testing.T) {
	for i, g := range []template.Indexing{
		{Batch: 1, Outer: 1, Axis: 9, Inner: 1, Count: 4}, {Batch: 2, Outer: 3, Axis: 4, Inner: 4, Count: 6}, {Batch: 2, Outer: 1, Axis: 3, Inner: 5, Count: 0},
		{Batch: 1, Outer: 2, Axis: 5, Inner: 8, Count: 300}, {Batch: 3, Outer: 0, Axis: 5, Inner: 2, Count: 2}, {Batch: 0, Outer: 2, Axis: 5, Inner: 2, Count: 2},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.U8, dtype.F16, dtype.F64} {
			x, updates := dense(d, i%2, g.Batch, g.Outer, g.Axis, g.Inner).fill(random(4), 9), dense(d, k%3, g.Batch, g.Outer, g.Count, g.Inner).fill(random(5), 9)
			indices, y := indicesOf(dtype.I64, uint64(k), g.Batch, g.Count, g.Axis, 0), dense(d, k%2, g.Batch, g.Outer, g.Axis, g.Inner)
			w := template.Assign(hopper(4), g, x.operand, indices.operand, updates.operand, y.operand)
			require.False(t, execute(t, w, hopper(4), []tensor{x, indices, updates}, []tensor{y}))
			equal(t, y, func(at []int) float64 {
				v := x.get(at)
				for c := range g.Count {
					if int(indices.get([]int{at[0], c})) == at[2] {
						v = updates.get([]int{at[0], at[1], c, at[3]})
					}
				}
				return v
			}, g)
		}
	}
}

// TestScatter combines updates in their order, by the three methods: each element alone, atomics, and sorting.
func TestScatter(t *testing.T) {
	for i, g := range []template.Indexing{
		{Batch: 1, Outer: 1, Axis: 9, Inner: 1, Count: 4}, {Batch: 2, Outer: 2, Axis: 4, Inner: 3, Count: 16}, {Batch: 2, Outer: 2, Axis: 4, Inner: 3, Count: 17}, {Batch: 1, Outer: 2, Axis: 3, Inner: 2, Count: 0},
		{Batch: 1, Outer: 1, Axis: 1, Inner: 2, Count: 20}, {Batch: 0, Outer: 1, Axis: 2, Inner: 2, Count: 20},
	} {
		for k, d := range []dtype.DType{dtype.F32, dtype.I32, dtype.U32, dtype.I8, dtype.U8, dtype.F16, dtype.I64, dtype.F64} {
			for _, how := range []template.Join{template.JoinAdd, template.JoinMul, template.JoinMax, template.JoinMin} {
				if g.Count > 16 && (int(how)+k+i)%4 > 1 {
					continue
				}
				target := hopper(4)
				if k%2 == 1 {
					target.Atomics = dtype.SetOf(dtype.I32, dtype.U32)
				}
				x, updates := dense(d, i%2, g.Batch, g.Outer, g.Axis, g.Inner).fill(random(4), 5), dense(d, k%3, g.Batch, g.Outer, g.Count, g.Inner)
				r := random(uint64(k))
				each(dimsOf(updates), func(at []int) {
					v := r.IntN(5)
					if how == template.JoinMul {
						v = min(max(v, 1), 2) * (1 - at[2]%2) // products stay small
						v = max(v, 1)
					}
					updates.set(at, float64(v))
				})
				if d.IsFloat() && how >= template.JoinMax && g.Count > 1 && g.Batch > 0 {
					updates.set([]int{0, 0, 1, 0}, math.NaN())
				}
				indices, y := indicesOf(dtype.I32, uint64(k), g.Batch, g.Count, g.Axis, 0), dense(d, k%2, g.Batch, g.Outer, g.Axis, g.Inner)
				w := template.Scatter(target, g, how, x.operand, indices.operand, updates.operand, y.operand)
				require.False(t, execute(t, w, target, []tensor{x, indices, updates}, []tensor{y}))
				join := map[template.Join]func(a, b float64) float64{template.JoinAdd: func(a, b float64) float64 { return a + b }, template.JoinMul: func(a, b float64) float64 { return a * b },
					template.JoinMax: extreme(template.JoinMax), template.JoinMin: extreme(template.JoinMin)}[how]
				equal(t, y, func(at []int) float64 {
					v := x.get(at)
					for c := range g.Count {
						if int(indices.get([]int{at[0], c})) == at[2] {
							one := dense(d, 0)
							one.set(nil, join(v, updates.get([]int{at[0], at[1], c, at[3]})))
							v = one.get(nil) // integers wrap around
						}
					}
					return v
				}, d, how, g)
			}
		}
	}
}

// TestScatterLong sorts more indices than a block can, by all bits that positions have.
func TestScatterLong(t *testing.T) {
	target := hopper(2)
	target.Shared = 6 << 10
	g := template.Indexing{Batch: 2, Outer: 1, Axis: 257, Inner: 1, Count: 600}
	x, updates := dense(dtype.F32, 0, 2, 1, 257, 1).fill(random(1), 9), dense(dtype.F32, 0, 2, 1, 600, 1).fill(random(2), 9)
	indices, y := indicesOf(dtype.I64, 3, 2, 600, 257, 256), dense(dtype.F32, 0, 2, 1, 257, 1)
	w := template.Scatter(target, g, template.JoinAdd, x.operand, indices.operand, updates.operand, y.operand)
	require.Equal(t, "radix_count", w.Launches[1].Kernel.Name)
	require.False(t, execute(t, w, target, []tensor{x, indices, updates}, []tensor{y}))
	equal(t, y, func(at []int) float64 {
		v := x.get(at)
		for c := range g.Count {
			if int(indices.get([]int{at[0], c})) == at[2] {
				v += updates.get([]int{at[0], 0, c, 0})
			}
		}
		return v
	})
}
