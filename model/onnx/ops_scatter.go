package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Scatter", 9, scatterElements)
	register("ScatterElements", 11, scatterElements)
	register("ScatterND", 11, scatterND)
	register("TensorScatter", 24, tensorScatter)
}

// scatterMode translates the attribute reduction, which the first opsets lack.
func scatterMode(t *tracer, n *node) op.Attr {
	reduction := n.str("reduction", "none")
	switch reduction {
	case "none":
		return op.Str("mode", "assign")
	case "add", "mul", "min", "max":
		return op.Str("mode", reduction)
	}
	t.fail("reduction is %q, want none, add, mul, min or max", reduction)
	return op.Attr{}
}

func scatterElements(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x := n.input(0)
	axis := t.axis(n.int("axis", 0), x.rank())
	index := t.wrapIndices(n.input(1), x.shape()[axis])
	return []value{t.do(op.ScatterElements, []value{x, index, n.input(2)}, op.Int("axis", axis), scatterMode(t, n))}
}

func scatterND(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x := n.input(0)
	return []value{t.do(op.ScatterND, []value{x, t.wrapTuples(n.input(1), x.shape(), 0), n.input(2)}, scatterMode(t, n))}
}

// tensorScatter writes update into the cache along axis, starting at write_indices[b] for batch element b.
func tensorScatter(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	cache, update := n.input(0), n.input(1)
	axis := t.axis(n.int("axis", -2), cache.rank())
	if axis == 0 || update.rank() != cache.rank() {
		t.fail("cache is %v and update is %v with axis %d, want equal ranks and an axis above 0", cache.shape(), update.shape(), axis)
	}
	batch, length, steps := cache.shape()[0], cache.shape()[axis], update.shape()[axis]
	if steps > length {
		t.fail("update has %d steps for a cache of %d", steps, length)
	}
	at := t.scalarInt(dtype.I64, 0)
	if start := n.input(2); start.present() {
		t.need(n, 2)
		at = t.reshape(t.cast(start, dtype.I64), batch)
	}
	switch mode := n.str("mode", "linear"); mode {
	case "linear":
		return []value{t.do(op.CacheWrite, []value{cache, at, update}, op.Int("axis", axis))}
	case "circular":
	default:
		t.fail("mode is %q, want linear or circular", mode)
	}
	index := t.do(op.Iota, nil, op.Type("dtype", dtype.I64), op.Ints("shape", 1, steps), op.Int("axis", 1))
	if at.rank() > 0 {
		at = t.reshape(at, batch, 1)
	}
	index = t.expand(t.do(op.Add, []value{index, at}), shape.Of(batch, steps))
	index = t.do(op.FloorMod, []value{index, t.scalarInt(dtype.I64, int64(length))})
	there, back := linePermutation(cache.rank(), axis, 1)
	y := t.do(op.Scatter, []value{t.permute(cache, there...), index, t.permute(update, there...)}, op.Int("axis", 1), op.Int("batch", 1))
	return []value{t.permute(y, back...)}
}
