package ref

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// cell computes the next state of hidden unit j in direction d from the inputs x of a step and the state before it, the
// hidden vector h first, then others.
type cell struct {
	n      *op.Node
	in     []Tensor
	d      int
	hidden int
}

// gate returns row k·hidden+j of w·x, with the bias.
func (c cell) gate(k, j int, x []float64) float64 {
	row := k*c.hidden + j
	s := c.in[3].F[at(c.in[3].Desc.Shape, []int{c.d, row})]
	for i, v := range x {
		s += c.in[1].F[at(c.in[1].Desc.Shape, []int{c.d, row, i})] * v
	}
	return s
}

// recur returns row k·hidden+j of r·h.
func (c cell) recur(k, j int, h []float64) float64 {
	s := 0.0
	for i, v := range h {
		s += c.in[2].F[at(c.in[2].Desc.Shape, []int{c.d, k*c.hidden + j, i})] * v
	}
	return s
}

func (c cell) lstm(j int, x, h, old []float64) (next, memory float64) {
	sum := func(k int) float64 { return c.gate(k, j, x) + c.recur(k, j, h) }
	i, o, f, g := sigmoid(sum(0)), sigmoid(sum(1)), sigmoid(sum(2)), math.Tanh(sum(3))
	memory = f*old[j] + i*g
	return o * math.Tanh(memory), memory
}

func (c cell) gru(j int, x, h []float64) float64 {
	bias := func(k, j int) float64 { return c.in[4].F[at(c.in[4].Desc.Shape, []int{c.d, k*c.hidden + j})] }
	opened := func(k, j int) float64 { return sigmoid(c.gate(k, j, x) + c.recur(k, j, h) + bias(k, j)) }
	z := opened(0, j)
	var inner float64
	if c.n.Attrs.Bool("reset_after") {
		inner = opened(1, j) * (c.recur(2, j, h) + bias(2, j))
	} else {
		reset := make([]float64, len(h))
		for k := range h {
			reset[k] = opened(1, k) * h[k]
		}
		inner = c.recur(2, j, reset) + bias(2, j)
	}
	return (1-z)*math.Tanh(c.gate(2, j, x)+inner) + z*h[j]
}

// recurrent runs a cell over the steps of in[0] for every direction and element of the batch. states is the number of the
// operand that holds the first state.
func recurrent(states int, step func(c cell, x []float64, state [][]float64) [][]float64) kernel {
	return func(n *op.Node, in []Tensor) ([]Tensor, error) {
		var outs []Tensor
		for _, d := range n.Outputs {
			outs = append(outs, Zeros(d))
		}
		xs, ys := in[0].Desc.Shape, n.Outputs[0].Shape // [T, B, I] and [T, D, B, H]
		hidden := ys[3]
		line := func(t Tensor, idx ...int) []float64 { // the last dimension at idx
			s := t.Desc.Shape
			p := at(append(s[:len(s)-1:len(s)-1], 1), append(idx, 0)) * s[len(s)-1]
			return t.F[p : p+s[len(s)-1]]
		}
		each(shape.Of(ys[1], ys[2]), func(_ int, db []int) {
			d, b := db[0], db[1]
			var state [][]float64
			for _, s := range in[states:] {
				state = append(state, line(s, d, b))
			}
			for k := range xs[0] {
				t := k
				if n.Attrs.Str("direction") == "reverse" || d == 1 {
					t = xs[0] - 1 - k
				}
				state = step(cell{n, in, d, hidden}, line(in[0], t, b), state)
				copy(line(outs[0], t, d, b), state[0])
			}
			for i := range state {
				copy(line(outs[1+i], d, b), state[i])
			}
		})
		return outs, nil
	}
}

var recurrentKernels = map[op.Code]kernel{
	op.LSTM: recurrent(4, func(c cell, x []float64, state [][]float64) [][]float64 {
		h, memory := make([]float64, c.hidden), make([]float64, c.hidden)
		for j := range h {
			h[j], memory[j] = c.lstm(j, x, state[0], state[1])
		}
		return [][]float64{h, memory}
	}),
	op.GRU: recurrent(5, func(c cell, x []float64, state [][]float64) [][]float64 {
		h := make([]float64, c.hidden)
		for j := range h {
			h[j] = c.gru(j, x, state[0])
		}
		return [][]float64{h}
	}),
}
