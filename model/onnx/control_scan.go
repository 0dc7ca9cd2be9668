package onnx

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/pb"
)

// scanning is one pass of a Scan body along the scan inputs.
type scanning struct {
	body    *pb.Graph
	sub     *graph
	states  []value
	inputs  []value
	axes    []int  // per input
	reverse []bool // per input
	length  int
}

// scanSpec reads the attributes that both forms of Scan share.
func scanSpec(t *tracer, n *node, in []value) scanning {
	s := scanning{body: n.graph("body")}
	s.sub = t.subgraph(s.body)
	count := n.int("num_scan_inputs", 0)
	if count < 1 || count > len(in) {
		t.fail("num_scan_inputs is %d, want one in [1,%d]", count, len(in))
	}
	s.states, s.inputs = slices.Clone(in[:len(in)-count]), slices.Clone(in[len(in)-count:])
	if len(s.sub.outputs) < len(s.states) {
		t.fail("body has %d outputs, want at least %d states", len(s.sub.outputs), len(s.states))
	}
	for i, v := range in {
		if !v.isTensor() {
			t.fail("input %d is %v, want a tensor", i, v.kind)
		}
	}
	return s
}

// flags reads a list of 0 and 1; the default is all 0.
func (t *tracer) flags(n *node, attr string, count int) []bool {
	out := make([]bool, count)
	if given := n.ints(attr); given != nil {
		if len(given) != count {
			t.fail("%s has %d entries, want %d", attr, len(given), count)
		}
		for i, v := range given {
			out[i] = v != 0
		}
	}
	return out
}

func (t *tracer) scanAxes(n *node, attr string, count int) []int {
	given := n.ints(attr)
	if given == nil {
		return make([]int, count)
	}
	if len(given) != count {
		t.fail("%s has %d entries, want %d", attr, len(given), count)
	}
	return given
}

// walkScan runs the body length times. Meanwhile it keeps the values in also alive. It returns the final states and, for each scan output,
// the results in order of the iterations.
func (t *tracer) walkScan(s scanning, also []value) (states []value, scans [][]value) {
	states = s.states
	scans = make([][]value, len(s.sub.outputs)-len(states))
	for i := range s.length {
		t.iterate(i)
		args := slices.Clone(states)
		number := value{}
		if s.length > unrolled {
			number = t.bind(t.constInts(dtype.I64, nil, []int{i}))
		}
		for k, v := range s.inputs {
			at := i
			if s.reverse[k] {
				at = v.shape()[s.axes[k]] - 1 - i
				if number.present() {
					number = t.bind(t.constInts(dtype.I64, nil, []int{at}))
				}
			}
			if number.present() {
				args = append(args, t.do(op.Gather, []value{v, number}, op.Int("axis", s.axes[k])))
			} else {
				args = append(args, t.squeeze(t.narrow(v, s.axes[k], at, 1), s.axes[k]))
			}
		}
		t.pin(append(scans, args, s.inputs, also)...)
		outs := t.run(s.body, args)
		states = outs[:len(states)]
		for k := range scans {
			scans[k] = append(scans[k], outs[len(states)+k])
		}
		t.pin(append(scans, states, s.inputs, also)...)
		if s.length > unrolled {
			t.between()
		}
	}
	return states, scans
}

// probeScan runs the body once on zeros in place of the scanned elements.
func (t *tracer) probeScan(s scanning) []value {
	args := slices.Clone(s.states)
	for k, v := range s.inputs {
		dims := slices.Delete(v.shape().Clone(), s.axes[k], s.axes[k]+1)
		args = append(args, t.do(op.Full, nil, op.ScalarInt("value", 0), op.Type("dtype", v.dtype()), op.Dims("shape", dims)))
	}
	return t.run(s.body, args)
}

func scan(t *tracer, n *node) []value {
	s := scanSpec(t, n, n.in)
	s.reverse = t.flags(n, "scan_input_directions", len(s.inputs))
	s.axes = t.scanAxes(n, "scan_input_axes", len(s.inputs))
	for k, v := range s.inputs {
		s.axes[k] = t.axis(s.axes[k], v.rank())
		if length := v.shape()[s.axes[k]]; k > 0 && length != s.length {
			t.fail("scan input %d has length %d, want %d as the others", k, length, s.length)
		} else {
			s.length = length
		}
	}
	outputs := len(s.sub.outputs) - len(s.states)
	backward := t.flags(n, "scan_output_directions", outputs)
	axes := t.scanAxes(n, "scan_output_axes", outputs)
	states, scans := t.walkScan(s, nil)
	out := slices.Clone(states)
	for k, vs := range scans {
		if len(vs) == 0 {
			out = append(out, t.none(s.sub, len(states)+k, axes[k], func() []value { return t.probeScan(s) }))
			continue
		}
		if backward[k] {
			slices.Reverse(vs)
		}
		out = append(out, t.stack(vs, axes[k]))
	}
	return out
}

// scanBatch implements Scan of opset 8: the first dimension of every value is a batch, the second is scanned, and each batch
// entry has its own length.
func scanBatch(t *tracer, n *node) []value {
	if len(n.in) < 2 {
		t.fail("%d inputs, want sequence_lens and at least one scan input", len(n.in))
	}
	all := scanSpec(t, n, n.in[1:])
	reverse := t.flags(n, "directions", len(all.inputs))
	for k, v := range all.inputs {
		if v.rank() < 2 || !v.shape()[:2].Equal(all.inputs[0].shape()[:2]) {
			t.fail("scan input %d is %v, want batch and length as in %v", k, v.shape(), all.inputs[0].shape())
		}
	}
	batch, length := all.inputs[0].shape()[0], all.inputs[0].shape()[1]
	if batch == 0 {
		t.unsupported("an empty batch")
	}
	lengths := slices.Repeat([]int{length}, batch)
	if n.in[0].present() {
		if lengths = t.hostInts(n.in[0]); len(lengths) != batch {
			t.fail("sequence_lens has %d entries, want %d", len(lengths), batch)
		}
	}
	states := make([][]value, len(all.states))
	scans := make([][]value, len(all.sub.outputs)-len(all.states))
	entry := func(v value, b int) value {
		if v.rank() == 0 || v.shape()[0] != batch {
			t.fail("a state of shape %v, want %d entries", v.shape(), batch)
		}
		return t.squeeze(t.narrow(v, 0, b, 1), 0)
	}
	for b, steps := range lengths {
		if steps < 0 || steps > length {
			t.fail("sequence length %d, want one in [0,%d]", steps, length)
		}
		s := scanning{body: all.body, sub: all.sub, reverse: make([]bool, len(all.inputs)), axes: make([]int, len(all.inputs)), length: steps}
		for _, v := range all.states {
			s.states = append(s.states, entry(v, b))
		}
		for k, v := range all.inputs {
			v = t.narrow(entry(v, b), 0, 0, steps)
			if reverse[k] {
				v = t.do(op.Flip, []value{v}, op.Ints("axes", 0))
			}
			s.inputs = append(s.inputs, v)
		}
		last, outs := t.walkScan(s, slices.Concat(slices.Concat(states...), slices.Concat(scans...)))
		for k, v := range last {
			states[k] = append(states[k], v)
		}
		for k, vs := range outs {
			scans[k] = append(scans[k], t.padded(s, len(last)+k, vs, length))
		}
		t.pin(append(states, scans...)...)
	}
	var out []value
	for _, vs := range append(states, scans...) {
		out = append(out, t.stack(vs, 0))
	}
	return out
}

// padded stacks the results of a batch entry and pads them with zeros to length.
func (t *tracer) padded(s scanning, k int, vs []value, length int) value {
	var v value
	if len(vs) == 0 {
		v = t.none(s.sub, k, 0, func() []value { return t.probeScan(s) })
	} else {
		v = t.stack(vs, 0)
	}
	lo, hi := make([]int, v.rank()), make([]int, v.rank())
	hi[0] = length - v.shape()[0]
	return t.pad(v, lo, hi, op.Attr{})
}
