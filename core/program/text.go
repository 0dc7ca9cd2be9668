package program

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// The JSON form of a program contains names and versions of ops, and names of types, so it has the same meaning in every build that has
// these ops. Floats are written as their bits.

type programText struct {
	Name    string        `json:"name,omitempty"`
	Inputs  []tensorText  `json:"inputs,omitempty"`
	Consts  []tensorText  `json:"consts,omitempty"`
	Nodes   []nodeText    `json:"nodes"`
	Outputs []op.TensorID `json:"outputs"`
}

type tensorText struct {
	ID    op.TensorID `json:"id"`
	DType string      `json:"dtype"`
	Shape []int       `json:"shape"`
}

type nodeText struct {
	Op      string        `json:"op"`
	Version uint16        `json:"version"`
	In      []op.TensorID `json:"in,omitempty"`
	Out     []tensorText  `json:"out"`
	Attrs   []attrText    `json:"attrs,omitempty"`
	Drop    uint64        `json:"drop,omitempty"`
}

type attrText struct {
	Name   string   `json:"name"`
	Kind   op.Kind  `json:"kind"`
	Bits   uint64   `json:"bits,omitempty"`
	Int    bool     `json:"int,omitempty"`
	Str    []byte   `json:"str,omitempty"`
	Ints   []int    `json:"ints,omitempty"`
	Floats []uint64 `json:"floats,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (p *Program) MarshalJSON() ([]byte, error) {
	t := programText{Name: p.Name, Inputs: tensorTexts(p.Inputs), Consts: tensorTexts(p.Consts), Nodes: make([]nodeText, len(p.Nodes)),
		Outputs: append([]op.TensorID{}, p.Outputs...)}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		t.Nodes[i] = nodeText{Op: n.Op.String(), Version: n.Version, In: n.Inputs, Out: tensorTexts(n.Outputs), Drop: n.Drop}
		for _, a := range n.Attrs {
			x := attrText{Name: a.Name, Kind: a.Value.Kind(), Str: []byte(a.Value.Str()), Ints: a.Value.Ints()}
			x.Bits, x.Int = a.Value.Bits()
			for _, f := range a.Value.Floats() {
				x.Floats = append(x.Floats, math.Float64bits(f))
			}
			t.Nodes[i].Attrs = append(t.Nodes[i].Attrs, x)
		}
	}
	return json.Marshal(t)
}

func tensorTexts(ds []op.Desc) []tensorText {
	var ts []tensorText
	for _, d := range ds {
		ts = append(ts, tensorText{d.ID, d.DType.String(), append([]int{}, d.Shape...)})
	}
	return ts
}

// UnmarshalJSON implements json.Unmarshaler. It only checks the syntax: call Check on the result. For an op or version that this build does
// not have it returns op.ErrUnsupported.
func (p *Program) UnmarshalJSON(data []byte) error {
	var t programText
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	q := Program{Name: t.Name, Outputs: t.Outputs}
	var err error
	if q.Inputs, err = descs(t.Inputs); err != nil {
		return err
	}
	if q.Consts, err = descs(t.Consts); err != nil {
		return err
	}
	for i := range t.Nodes {
		n, err := t.Nodes[i].node()
		if err != nil {
			return fmt.Errorf("program: node %d: %w", i, err)
		}
		q.Nodes = append(q.Nodes, n)
	}
	*p = q
	return nil
}

func descs(ts []tensorText) ([]op.Desc, error) {
	var ds []op.Desc
	for _, t := range ts {
		dt, err := dtype.Parse(t.DType)
		if err != nil {
			return nil, fmt.Errorf("program: %v: %w: %w", t.ID, err, op.ErrDType)
		}
		ds = append(ds, op.Desc{ID: t.ID, DType: dt, Shape: t.Shape})
	}
	return ds, nil
}

func (t *nodeText) node() (op.Node, error) {
	code, ok := op.ByName(t.Op)
	if !ok || op.Lookup(code).Version != t.Version {
		return op.Node{}, fmt.Errorf("op %q, version %d: %w", t.Op, t.Version, op.ErrUnsupported)
	}
	n := op.Node{Op: code, Version: t.Version, Inputs: t.In, Drop: t.Drop}
	var err error
	if n.Outputs, err = descs(t.Out); err != nil {
		return n, err
	}
	for _, a := range t.Attrs {
		switch a.Kind {
		case op.KindString:
			n.Attrs = append(n.Attrs, op.Str(a.Name, string(a.Str)))
		case op.KindInts:
			n.Attrs = append(n.Attrs, op.Ints(a.Name, a.Ints...))
		case op.KindFloats:
			fs := make([]float64, len(a.Floats))
			for i, b := range a.Floats {
				fs[i] = math.Float64frombits(b)
			}
			n.Attrs = append(n.Attrs, op.Floats(a.Name, fs...))
		case op.KindInt, op.KindFloat, op.KindBool, op.KindDType, op.KindScalar:
			n.Attrs = append(n.Attrs, op.Attr{Name: a.Name, Value: op.NumberValue(a.Kind, a.Bits, a.Int)})
		default:
			return n, fmt.Errorf("attribute %q is of kind %d: %w", a.Name, a.Kind, op.ErrAttr)
		}
	}
	return n, nil
}
