package program

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Precision describes how an op takes part in mixed precision.
type Precision uint8

// The kinds of ops in mixed precision, after Micikevicius et al., Mixed Precision Training, ICLR 2018.
const (
	Either Precision = iota // computes in the type of its operands, or in f32 if they differ
	Narrow                  // a product: the factors are rounded once to the narrow type, and their products are summed in f32 or better
	Wide                    // needs the range or the precision of f32
)

// PrecisionOf returns the kind of an op.
func PrecisionOf(c op.Code) Precision {
	switch row := op.Lookup(c); {
	case c == op.Cast || row == nil:
		return Either
	case inNarrow[c]:
		return Narrow
	case inWide[c], row.Tolerance.PerTerm && !row.Traits.Has(op.Elementwise):
		return Wide
	}
	return Either
}

var inNarrow = codes(op.MatMul, op.Linear, op.Conv, op.ConvTranspose, op.DeformConv, op.Einsum, op.Attention, op.AttentionGradient, op.RNN, op.LSTM, op.GRU)

// inWide lists the elementwise ops whose results exceed the range of f16, or have few correct bits in bf16. Ops that accumulate many terms,
// except products, are also wide.
var inWide = codes(op.Exp, op.Exp2, op.Expm1, op.Log, op.Log1p, op.Log2, op.Log10, op.LogAddExp, op.Pow, op.Square, op.Reciprocal, op.Rsqrt,
	op.Tan, op.Asin, op.Acos, op.Sinh, op.Cosh, op.Acosh, op.Atanh, op.Softplus, op.LogSigmoid)

func codes(list ...op.Code) map[op.Code]bool {
	m := make(map[op.Code]bool, len(list))
	for _, c := range list {
		m[c] = true
	}
	return m
}

// Autocast returns p in mixed precision. The operands and results of f32 products become narrow, dtype.BF16 or dtype.F16. Ops that
// PrecisionOf calls wide compute in f32, and all others in the type of their operands. In elementwise and exact ops, constants are cast to
// the type of the other operands. Operands of other types, inputs and outputs keep their types. p is not changed.
//
// Constant i of the result is constant from[i] of p, cast to the type that the result declares. supports reports which nodes the backend
// supports, as for Rewrite: nodes that it does not support in narrow are computed in f32. A nil supports accepts all nodes.
func (p *Program) Autocast(narrow dtype.DType, supports func(n *op.Node, in []op.Desc) bool) (q *Program, from []int, err error) {
	a := &autocast{narrow: narrow, supports: supports, descs: map[op.TensorID]op.Desc{}, constant: map[op.TensorID]int{}, fills: map[op.TensorID]*op.Node{},
		wide: map[op.TensorID]bool{}, other: map[cast]op.TensorID{}}
	a.q = *p
	a.q.Consts, a.q.Nodes, a.q.Outputs = nil, nil, nil
	a.define(p.Inputs)
	a.define(p.Consts)
	for i, d := range p.Consts {
		a.constant[d.ID] = i
	}
	for i := range p.Nodes {
		a.define(p.Nodes[i].Outputs)
	}
	for i := range p.Nodes {
		if err := a.node(&p.Nodes[i]); err != nil {
			return nil, nil, err
		}
	}
	types := p.OutputDescs()
	for i, id := range p.Outputs {
		out, err := a.as(id, types[i].DType)
		if err != nil {
			return nil, nil, err
		}
		a.q.Outputs = append(a.q.Outputs, out)
	}
	return a.q.Live(), a.from, nil
}

// autocast is a program that is being converted.
type autocast struct {
	q        Program
	from     []int
	narrow   dtype.DType
	supports func(n *op.Node, in []op.Desc) bool

	descs    map[op.TensorID]op.Desc // tensors of q
	constant map[op.TensorID]int
	fills    map[op.TensorID]*op.Node // nodes of op full, by their result
	wide     map[op.TensorID]bool     // tensors that were f32 in the program
	other    map[cast]op.TensorID     // ids of tensors that were cast to another type
	last     op.TensorID
}

type cast struct {
	id op.TensorID
	to dtype.DType
}

func (a *autocast) define(ds []op.Desc) {
	for _, d := range ds {
		a.descs[d.ID] = d
		a.last = max(a.last, d.ID)
		if d.DType == dtype.F32 {
			a.wide[d.ID] = true
		}
	}
}

// live reports whether id is neither a constant nor a fill.
func (a *autocast) live(id op.TensorID) bool {
	_, is := a.constant[id]
	return !is && a.fills[id] == nil
}

// as returns the id of a value in a type. It adds a cast if necessary.
func (a *autocast) as(id op.TensorID, to dtype.DType) (op.TensorID, error) {
	k, isConst := a.constant[id]
	if d := a.descs[id]; d.DType == to && !isConst {
		return id, nil
	}
	if other, ok := a.other[cast{id, to}]; ok {
		return other, nil
	}
	d := a.descs[id]
	d.DType = to
	var err error
	switch fill := a.fills[id]; {
	case isConst:
		if d.ID = id; to != a.descs[id].DType {
			d.ID = a.next()
		}
		a.q.Consts, a.from = append(a.q.Consts, d), append(a.from, k)
	case fill != nil:
		d.ID, err = a.emit(op.Full, nil, op.Attr{Name: "value", Value: fill.Attrs.Value("value")}, op.Type("dtype", to), op.Dims("shape", d.Shape))
	default:
		d.ID, err = a.emit(op.Cast, []op.Desc{a.descs[id]}, op.Type("dtype", to))
	}
	a.descs[d.ID] = d
	a.other[cast{id, to}] = d.ID
	return d.ID, err
}

func (a *autocast) next() op.TensorID {
	a.last++
	return a.last
}

// emit appends a node with one result and returns its id.
func (a *autocast) emit(c op.Code, in []op.Desc, attrs ...op.Attr) (op.TensorID, error) {
	n, err := op.New(c, in, attrs...)
	if err != nil {
		return 0, err
	}
	n.Outputs[0].ID = a.next()
	a.q.Nodes = append(a.q.Nodes, n)
	return n.Outputs[0].ID, nil
}

// node appends a node in the type that it computes in.
func (a *autocast) node(n *op.Node) error {
	if to := a.choose(n); to == a.narrow {
		ok, err := a.put(n, to)
		if ok || err != nil {
			return err
		}
	}
	_, err := a.put(n, dtype.F32)
	return err
}

// choose returns the type that f32 operands are cast to.
func (a *autocast) choose(n *op.Node) dtype.DType {
	switch PrecisionOf(n.Op) {
	case Narrow:
		return a.narrow
	case Wide:
		return dtype.F32
	}
	thin, constants := false, false
	for _, id := range n.Inputs {
		switch {
		case !a.wide[id]:
		case !a.live(id):
			constants = true
		case a.descs[id].DType == dtype.F32:
			return dtype.F32
		default:
			thin = true
		}
	}
	row := op.Lookup(n.Op)
	if !thin || row == nil || constants && !row.Tolerance.Exact && !row.Traits.Has(op.Elementwise) {
		return dtype.F32
	}
	return a.narrow
}

// put appends n with f32 operands cast to a type. It reports false, and appends nothing, if that is illegal or not supported.
func (a *autocast) put(n *op.Node, to dtype.DType) (bool, error) {
	in, change := make([]op.Desc, len(n.Inputs)), to == a.narrow
	for i, id := range n.Inputs {
		if in[i] = a.descs[id]; a.wide[id] {
			in[i].DType = to
			change = change || a.descs[id].DType != to
		}
	}
	m := *n
	if change {
		var err error
		if m, err = op.New(n.Op, in, n.Attrs...); err != nil || len(m.Outputs) != len(n.Outputs) {
			return false, nil
		}
		if to == a.narrow && a.supports != nil && !a.supports(&m, in) {
			return false, nil
		}
	}
	m.Drop = 0
	m.Inputs = make([]op.TensorID, len(n.Inputs))
	for i, id := range n.Inputs {
		t := a.descs[id].DType
		if a.wide[id] {
			t = to
		}
		var err error
		if m.Inputs[i], err = a.as(id, t); err != nil {
			return false, err
		}
	}
	m.Outputs = append([]op.Desc(nil), m.Outputs...)
	for i := range m.Outputs {
		m.Outputs[i].ID = n.Outputs[i].ID
		a.descs[m.Outputs[i].ID] = m.Outputs[i]
	}
	if n.Op == op.Full && a.wide[n.Outputs[0].ID] {
		a.fills[n.Outputs[0].ID] = n
	}
	a.q.Nodes = append(a.q.Nodes, m)
	return true, nil
}
