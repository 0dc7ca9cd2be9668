package recurrent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/recurrent"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, recurrent.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// sizes are the sizes of a layer.
type sizes struct{ steps, batch, inputs, hidden, directions int }

func (s sizes) String() string {
	return fmt.Sprintf("S%d B%d I%d H%d D%d", s.steps, s.batch, s.inputs, s.hidden, s.directions)
}

// operands returns random operands of a layer of 3 gates (GRU) or 4 gates (LSTM).
func (s sizes) operands(r *rand.Rand, d dtype.DType, gates int) list {
	of := func(dims ...int) kerneltest.Operand { return kerneltest.Random(r, d, -1, 1, dims...) }
	in := list{of(s.steps, s.batch, s.inputs), of(s.directions, gates*s.hidden, s.inputs), of(s.directions, gates*s.hidden, s.hidden), of(s.directions, gates*s.hidden)}
	if gates == 3 {
		in = append(in, of(s.directions, gates*s.hidden))
	} else {
		in = append(in, of(s.directions, s.batch, s.hidden))
	}
	return append(in, of(s.directions, s.batch, s.hidden))
}

func (s sizes) direction() op.Attr {
	if s.directions == 2 {
		return op.Str("direction", "bidirectional")
	}
	return op.Str("direction", "forward")
}

// layers lists layers with sizes that are no multiple of a vector, with ones, with zeros, and with enough steps that weights are packed.
var layers = []sizes{{1, 1, 1, 1, 1}, {2, 1, 3, 5, 1}, {3, 2, 5, 7, 2}, {5, 3, 17, 9, 1}, {4, 1, 8, 16, 2}, {7, 2, 1, 33, 1}, {3, 17, 4, 3, 1},
	{0, 2, 3, 4, 1}, {2, 0, 3, 4, 1}, {2, 2, 0, 3, 1}, {2, 2, 3, 0, 2}}

func TestLSTM(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, s := range layers {
		b.Check(op.LSTM, s.operands(r, dtype.F32, 4), s.direction())
	}
	for _, d := range dtype.Floats.List() {
		s := sizes{3, 2, 5, 6, 1}
		b.Check(op.LSTM, s.operands(r, d, 4), op.Str("direction", "reverse"))
	}
}

func TestGRU(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, s := range layers {
		for _, after := range []bool{false, true} {
			b.Check(op.GRU, s.operands(r, dtype.F32, 3), s.direction(), op.Flag("reset_after", after))
		}
	}
	for _, d := range dtype.Floats.List() {
		s := sizes{3, 2, 5, 6, 1}
		b.Check(op.GRU, s.operands(r, d, 3), op.Str("direction", "reverse"), op.Flag("reset_after", true))
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestLSTMByHand computes one step of one element from the definition, with different weights for the gates.
func TestLSTMByHand(t *testing.T) {
	b := newBench(t)
	const x, h, c = 0.5, -0.25, 2.0
	w, u, bias := []float64{1, 2, 3, 4}, []float64{-1, 0.5, 0.25, 2}, []float64{0.1, 0.2, 0.3, 0.4} // gates i, o, f, c
	var g [4]float64
	for k := range g {
		g[k] = w[k]*x + u[k]*h + bias[k]
	}
	cell := logistic(g[2])*c + logistic(g[0])*math.Tanh(g[3])
	hidden := logistic(g[1]) * math.Tanh(cell)
	one := func(v float64, dims ...int) kerneltest.Operand { return kerneltest.Floats(dtype.F64, dims, v) }
	in := list{one(x, 1, 1, 1), kerneltest.Floats(dtype.F64, []int{1, 4, 1}, w...), kerneltest.Floats(dtype.F64, []int{1, 4, 1}, u...),
		kerneltest.Floats(dtype.F64, []int{1, 4}, bias...), one(h, 1, 1, 1), one(c, 1, 1, 1)}
	want := list{one(hidden, 1, 1, 1, 1), one(hidden, 1, 1, 1), one(cell, 1, 1, 1)}
	b.Expect(op.LSTM, in, want, 1e-14, 0, op.Str("direction", "forward"))
}

// TestGRUByHand computes one step of one element from the definition, for both forms of the reset gate.
func TestGRUByHand(t *testing.T) {
	b := newBench(t)
	const x, h = 0.5, -0.75
	w, u := []float64{1, 2, 3}, []float64{-1, 0.5, 0.25} // gates z, r, h
	bw, bu := []float64{0.1, 0.2, 0.3}, []float64{-0.3, 0.4, 0.6}
	z := logistic(w[0]*x + bw[0] + u[0]*h + bu[0])
	reset := logistic(w[1]*x + bw[1] + u[1]*h + bu[1])
	for _, after := range []bool{false, true} {
		recurrence := u[2]*(reset*h) + bu[2]
		if after {
			recurrence = reset * (u[2]*h + bu[2])
		}
		candidate := math.Tanh(w[2]*x + bw[2] + recurrence)
		hidden := (1-z)*candidate + z*h
		of := func(dims []int, v ...float64) kerneltest.Operand { return kerneltest.Floats(dtype.F64, dims, v...) }
		in := list{of([]int{1, 1, 1}, x), of([]int{1, 3, 1}, w...), of([]int{1, 3, 1}, u...), of([]int{1, 3}, bw...), of([]int{1, 3}, bu...), of([]int{1, 1, 1}, h)}
		want := list{of([]int{1, 1, 1, 1}, hidden), of([]int{1, 1, 1}, hidden)}
		b.Expect(op.GRU, in, want, 1e-14, 0, op.Str("direction", "forward"), op.Flag("reset_after", after))
	}
}

// TestRecurrentSpecialValues checks that saturated states stay finite, that a NaN affects only its entry of the batch, and that infinite
// inputs have the results that the limits of the functions imply.
func TestRecurrentSpecialValues(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	s := sizes{3, 3, 4, 9, 1}
	for _, v := range []float64{1e4, -1e4, math.NaN(), math.Inf(1)} {
		for _, gates := range []int{3, 4} {
			in := s.operands(r, dtype.F32, gates)
			in[0].SetFloat(5, v) // of entry 1
			if c := op.LSTM; gates == 4 {
				b.Check(c, in, s.direction())
			} else {
				b.Check(op.GRU, in, s.direction(), op.Flag("reset_after", true))
			}
		}
	}
}

// A bidirectional layer computes the same as a forward layer and a reverse layer side by side.
func TestDirections(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(7, 8))
	s := sizes{6, 2, 3, 5, 2}
	in := s.operands(r, dtype.F64, 4)
	half := func(o kerneltest.Operand, d int) kerneltest.Operand {
		dims := append([]int(nil), o.Desc.Shape...)
		dims[0] = 1
		n := len(o.Data) / 2
		return kerneltest.Operand{Desc: op.DescOf(o.Desc.DType, dims...), Data: o.Data[d*n:][:n]}
	}
	var y [2]kerneltest.Operand
	states := make([]list, 2)
	for d, direction := range []string{"forward", "reverse"} {
		one := list{in[0]}
		for _, o := range in[1:] {
			one = append(one, half(o, d))
		}
		outs := b.Run(op.LSTM, one, op.Str("direction", direction))
		y[d], states[d] = outs[0], outs[1:]
	}
	want := list{kerneltest.Floats(dtype.F64, []int{s.steps, 2, s.batch, s.hidden}, 0)}
	state := s.batch * s.hidden
	for i := range s.steps * 2 * state {
		want[0].SetFloat(i, y[i/state%2].Float(i/state/2*state+i%state))
	}
	for k := range states[0] {
		o := kerneltest.Floats(dtype.F64, []int{2, s.batch, s.hidden}, 0)
		copy(o.Data, append(append([]byte(nil), states[0][k].Data...), states[1][k].Data...))
		want = append(want, o)
	}
	b.Expect(op.LSTM, in, want, 1e-14, 1e-14, op.Str("direction", "bidirectional"))
}
