package fusion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// The text of programs is JSON: a head, then one object for each program. It has what was written, no compiled code, and
// nothing of the device.

type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

var textHead = head{"burn fusion", 1}

// Limits of a text.
const (
	mostText  = 64 << 20
	mostTexts = 4096
	mostTypes = 1 << 16
)

type planText struct {
	Tensors []typeText `json:"tensors"`
	Nodes   []nodeText `json:"nodes"`
	Freed   []int      `json:"freed,omitempty"`
	Apart   []int      `json:"apart,omitempty"` // sources with whatever attributes
}

type typeText struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

type nodeText struct {
	Op      string     `json:"op"`
	Version uint16     `json:"version"`
	In      []int      `json:"in,omitempty"`
	Out     []int      `json:"out"`
	Attrs   []attrText `json:"attrs,omitempty"`
}

type attrText struct {
	Name   string   `json:"name"`
	Kind   op.Kind  `json:"kind"`
	Bits   uint64   `json:"bits,omitempty"`
	Int    bool     `json:"int,omitempty"`
	Str    string   `json:"str,omitempty"`
	Ints   []int    `json:"ints,omitempty"`
	Floats []uint64 `json:"floats,omitempty"` // bits
}

// Save writes the programs of all open devices as text, the one used last at the end.
func (r *Report) Save(w io.Writer) error {
	r.mu.Lock()
	var plans []*plan
	for _, d := range r.devices {
		plans = append(plans, d.cache.kept()...)
	}
	r.mu.Unlock()
	e := json.NewEncoder(w)
	if err := e.Encode(textHead); err != nil {
		return fmt.Errorf("fusion: save: %w", err)
	}
	for _, p := range plans {
		if err := e.Encode(p.text()); err != nil {
			return fmt.Errorf("fusion: save %s: %w", p.name, err)
		}
	}
	return nil
}

// kept is the plans that run, the one used last at the end.
func (c *cache) kept() []*plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ps []*plan
	for e := c.order.Back(); e != nil; e = e.Prev() {
		if p := e.Value.(*plan); p.broken == "" {
			ps = append(ps, p)
		}
	}
	return ps
}

func (p *plan) text() planText {
	t := planText{}
	for local, d := range p.types {
		t.Tensors = append(t.Tensors, typeText{d.DType.String(), append([]int{}, d.Shape...)})
		if p.isDead(int32(local)) {
			t.Freed = append(t.Freed, local)
		}
	}
	for i := range p.nodes {
		n := nodeText{Op: p.nodes[i].Op.String(), Version: p.nodes[i].Version}
		for _, a := range p.operands(i) {
			n.In = append(n.In, int(a))
		}
		for l := int(p.first[i]); l < len(p.maker) && p.maker[l] == int32(i); l++ {
			n.Out = append(n.Out, l)
		}
		for _, a := range p.nodes[i].Attrs {
			n.Attrs = append(n.Attrs, textOf(a))
		}
		if p.lifted != nil && p.lifted[i] {
			t.Apart = append(t.Apart, i)
		}
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

func textOf(a op.Attr) attrText {
	v := a.Value
	t := attrText{Name: a.Name, Kind: v.Kind(), Str: v.Str(), Ints: v.Ints()}
	t.Bits, t.Int = v.Bits()
	for _, f := range v.Floats() {
		t.Floats = append(t.Floats, math.Float64bits(f))
	}
	return t
}

func (t attrText) attr() (op.Attr, error) {
	switch t.Kind {
	case op.KindString:
		return op.Str(t.Name, t.Str), nil
	case op.KindInts:
		return op.Ints(t.Name, t.Ints...), nil
	case op.KindFloats:
		fs := make([]float64, len(t.Floats))
		for i, b := range t.Floats {
			fs[i] = math.Float64frombits(b)
		}
		return op.Floats(t.Name, fs...), nil
	case op.KindInt, op.KindFloat, op.KindBool, op.KindDType, op.KindScalar:
		return op.Attr{Name: t.Name, Value: op.NumberValue(t.Kind, t.Bits, t.Int)}, nil
	}
	return op.Attr{}, fmt.Errorf("attribute %q is of kind %d: %w", t.Name, t.Kind, core.ErrAttr)
}

// Load reads what Save wrote, and checks it: devices that are opened from now on with r know these programs, and run them at
// the first sight. A text that is damaged, or of another format, is an error, and changes nothing. Programs with ops that this
// build does not have, or has in another version, are left out.
func (r *Report) Load(from io.Reader) error {
	d := json.NewDecoder(io.LimitReader(from, mostText))
	var h head
	if err := d.Decode(&h); err != nil {
		return fmt.Errorf("fusion: load: %w: %w", err, core.ErrProtocol)
	}
	if h != textHead {
		return fmt.Errorf("fusion: load: format %q, version %d, want %q, version %d: %w", h.Format, h.Version, textHead.Format, textHead.Version, core.ErrProtocol)
	}
	var plans []*plan
	for i := 0; ; i++ {
		var t planText
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && i >= mostTexts {
			err = fmt.Errorf("more than %d programs", mostTexts)
		}
		if err != nil {
			return fmt.Errorf("fusion: load: program %d: %w: %w", i, err, core.ErrProtocol)
		}
		p, err := t.plan()
		switch {
		case errors.Is(err, core.ErrUnsupported):
		case err != nil:
			return fmt.Errorf("fusion: load: program %d: %w", i, err)
		default:
			plans = append(plans, p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = append(r.loaded, plans...)
	r.loaded = r.loaded[max(0, len(r.loaded)-mostTexts):]
	return nil
}

// plan checks a text and records it as a stream would.
func (t *planText) plan() (*plan, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf(format+": %w", append(args, core.ErrProtocol)...)
	}
	if len(t.Nodes) == 0 || len(t.Nodes) > mostNodes || len(t.Tensors) > mostTypes {
		return nil, bad("%d nodes and %d tensors", len(t.Nodes), len(t.Tensors))
	}
	types := make([]op.Desc, len(t.Tensors))
	for i, x := range t.Tensors {
		dt, err := dtype.Parse(x.DType)
		if err != nil {
			return nil, bad("tensor %d: %w", i, err)
		}
		types[i] = op.Desc{ID: op.TensorID(i + 1), DType: dt, Shape: x.Shape}
		if err := types[i].Shape.Check(); err != nil {
			return nil, bad("tensor %d: %w", i, err)
		}
	}
	tensor := func(i int) (op.Desc, error) {
		if i < 0 || i >= len(types) {
			return op.Desc{}, bad("tensor %d of %d", i, len(types))
		}
		return types[i], nil
	}
	w := window{hooks: &hooks{}, find: func(id op.TensorID) (op.Desc, bool) {
		d, err := tensor(int(id) - 1)
		return d, err == nil
	}}
	w.table.clear()
	for i := range t.Nodes {
		n, err := t.Nodes[i].node(tensor)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		kind, values := hashNode(&n, w.hooks)
		w.add(&n, kind, values)
	}
	for _, i := range t.Freed {
		if !w.free(op.TensorID(i + 1)) {
			return nil, bad("tensor %d is freed and not used", i)
		}
	}
	if w.odd != "" {
		return nil, bad("%s", w.odd)
	}
	var lifted []bool
	for _, i := range t.Apart {
		if i < 0 || i >= len(w.nodes) || !source(&w.nodes[i]) {
			return nil, bad("node %d is no source", i)
		}
		if lifted == nil {
			lifted = make([]bool, len(w.nodes))
		}
		lifted[i] = true
	}
	p := newPlan(&w, lifted)
	p.name = "loaded"
	whole := newPlan(&w, nil)
	if err := whole.program().Check(); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return p, nil
}

// node is the node of a text.
func (t *nodeText) node(tensor func(int) (op.Desc, error)) (op.Node, error) {
	code, ok := op.ByName(t.Op)
	if !ok || op.Lookup(code).Version != t.Version {
		return op.Node{}, fmt.Errorf("op %q, version %d: %w", t.Op, t.Version, core.ErrUnsupported)
	}
	n := op.Node{Op: code, Version: t.Version}
	for _, i := range t.In {
		d, err := tensor(i)
		if err != nil {
			return n, err
		}
		n.Inputs = append(n.Inputs, d.ID)
	}
	for _, i := range t.Out {
		d, err := tensor(i)
		if err != nil {
			return n, err
		}
		n.Outputs = append(n.Outputs, d)
	}
	for _, a := range t.Attrs {
		at, err := a.attr()
		if err != nil {
			return n, err
		}
		n.Attrs = append(n.Attrs, at)
	}
	return n, nil
}
