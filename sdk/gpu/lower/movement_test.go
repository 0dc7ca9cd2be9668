package lower

import (
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/template"
)

func TestMovements(t *testing.T) {
	shapes := []shape.Shape{{}, {1}, {0, 3}, {31}, {33, 2}, {3, 5, 7}, {2, 3, 4, 5}, {40, 70}, {64, 128}, {3, 33, 65}, {2, 20, 3, 40}, {2, 1, 3, 1, 2, 2, 1, 2}}
	all := dtype.Any | dtype.Smalls
	for i, s := range shapes {
		for j, d := range all.List() {
			seed := uint64(i*40 + j)
			for _, code := range []op.Code{op.Permute, op.Flip, op.Reshape, op.Slice, op.Copy, op.Expand} {
				if s.Size() > 1000 && (i+j)%3 != 0 {
					continue
				}
				c := newRunner(t, []template.Target{tiny, narrowGrid}[seed/2%2], seed)
				c.strewn = j%2 == 1
				b := newSketch()
				x := b.input(d, s...)
				var y op.Desc
				switch code {
				case op.Permute:
					axes := c.r.Perm(len(s))
					if len(s) == 2 || len(s) == 3 && j%2 == 0 { // transposed
						axes[len(s)-1], axes[0] = 0, len(s)-1
						if len(s) == 3 {
							axes[1] = 1
						}
					}
					y = b.Un(code, x, op.Ints("axes", axes...))
				case op.Flip:
					y = b.Un(code, x, op.Ints("axes", c.r.Perm(len(s))[:c.r.IntN(len(s)+1)]...))
				case op.Reshape:
					y = b.Un(code, x, op.Dims("shape", shape.Shape{s.Size()}))
				case op.Expand:
					y = b.Un(code, x, op.Dims("shape", append(shape.Shape{2}, s...)))
					if len(s) == 8 {
						continue
					}
				case op.Slice:
					start, step, size := make([]int, len(s)), make([]int, len(s)), s.Clone()
					for a, n := range s {
						step[a] = []int{1, -1, 2, -3}[c.r.IntN(4)]
						if n > 0 {
							size[a] = 1 + c.r.IntN((n-1)/max(step[a], -step[a])+1)
							if start[a] = c.r.IntN(n - (size[a]-1)*max(step[a], -step[a])); step[a] < 0 {
								start[a] = n - 1 - start[a]
							}
						}
					}
					y = b.Un(code, x, op.Ints("start", start...), op.Ints("step", step...), op.Dims("size", size))
				default:
					y = b.Do(code, x)
				}
				c.run(b.graph(t, y), []ref.Tensor{draw(c.r, x, op.Domain{}, true)})
			}
		}
	}
}

// TestTurned computes elementwise with operands whose fastest axis is not the fastest axis of the result.
func TestTurned(t *testing.T) {
	for seed := range uint64(24) {
		c := newRunner(t, []template.Target{tiny, narrowGrid}[seed%2], seed)
		b := newSketch()
		d := []dtype.DType{dtype.F32, dtype.BF16, dtype.F64, dtype.U8}[seed/2%4]
		h, w := 17+c.r.IntN(60), 17+c.r.IntN(60)
		c.strewn = true
		x, y, z := b.input(d, 3, h, w), b.input(d, h, w), b.input(d, w)
		i := b.With(op.Iota, nil, op.Type("dtype", d), op.Dims("shape", x.Shape), op.Int("axis", int(seed%3)))
		out := b.Do(op.Sub, b.Do(op.Max, b.Do(op.Min, x, y), i), z)
		c.run(b.graph(t, out), inputs(c.r, b, op.Domain{Lo: 0, Hi: 3, Whole: true}))
	}
}

// TestTurnedInGroups transposes operands with elements of 16 bits, which kernels move 8 at a time.
func TestTurnedInGroups(t *testing.T) {
	for seed := range uint64(12) {
		c := newRunner(t, []template.Target{tiny, narrowGrid}[seed%2], seed)
		b := newSketch()
		d := []dtype.DType{dtype.BF16, dtype.F16, dtype.I16}[seed%3]
		h, w := 64+8*c.r.IntN(9), 64+8*c.r.IntN(9)
		x, y, z := b.input(d, 3, h, w), b.input(d, h, w), b.input(d, h)
		turned := b.Permute(x, 0, 2, 1)
		i := b.With(op.Iota, nil, op.Type("dtype", d), op.Dims("shape", turned.Shape), op.Int("axis", int(seed%3)))
		out := b.Do(op.Sub, b.Do(op.Max, b.Do(op.Min, turned, b.Permute(y, 1, 0)), i), z)
		if seed%4 == 3 {
			out = b.Un(op.Cast, out, op.Type("dtype", dtype.F32))
		}
		c.run(b.graph(t, out), inputs(c.r, b, op.Domain{Lo: 0, Hi: 3, Whole: true}))
	}
	for _, s := range []shape.Shape{{64, 72}, {200, 136}, {3, 64, 64}, {64, 5, 80}} {
		b := newSketch()
		x := b.input(dtype.BF16, s...)
		axes := []int{1, 0}
		if len(s) == 3 {
			axes = []int{2, 1, 0}
		}
		c := newRunner(t, tiny, 1)
		c.run(b.graph(t, b.Permute(x, axes...)), []ref.Tensor{draw(c.r, x, op.Domain{}, true)})
	}
}
