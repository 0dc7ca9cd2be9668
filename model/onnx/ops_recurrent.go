package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	register("LSTM", 1, func(t *tracer, n *node) []value { return t.recurrentNode(n, lstmCell) })
	register("GRU", 1, func(t *tracer, n *node) []value { return t.recurrentNode(n, gruCell) })
	register("RNN", 1, func(t *tracer, n *node) []value { return t.recurrentNode(n, rnnCell) })
}

// cell describes one of the three recurrent operators.
type cell struct {
	gates       int
	states      int      // 2 for LSTM: h and c
	activations []string // default activations of one direction
	composite   op.Code  // the contract's composite op, or NoOp
	step        func(l *layer, xw value, state []value) []value
}

var (
	lstmCell = cell{4, 2, []string{"Sigmoid", "Tanh", "Tanh"}, op.LSTM, lstmStep}
	gruCell  = cell{3, 1, []string{"Sigmoid", "Tanh"}, op.GRU, gruStep}
	rnnCell  = cell{1, 1, []string{"Tanh"}, op.NoOp, rnnStep}
)

// layer is one direction of a recurrent node: its weights [gates·H, ...] and its activation functions.
type layer struct {
	calc
	hidden      int
	r, rb       value // rb is the bias of r; the other bias is part of the projected input
	peephole    value // [3·H], or absent
	f           []activationFunc
	clip        float64 // 0: none
	coupled     bool    // input_forget
	resetBefore bool    // linear_before_reset: the reset gate multiplies h·rᵀ + rb, not h
}

func (t *tracer) recurrentNode(n *node, k cell) []value {
	t.need(n, 0, 1, 2)
	x, w, r, c := n.input(0), n.input(1), n.input(2), calc{t}
	batchFirst := n.int("layout", 0) != 0
	if x.rank() != 3 || w.rank() != 3 || r.rank() != 3 || r.shape()[1] != k.gates*r.shape()[2] {
		t.fail("x is %v, w %v and r %v, want rank 3 and %d gates", x.shape(), w.shape(), r.shape(), k.gates)
	}
	if batchFirst {
		x = t.permute(x, 1, 0, 2)
	}
	direction := n.str("direction", "forward")
	if !slices.Contains([]string{"forward", "reverse", "bidirectional"}, direction) {
		t.fail("direction is %q", direction)
	}
	dirs, hidden, batch := r.shape()[0], r.shape()[2], x.shape()[1]
	if (direction == "bidirectional") != (dirs == 2) || dirs < 1 {
		t.fail("direction is %s with weights for %d", direction, dirs)
	}
	rows := k.gates * hidden
	bias := n.input(3)
	if !bias.present() {
		bias = c.zeros(x.dtype(), []int{dirs, 2 * rows})
	}
	wb, rb := t.narrow(bias, 1, 0, rows), t.narrow(bias, 1, rows, rows)
	states := make([]value, k.states)
	for i := range states {
		if states[i] = n.input(5 + i); !states[i].present() {
			states[i] = c.zeros(x.dtype(), []int{dirs, batch, hidden})
		} else if batchFirst {
			states[i] = t.permute(states[i], 1, 0, 2)
		}
	}
	lengths := t.lengths(n.input(4), x.shape()[0])
	functions := t.activations(n, k, dirs)
	var outs []value
	if functions == nil && !lengths.present() && n.float("clip", 0) == 0 && n.int("input_forget", 0) == 0 && !n.input(7).present() &&
		k.composite != op.NoOp {
		outs = t.composite(n, k, append([]value{x, w, r}, wb, rb), states, direction)
	} else {
		if functions == nil {
			functions = t.named(slices.Repeat(k.activations, dirs), nil, nil)
		}
		outs = t.unrolled(n, k, []value{x, w, r, wb, rb}, states, lengths, functions, direction)
	}
	if batchFirst {
		outs[0] = t.permute(outs[0], 2, 0, 1, 3)
		for i := range outs[1:] {
			outs[1+i] = t.permute(outs[1+i], 1, 0, 2)
		}
	}
	return outs
}

// lengths returns the sequence lengths as i64, or an absent value when they are all known to equal the number of steps.
func (t *tracer) lengths(v value, steps int) value {
	if !v.present() {
		return v
	}
	if v.constant() && !slices.ContainsFunc(t.hostInts(v), func(l int) bool { return l < steps }) {
		return value{}
	}
	return t.cast(v, dtype.I64)
}

// composite emits the contract's lstm or gru.
func (t *tracer) composite(n *node, k cell, in, states []value, direction string) []value {
	attrs := []op.Attr{op.Str("direction", direction)}
	if k.composite == op.GRU {
		attrs = append(attrs, op.Flag("reset_after", n.int("linear_before_reset", 0) != 0))
	} else {
		in = append(in[:3], calc{t}.add(in[3], in[4]))
	}
	return t.all(k.composite, append(in, states...), attrs...)
}

// unrolled runs a cell step by step. After the end of a sequence its state stays and its output is 0.
func (t *tracer) unrolled(n *node, k cell, in, states []value, lengths value, f []activationFunc, direction string) []value {
	x, c := in[0], calc{t}
	steps, batch := x.shape()[0], x.shape()[1]
	dirs, hidden := in[2].shape()[0], in[2].shape()[2]
	rows := k.gates * hidden
	ys, lasts := []value{}, make([][]value, k.states)
	t.scratch(nodeBytes, steps)
	inside := make([]value, steps)
	for i := 0; lengths.present() && i < steps; i++ {
		inside[i] = c.less(c.like(lengths, float64(i)), t.reshape(lengths, batch, 1))
	}
	for d := range dirs {
		pick := func(v value) value { return t.reshape(t.narrow(v, 0, d, 1), v.shape()[1:]...) }
		per := len(k.activations)
		l := &layer{calc: c, hidden: hidden, r: pick(in[2]), rb: pick(in[4]), f: f[d*per : (d+1)*per], clip: n.float("clip", 0),
			coupled: n.int("input_forget", 0) != 0, resetBefore: n.int("linear_before_reset", 0) != 0}
		if p := n.input(7); p.present() && k.states == 2 {
			l.peephole = pick(p)
		}
		xw := t.do(op.Linear, []value{t.reshape(x, steps*batch, x.shape()[2]), pick(in[1]), pick(in[3])}, op.Flag("transpose_w", true))
		xw = t.reshape(xw, steps, batch, rows)
		state := make([]value, k.states)
		for i := range state {
			state[i] = pick(states[i])
		}
		hs := make([]value, steps)
		for i := range steps {
			at := i
			if direction == "reverse" || d == 1 {
				at = steps - 1 - i
			}
			next := k.step(l, t.reshape(t.narrow(xw, 0, at, 1), batch, rows), state)
			hs[at] = next[0]
			if lengths.present() {
				hs[at] = c.where(inside[at], next[0], c.like(next[0], 0))
				for s := range next {
					next[s] = c.where(inside[at], next[s], state[s])
				}
			}
			state, hs[at] = next, t.reshape(hs[at], 1, 1, batch, hidden)
		}
		if steps == 0 {
			hs = []value{c.zeros(x.dtype(), []int{0, 1, batch, hidden})}
		}
		ys = append(ys, t.concat(0, hs...))
		for i := range state {
			lasts[i] = append(lasts[i], t.reshape(state[i], 1, batch, hidden))
		}
	}
	outs := []value{t.concat(1, ys...)}
	for _, last := range lasts {
		outs = append(outs, t.concat(0, last...))
	}
	return outs
}

// dot returns h·rᵀ + rb for the gates in [from, to).
func (l *layer) dot(h value, from, to int) value {
	rows := func(v value) value { return l.narrow(v, 0, from*l.hidden, (to-from)*l.hidden) }
	return l.add(l.matmul(h, rows(l.r), false, true), rows(l.rb))
}

func (l *layer) part(g value, k int) value { return l.narrow(g, 1, k*l.hidden, l.hidden) }

// gate applies function i to a clipped argument.
func (l *layer) gate(i int, v value) value {
	if l.clip > 0 {
		v = l.clamp(v, -l.clip, l.clip)
	}
	return l.f[i](l.calc, v)
}

func rnnStep(l *layer, xw value, state []value) []value {
	return []value{l.gate(0, l.add(xw, l.dot(state[0], 0, 1)))}
}

func gruStep(l *layer, xw value, state []value) []value {
	h := state[0]
	zr := l.add(l.narrow(xw, 1, 0, 2*l.hidden), l.dot(h, 0, 2))
	z, r := l.gate(0, l.part(zr, 0)), l.gate(0, l.part(zr, 1))
	var inner value
	if l.resetBefore {
		inner = l.mul(r, l.dot(h, 2, 3))
	} else {
		inner = l.dot(l.mul(r, h), 2, 3)
	}
	next := l.gate(1, l.add(l.part(xw, 2), inner))
	return []value{l.add(next, l.mul(z, l.sub(h, next)))}
}

func lstmStep(l *layer, xw value, state []value) []value {
	cell := state[1]
	g := l.add(xw, l.dot(state[0], 0, 4))
	i, o, f := l.part(g, 0), l.part(g, 1), l.part(g, 2)
	peek := func(v value, k int, at value) value {
		if !l.peephole.present() {
			return v
		}
		return l.add(v, l.mul(l.narrow(l.peephole, 0, k*l.hidden, l.hidden), at))
	}
	i = l.gate(0, peek(i, 0, cell))
	if l.coupled {
		f = l.sub(l.like(i, 1), i)
	} else {
		f = l.gate(0, peek(f, 2, cell))
	}
	cell = l.add(l.mul(f, cell), l.mul(i, l.gate(1, l.part(g, 3))))
	o = l.gate(0, peek(o, 1, cell))
	return []value{l.mul(o, l.f[2](l.calc, cell)), cell}
}
