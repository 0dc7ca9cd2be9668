// Package recurrent contains the kernels of LSTM and GRU layers. They multiply the inputs of all steps at once. Each step is then one
// product with the packed recurrent weights and one pass over the gates. Package cpu selects the kernels through the rules of package
// kernel; products must be computed by package gemm.
package recurrent

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

type float interface{ float32 | float64 }

// layer contains the sizes and settings of a node.
type layer struct {
	steps, batch, inputs, hidden, gates, directions int
	reverse, resetAfter                             bool

	fixed []bool // by input: whether it is the same in every call
}

// Rules returns the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for _, c := range []op.Code{op.LSTM, op.GRU} {
		rules[c] = kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
			return Prepare(n, in, make([]bool, len(in)))
		}})
	}
	return rules
}

// Prepare returns the kernel of an lstm or gru node of f32 or f64. fixed says for each input whether it is the same in every call: such
// weights are packed once.
func Prepare(n *op.Node, in []op.Desc, fixed []bool) kernel.Func {
	if in[0].DType == dtype.F64 {
		return prepare[float64](n, in, fixed)
	}
	return prepare[float32](n, in, fixed)
}

func prepare[T float](n *op.Node, in []op.Desc, fixed []bool) kernel.Func {
	x, y := in[0].Shape, n.Outputs[0].Shape
	l := &layer{steps: x[0], batch: x[1], inputs: x[2], directions: y[1], hidden: y[3], gates: 4, fixed: fixed,
		reverse: n.Attrs.Str("direction") == "reverse", resetAfter: n.Attrs.Bool("reset_after")}
	if n.Op == op.GRU {
		l.gates = 3
	}
	form := make([]direction[T], l.directions)
	for d := range form {
		form[d] = direction[T]{layer: l, number: d}
		for _, w := range []*weights[T]{&form[d].input, &form[d].recurrent, &form[d].candidate} {
			w.kept = new(kept[T])
		}
	}
	return func(c *kernel.Call) error {
		directions := slices.Clone(form)
		flat := make([][]T, len(c.In))
		for i, a := range c.In {
			flat[i] = kernel.Flat[T](c.Contiguous(a))
		}
		outs := make([][]T, len(c.Desc))
		for i := range outs {
			outs[i] = kernel.Flat[T](c.Alloc(i))
		}
		for d := range directions {
			directions[d].begin(c, flat, outs)
		}
		if l.steps > 0 && l.batch*l.hidden > 0 {
			c.Pool.For(l.directions, l.grain(), func(lo, hi int) {
				for d := lo; d < hi; d++ {
					directions[d].run(flat, outs)
				}
			})
		}
		return nil
	}
}

// grain returns the least number of directions for which another thread is used. It is one, unless a direction takes less time than waking
// a thread.
func (l *layer) grain() int {
	if l.steps*l.batch*l.gates*l.hidden*(l.inputs+l.hidden) < 256<<10 {
		return l.directions
	}
	return 1
}

// direction is the state of the steps of one direction.
type direction[T float] struct {
	*layer
	number    int
	pool      *par.Pool
	input     weights[T] // [I, gates·H]
	recurrent weights[T] // [H, gates·H], or its first two gates
	candidate weights[T] // the third gate of a GRU that applies the reset gate before the product
	biasR     []T
	h, cell   []T // state, [B, H]
	projected []T // [S, B, gates·H]
	held      []T // workspace of a step
}

// part is entry d of operands stacked by direction.
func part[T float](v []T, d, n int) []T { return v[d*n : (d+1)*n] }

// begin allocates the memory of a call.
func (r *direction[T]) begin(c *kernel.Call, in, outs [][]T) {
	width, state, d := r.gates*r.hidden, r.batch*r.hidden, r.number
	r.pool = c.Pool
	initial := in[4]
	if r.gates == 3 {
		r.biasR, initial = part(in[4], d, width), in[5]
	}
	r.h = part(outs[1], d, state)
	copy(r.h, part(initial, d, state))
	if r.gates == 4 {
		r.cell = part(outs[2], d, state)
		copy(r.cell, part(in[5], d, state))
	}
	r.projected = kernel.TempOf[T](c, r.steps*r.batch*width)
	r.held = kernel.TempOf[T](c, state+r.batch*max(width, 2*r.hidden))
}

// run computes all steps of a direction.
func (r *direction[T]) run(in, outs [][]T) {
	d, width, state := r.number, r.gates*r.hidden, r.batch*r.hidden
	w, rec, bias := part(in[1], d, width*r.inputs), part(in[2], d, width*r.hidden), part(in[3], d, width)
	rows := r.steps * r.batch
	r.input.set(r.pool, r.fixed[1], 1, r.inputs, width, w)
	r.input.mul(r.pool, &gemm.Args[T]{M: rows, A: gemm.Row(in[0], r.inputs), C: r.projected, LDC: width, Epilogue: &micro.Epilogue[T]{BiasCol: bias}})
	if r.gates == 3 && !r.resetAfter {
		r.recurrent.set(r.pool, r.fixed[2], r.steps, r.hidden, 2*r.hidden, rec)
		r.candidate.set(r.pool, r.fixed[2], r.steps, r.hidden, r.hidden, rec[2*r.hidden*r.hidden:])
	} else {
		r.recurrent.set(r.pool, r.fixed[2], r.steps, r.hidden, width, rec)
	}
	for k := range r.steps {
		if r.reverse || d == 1 {
			k = r.steps - 1 - k
		}
		xw := r.projected[k*r.batch*width:][:r.batch*width]
		if r.gates == 4 {
			r.lstm(xw)
		} else {
			r.gru(xw)
		}
		copy(outs[0][(k*r.directions+d)*state:], r.h)
	}
}

// lstm computes one step. It adds the products with the state to xw in place. Gates are in the order i, o, f, c.
func (r *direction[T]) lstm(xw []T) {
	h := r.hidden
	r.recurrent.mul(r.pool, &gemm.Args[T]{M: r.batch, A: gemm.Row(r.h, h), C: xw, LDC: 4 * h, Accumulate: true})
	for b := range r.batch {
		g := xw[b*4*h:][:4*h]
		sigmoid(g[:3*h])
		tanh(g[3*h:])
		cell, out := r.cell[b*h:][:h], r.h[b*h:][:h]
		i, o, f, c := g[:h], g[h:2*h], g[2*h:3*h], g[3*h:]
		mul(cell, f, cell)
		mul(c, i, c)
		add(cell, cell, c)
		copy(out, cell)
		tanh(out)
		mul(out, o, out)
	}
}

// gru computes one step. Gates are in the order z, r, h.
func (r *direction[T]) gru(xw []T) {
	h, size := r.hidden, r.batch*r.hidden
	reset, sums := r.held[:size], r.held[size:]
	width := r.recurrent.outputs // width of the sums
	r.recurrent.mul(r.pool, &gemm.Args[T]{M: r.batch, A: gemm.Row(r.h, h), C: sums, LDC: width,
		Epilogue: &micro.Epilogue[T]{BiasCol: r.biasR[:width]}})
	for b := range r.batch {
		g, s := xw[b*3*h:][:3*h], sums[b*width:][:width]
		add(g[:2*h], s[:2*h], g[:2*h])
		sigmoid(g[:2*h])
		if r.resetAfter {
			mul(reset[b*h:][:h], g[h:2*h], s[2*h:])
		} else {
			mul(reset[b*h:][:h], g[h:2*h], r.h[b*h:][:h])
		}
	}
	if !r.resetAfter {
		r.candidate.mul(r.pool, &gemm.Args[T]{M: r.batch, A: gemm.Row(reset, h), C: sums, LDC: h,
			Epilogue: &micro.Epilogue[T]{BiasCol: r.biasR[2*h:]}})
		copy(reset, sums[:size])
	}
	for b := range r.batch {
		z, c, state, row := xw[b*3*h:][:h], xw[b*3*h+2*h:][:h], r.h[b*h:][:h], reset[b*h:][:h]
		add(c, row, c)
		tanh(c)
		sub(state, state, c)
		mul(state, z, state)
		add(state, c, state)
	}
}
