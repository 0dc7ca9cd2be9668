package libtorch

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// trial identifies a kernel and an element type.
type trial struct {
	Op   string
	Type dtype.DType
}

// trials returns all kernels of the table with all of their types, sorted by op and type.
func trials() []trial {
	var all []trial
	for code, r := range rules {
		for _, d := range r.types.List() {
			all = append(all, trial{op.Lookup(code).Name, d})
		}
	}
	slices.SortFunc(all, func(a, b trial) int {
		if c := strings.Compare(a.Op, b.Op); c != 0 {
			return c
		}
		return int(a.Type) - int(b.Type)
	})
	return all
}

// sample returns a small node of an op, and its operands. d is the type of the node's first operand or, if the node has no operand, of its
// result.
func sample(code op.Code, d dtype.DType) (op.Node, []op.Desc, error) {
	t := func(dims ...int) op.Desc { return op.DescOf(d, dims...) }
	m, axes, axis := t(2, 3), op.Ints("axes", 1), op.Int("axis", 1)
	window := []op.Attr{op.Ints("window", 2, 2), op.Ints("strides", 1, 1), op.Ints("pad_lo", 0, 0), op.Ints("pad_hi", 0, 0), op.Ints("dilation", 1, 1)}
	pool := append([]op.Attr{op.Ints("overhang", 0, 0)}, window...)
	index := op.DescOf(dtype.I64, 2)
	type parts struct {
		in    []op.Desc
		attrs []op.Attr
	}
	special := map[op.Code]parts{
		op.Full:            {nil, []op.Attr{op.ScalarInt("value", 1), op.Type("dtype", d), op.Ints("shape", 2, 3)}},
		op.Iota:            {nil, []op.Attr{op.Type("dtype", d), op.Ints("shape", 2, 3)}},
		op.RandomBits:      {nil, []op.Attr{op.Int("seed", 1), op.Ints("shape", 2, 3), op.Type("dtype", d)}},
		op.RandomBitsAt:    {[]op.Desc{op.DescOf(d, 2)}, []op.Attr{op.Int("seed", 1), op.Ints("shape", 2, 3)}},
		op.Reshape:         {[]op.Desc{m}, []op.Attr{op.Ints("shape", 3, 2)}},
		op.Permute:         {[]op.Desc{m}, []op.Attr{op.Ints("axes", 1, 0)}},
		op.Expand:          {[]op.Desc{m}, []op.Attr{op.Ints("shape", 2, 2, 3)}},
		op.Slice:           {[]op.Desc{m}, []op.Attr{op.Ints("start", 0, 2), op.Ints("size", 2, 2), op.Ints("step", 1, -1)}},
		op.Pad:             {[]op.Desc{m}, []op.Attr{op.Ints("lo", 1, 0), op.Ints("hi", 0, -1)}},
		op.Flip:            {[]op.Desc{m}, []op.Attr{axes}},
		op.Concat:          {[]op.Desc{m, m}, []op.Attr{axis}},
		op.Gather:          {[]op.Desc{m, index}, []op.Attr{axis}},
		op.Scatter:         {[]op.Desc{m, index, t(2, 2)}, []op.Attr{axis}},
		op.GatherElements:  {[]op.Desc{m, op.DescOf(dtype.I64, 2, 3)}, []op.Attr{axis}},
		op.Embedding:       {[]op.Desc{m, index}, nil},
		op.Cast:            {[]op.Desc{m}, []op.Attr{op.Type("dtype", dtype.I32)}},
		op.Where:           {[]op.Desc{m, op.DescOf(dtype.F32, 2, 3), op.DescOf(dtype.F32, 2, 3)}, nil},
		op.MatMul:          {[]op.Desc{m, t(3, 2)}, nil},
		op.Linear:          {[]op.Desc{m, t(3, 2), t(2)}, nil},
		op.TriangularSolve: {[]op.Desc{t(2, 2), t(2, 1)}, nil},
		op.Conv: {[]op.Desc{t(1, 2, 4), t(2, 2, 3)}, []op.Attr{op.Ints("strides", 1), op.Ints("pad_lo", 1), op.Ints("pad_hi", 1),
			op.Ints("kernel_dilation", 1), op.Ints("input_dilation", 1)}},
		op.WindowReduce:      {[]op.Desc{t(2, 3, 3)}, append([]op.Attr{op.Str("reduce", "max")}, window...)},
		op.MaxPool:           {[]op.Desc{t(1, 2, 3, 3)}, pool},
		op.AvgPool:           {[]op.Desc{t(1, 2, 3, 3)}, pool},
		op.BatchNorm:         {[]op.Desc{t(1, 2, 3), t(2), t(2), t(2), t(2)}, nil},
		op.GroupNorm:         {[]op.Desc{t(1, 2, 3), t(2), t(2)}, []op.Attr{op.Int("groups", 1)}},
		op.LayerNorm:         {[]op.Desc{m, t(3), t(3)}, []op.Attr{axis}},
		op.RMSNorm:           {[]op.Desc{m, t(3)}, []op.Attr{axis}},
		op.FFT:               {[]op.Desc{t(3, 2)}, []op.Attr{op.Int("axis", 0)}},
		op.IRFFT:             {[]op.Desc{t(3, 2)}, []op.Attr{op.Int("axis", 0), op.Int("n", 4)}},
		op.Cholesky:          {[]op.Desc{t(1, 1)}, nil},
		op.LU:                {[]op.Desc{t(2, 1)}, nil},
		op.Det:               {[]op.Desc{t(1, 1)}, nil},
		op.SlogDet:           {[]op.Desc{t(1, 1)}, nil},
		op.Inverse:           {[]op.Desc{t(1, 1)}, nil},
		op.Solve:             {[]op.Desc{t(1, 1), t(1, 2)}, nil},
		op.MatrixPower:       {[]op.Desc{t(2, 2)}, []op.Attr{op.Int("n", 3)}},
		op.Eigh:              {[]op.Desc{t(2, 2)}, nil},
		op.Attention:         {[]op.Desc{t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)}, []op.Attr{op.Flag("causal", true)}},
		op.AttentionGradient: {slices.Repeat([]op.Desc{t(1, 2, 3, 4)}, 5), []op.Attr{op.Flag("causal", true)}},
	}
	n, ok := special[code]
	if !ok {
		row := op.Lookup(code)
		for _, o := range row.Operands {
			if !o.Optional {
				n.in = append(n.in, m)
			}
		}
		for _, a := range row.Attrs {
			switch a.Name {
			case "axes":
				n.attrs = append(n.attrs, axes)
			case "axis":
				n.attrs = append(n.attrs, axis)
			}
		}
	}
	node, err := op.New(code, n.in, n.attrs...)
	return node, n.in, err
}

// try runs a kernel once and returns its error. All operands are ones, except indices and all operands of ops with indices, which are
// zeros.
func (w *worker) try(code op.Code, d dtype.DType) error {
	node, in, err := sample(code, d)
	if err != nil {
		return fmt.Errorf("no sample: %w", err)
	}
	c := &command{kind: doNode, node: node}
	var held []torch.Handle
	defer func() { w.thread.Delete(held...) }()
	for i, desc := range in {
		one := 1
		if i > 0 && desc.DType == dtype.I64 && d != dtype.I64 || code == op.Gather || code == op.Scatter || code == op.GatherElements || code == op.Embedding {
			one = 0
		}
		w.err, w.made = nil, nil
		v := w.fill(desc.DType, desc.Shape, op.ScalarInt("", int64(one)).Value)
		if w.err != nil {
			return w.err
		}
		held = append(held, v.h)
		c.in = append(c.in, &tensor{desc: desc, h: v.h})
	}
	for _, desc := range node.Outputs {
		c.out = append(c.out, &tensor{desc: desc})
	}
	err = w.node(c)
	for _, t := range c.out {
		held = append(held, t.h)
	}
	return err
}

// selfTest runs all trials that are not in skip, and calls before and after around each.
func (d *driver) selfTest(index int, skip map[trial]bool, before func(trial), after func(trial, error)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := d.open(index)
	x.check = true
	w := newWorker(x, d.lib.Thread())
	for _, t := range trials() {
		code, _ := op.ByName(t.Op)
		r := rules[code]
		if skip[t] || !r.runs(d.lib) {
			continue
		}
		before(t)
		after(t, w.try(code, t.Type))
	}
	x.Close()
}
