// Package recurrent holds the kernels of LSTM and GRU layers: the inputs of all steps are multiplied at once, and what is
// left of a step is one product with the packed recurrent weights and one pass over the gates.
package recurrent

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

type float interface{ float32 | float64 }

// layer is the sizes and settings of a node.
type layer struct {
	steps, batch, inputs, hidden, gates, directions int
	reverse, resetAfter                             bool
}

// Rules gives the kernels of this package by op.
func Rules() map[op.Code]kernel.Rule {
	rules := map[op.Code]kernel.Rule{}
	for _, c := range []op.Code{op.LSTM, op.GRU} {
		rules[c] = kernel.Halves(kernel.Rule{Types: dtype.Floats, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
			if in[0].DType == dtype.F64 {
				return prepare[float64](n, in)
			}
			return prepare[float32](n, in)
		}})
	}
	return rules
}

func prepare[T float](n *op.Node, in []op.Desc) kernel.Func {
	x, y := in[0].Shape, n.Outputs[0].Shape
	l := &layer{steps: x[0], batch: x[1], inputs: x[2], directions: y[1], hidden: y[3], gates: 4,
		reverse: n.Attrs.Str("direction") == "reverse", resetAfter: n.Attrs.Bool("reset_after")}
	if n.Op == op.GRU {
		l.gates = 3
	}
	return func(c *kernel.Call) error {
		flat := make([][]T, len(c.In))
		for i, a := range c.In {
			flat[i] = kernel.Flat[T](c.Contiguous(a))
		}
		outs := make([][]T, len(c.Desc))
		for i := range outs {
			outs[i] = kernel.Flat[T](c.Alloc(i))
		}
		for d := range l.directions {
			run(c, l, d, flat, outs)
		}
		return nil
	}
}

// direction is what the steps of one direction work with.
type direction[T float] struct {
	*layer
	c          *kernel.Call
	recurrent  weights[T] // [H, gates·H], or its first two gates
	candidate  weights[T] // the third gate of a GRU that resets before
	biasR      []T
	h, cell    []T // state, [B, H]
	sums, held []T // products of a step; room for a GRU
}

// weights are the right operand of a product, packed where it is multiplied often enough.
type weights[T float] struct {
	inputs, outputs int
	packed          *gemm.PackedB[T]
	plain           []T // [outputs, inputs]
}

// worthPacking is the fewest steps for which weights are packed.
const worthPacking = 4

func newWeights[T float](c *kernel.Call, steps, inputs, outputs int, w []T) weights[T] {
	r := weights[T]{inputs: inputs, outputs: outputs, plain: w}
	if steps >= worthPacking {
		r.packed = gemm.PackB(c.Pool, inputs, outputs, gemm.Row(w, inputs).T())
	}
	return r
}

// mul multiplies rows of x, and leaves the products in y, whose rows are width elements apart.
func (w *weights[T]) mul(c *kernel.Call, rows int, x, y []T, width int, bias []T) {
	g := gemm.Args[T]{M: rows, N: w.outputs, K: w.inputs, A: gemm.Row(x, w.inputs), PackedB: w.packed, C: y, LDC: width}
	if w.packed == nil {
		g.B = gemm.Row(w.plain, w.inputs).T()
	}
	if bias != nil {
		g.Epilogue = &gemm.Epilogue[T]{BiasCol: bias}
	}
	gemm.Mul(c.Pool, &g)
}

// part is entry d of operands stacked by direction.
func part[T float](v []T, d, n int) []T { return v[d*n : (d+1)*n] }

func run[T float](c *kernel.Call, l *layer, d int, in, outs [][]T) {
	width, state := l.gates*l.hidden, l.batch*l.hidden
	r := &direction[T]{layer: l, c: c}
	w, rec, bias := part(in[1], d, width*l.inputs), part(in[2], d, width*l.hidden), part(in[3], d, width)
	initial := in[4]
	if l.gates == 3 {
		r.biasR, initial = part(in[4], d, width), in[5]
	}
	r.h = part(outs[1], d, state)
	copy(r.h, part(initial, d, state))
	if l.gates == 4 {
		r.cell = part(outs[2], d, state)
		copy(r.cell, part(in[5], d, state))
	}
	if state == 0 || l.steps == 0 {
		return
	}
	projected := kernel.TempOf[T](c, l.steps*l.batch*width)
	gemm.Mul(c.Pool, &gemm.Args[T]{M: l.steps * l.batch, N: width, K: l.inputs, A: gemm.Row(in[0], l.inputs), B: gemm.Row(w, l.inputs).T(),
		C: projected, LDC: width, Epilogue: &gemm.Epilogue[T]{BiasCol: bias}})
	r.sums = kernel.TempOf[T](c, l.batch*width)
	if l.gates == 3 && !l.resetAfter {
		r.recurrent = newWeights(c, l.steps, l.hidden, 2*l.hidden, rec)
		r.candidate = newWeights(c, l.steps, l.hidden, l.hidden, rec[2*l.hidden*l.hidden:])
	} else {
		r.recurrent = newWeights(c, l.steps, l.hidden, width, rec)
	}
	r.held = kernel.TempOf[T](c, 2*state)
	for k := range l.steps {
		if l.reverse || d == 1 {
			k = l.steps - 1 - k
		}
		xw := projected[k*l.batch*width:][:l.batch*width]
		if l.gates == 4 {
			r.lstm(xw)
		} else {
			r.gru(xw)
		}
		copy(outs[0][(k*l.directions+d)*state:], r.h)
	}
}

// lstm takes one step. Gates lie in the order i, o, f, c.
func (r *direction[T]) lstm(xw []T) {
	h := r.hidden
	r.recurrent.mul(r.c, r.batch, r.h, r.sums, 4*h, nil)
	for b := range r.batch {
		g := r.sums[b*4*h:][:4*h]
		for j, v := range xw[b*4*h:][:4*h] {
			g[j] += v
		}
		sigmoid(g[:3*h])
		tanh(g[3*h:])
		cell, out := r.cell[b*h:][:h], r.h[b*h:][:h]
		i, o, f, c := g[:h], g[h:2*h], g[2*h:3*h], g[3*h:]
		for j := range cell {
			cell[j] = T(f[j]*cell[j]) + T(i[j]*c[j])
		}
		copy(out, cell)
		tanh(out)
		for j := range out {
			out[j] *= o[j]
		}
	}
}

// gru takes one step. Gates lie in the order z, r, h.
func (r *direction[T]) gru(xw []T) {
	h := r.hidden
	width := 3 * h
	r.recurrent.mul(r.c, r.batch, r.h, r.sums, width, r.biasR[:r.recurrent.outputs])
	reset, next := r.held[:r.batch*h], r.held[r.batch*h:]
	for b := range r.batch {
		g := r.sums[b*width:][:width]
		for j, v := range xw[b*width:][:2*h] {
			g[j] += v
		}
		sigmoid(g[:2*h])
		for j, v := range g[h : 2*h] {
			if r.resetAfter {
				next[b*h+j] = v * g[2*h+j]
			} else {
				reset[b*h+j] = v * r.h[b*h+j]
			}
		}
	}
	if !r.resetAfter {
		r.candidate.mul(r.c, r.batch, reset, next, h, r.biasR[2*h:])
	}
	for b := range r.batch {
		z, row, state := r.sums[b*width:][:h], next[b*h:][:h], r.h[b*h:][:h]
		for j, v := range xw[b*width+2*h:][:h] {
			row[j] += v
		}
		tanh(row)
		for j := range state {
			state[j] = row[j] + T(z[j]*(state[j]-row[j]))
		}
	}
}

func sigmoid[T float](x []T) {
	if x, ok := any(x).([]float32); ok {
		vecmath.Sigmoid(x, x)
		return
	}
	for i, v := range x {
		x[i] = T(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanh[T float](x []T) {
	if x, ok := any(x).([]float32); ok {
		vecmath.Tanh(x, x)
		return
	}
	for i, v := range x {
		x[i] = T(math.Tanh(float64(v)))
	}
}
