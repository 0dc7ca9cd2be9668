package autodiff

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// tape records the tensors of one device and the nodes that computed them.
type tape struct {
	below      core.Device
	target     program.Target // the device below
	gradients  core.Gradients // extension of the device below; nil if it lacks it
	checkpoint Checkpointing
	recipes    program.Memo[*recipe]

	mu       sync.Mutex // guards what follows, and is held by commands that record
	values   map[op.TensorID]*value
	programs map[core.ProgramID]*recorded
	open     [slots][]*queue
	sequence uint64

	// The current command: nodes and frees to pass on, tensors that it creates, tensors that the host releases with it. All of them are
	// empty between commands.
	out     []op.Node
	gone    []op.TensorID
	made    []*value
	parting []parted
	current op.Node   // the node that is being recorded
	descs   []op.Desc // descriptions of its operands
	nextID  func() op.TensorID

	dead  []op.TensorID // tensors to free with the next command, on any stream
	after uint64        // slots of the streams that used them

	kept      int64    // bytes of tensors whose elements the tape holds
	evictFrom int64    // after an eviction that freed too little: the value of kept at which eviction is tried again
	evictable []*value // oldest first, with a memory budget
}

// parted is a tensor that the host releases, and whether the command frees it.
type parted struct {
	v     *value
	freed bool
}

// value is a tensor of the device: its elements on the device below, and its position in the graph.
type value struct {
	desc    op.Desc
	tracked bool
	entry   *entry // entry that computed it; nil for leaves and constants
	linked  bool   // it is counted in entry.alive
	// host: the host has not freed it. saves: number of holds on its elements; own: number of these holds by entry itself. children: number
	// of entries that pass it a gradient. parting: the current command releases it.
	host, parting        bool
	saves, own, children int
	pinned               int    // number of backward passes that are reading it; if any, it is not evicted
	users                uint64 // slots of the streams that its release must wait for: see used
	// evicted: its elements are not kept, in spite of saves; they are recomputed from entry's operands.
	evicted bool
	live    bool // the elements exist below
	depth   int  // if evicted: number of entries to run again to recompute it
}

// entry is one node with tracked operands, or one custom gradient.
type entry struct {
	node     op.Node
	in       []*value
	out      []*value
	need     []bool // operands that are tracked
	rule     gradient.Rule
	custom   *core.CustomGradient
	saved    []*value // operands and results that the rule reads
	replay   []*value // operands kept to run the node again; nil if no result may be recomputed
	alive    int      // number of results that are referenced
	sequence uint64
}

func (t *tape) next() op.TensorID { return t.below.NewIDs(1) }

// note records a tensor that the host has.
func (t *tape) note(d op.Desc) *value {
	v := &value{desc: d, host: true, live: true}
	t.values[d.ID] = v
	return v
}

// define notes a tensor that the command creates.
func (t *tape) define(d op.Desc) *value {
	v := t.note(d)
	t.made = append(t.made, v)
	return v
}

// find returns the value of a tensor: nil for an unknown tensor, and an error for a tensor that the host has freed.
func (t *tape) find(id op.TensorID) (*value, error) {
	v := t.values[id]
	if v != nil && (!v.host || v.parting) {
		return nil, fmt.Errorf("%v: it was freed: %w", id, core.ErrUnknownTensor)
	}
	return v, nil
}

// tracks reports whether id is a leaf or was computed from one.
func (t *tape) tracks(id op.TensorID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.values[id]
	return v != nil && v.tracked
}

// freeByHost records that the command frees v for the host. It reports whether the command also frees the elements, which it does unless
// the tape needs them.
func (t *tape) freeByHost(v *value) (freed bool) {
	freed = v.saves == 0 || v.evicted
	t.parting = append(t.parting, parted{v, freed && v.live})
	v.parting = true
	if freed {
		v.live = false
		t.after |= v.users
	}
	return freed
}

// hold keeps the elements of v available.
func (t *tape) hold(v *value) *value {
	if v.saves++; v.saves == 1 && !v.evicted {
		t.kept += int64(v.desc.Bytes())
		if t.checkpoint.budget > 0 && v.entry != nil {
			t.evictable = append(t.evictable, v)
		}
	}
	return v
}

// unhold ends a hold. settle must follow.
func (t *tape) unhold(v *value) {
	if v.saves--; v.saves == 0 && !v.evicted {
		t.kept -= int64(v.desc.Bytes())
	}
}

// drop ends the host's hold on v.
func (t *tape) drop(v *value) {
	v.host = false
	t.settle(v)
}

// settle releases v and everything that only v held.
func (t *tape) settle(v *value) {
	for work := []*value{v}; len(work) > 0; {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if v.host {
			continue
		}
		if v.linked && v.children == 0 && !(v.evicted && v.saves > v.own) {
			v.linked = false
			if v.entry.alive--; v.entry.alive == 0 {
				work = append(work, t.forget(v.entry)...)
			}
		}
		if v.live && (v.saves == 0 || v.evicted) {
			v.live = false
			t.dead = append(t.dead, v.desc.ID)
			t.after |= v.users
		}
		if !v.live && !v.linked && v.saves == 0 && v.children == 0 && t.values[v.desc.ID] == v {
			delete(t.values, v.desc.ID)
		}
	}
}

// forget removes the references of e and returns the values to be settled.
func (t *tape) forget(e *entry) (loose []*value) {
	for i, p := range e.in {
		if e.need[i] {
			p.children--
			loose = append(loose, p)
		}
	}
	for _, p := range e.saved {
		if p.entry == e {
			p.own--
		}
	}
	for _, list := range [][]*value{e.saved, e.replay} {
		for _, p := range list {
			t.unhold(p)
		}
		loose = append(loose, list...)
	}
	e.saved, e.replay = nil, nil
	return loose
}

// node queues a node for the stream below, and records it if an operand is tracked.
func (t *tape) node(given *op.Node, mute bool) error {
	t.current = *given
	n := &t.current
	var buffer [8]*value
	in := buffer[:0]
	track := false
	for _, id := range n.Inputs {
		v := t.values[id]
		if v == nil { // the stream below reports the error
			t.out = append(t.out, *n)
			for _, d := range n.Outputs {
				t.define(d)
			}
			return nil
		}
		in = append(in, v)
		track = track || v.tracked
	}
	if track && !mute {
		r, ok := gradient.Of(n.Op)
		if ok && gradient.Conditional(n.Op) {
			ok = t.holds(n, slices.Clone(in))
		}
		if !ok && op.HasDecomposition(n.Op) && anyFloat(n.Outputs) {
			return t.expand(*n, in)
		}
		t.record(*n, in, r)
	} else {
		for _, d := range n.Outputs {
			t.define(d)
		}
	}
	// The host's drops are passed on unless the tape holds the operand.
	for i, v := range in {
		if i < 64 && n.Drop>>i&1 != 0 && !t.freeByHost(v) {
			n.Drop &^= 1 << i
		}
	}
	if op.Lookup(n.Op).Class == op.Primitive {
		t.out = append(t.out, *n)
		return nil
	}
	return t.lower(n, in)
}

// holds reports whether the gradient rule of n's op applies to n.
func (t *tape) holds(n *op.Node, in []*value) bool {
	return gradient.Holds(t.target, n, descsOf(in), func(i int) bool { return in[i].tracked })
}

// lower queues a composite node, decomposed if the backend below does not support it.
func (t *tape) lower(n *op.Node, in []*value) error {
	t.descs = t.descs[:0]
	for _, v := range in {
		t.descs = append(t.descs, v.desc)
	}
	nodes, free, err := t.target.Append(t.out, n, t.descs, t.nextID)
	t.out, t.gone = nodes, append(t.gone, free...)
	return err
}

func descsOf(values []*value) []op.Desc {
	descs := make([]op.Desc, len(values))
	for i, v := range values {
		descs[i] = v.desc
	}
	return descs
}

func anyFloat(ds []op.Desc) bool {
	for _, d := range ds {
		if d.DType.IsFloat() {
			return true
		}
	}
	return false
}

// expand records a node without a rule as its decomposition.
func (t *tape) expand(n op.Node, in []*value) error {
	descs := make([]op.Desc, len(in))
	for i, v := range in {
		descs[i] = v.desc
	}
	parts, _, err := op.Decompose(&n, descs, t.next)
	if err != nil {
		return err
	}
	results := map[op.TensorID]bool{}
	for _, d := range n.Outputs {
		results[d.ID] = true
	}
	var temporary []*value
	for _, p := range parts {
		if err := t.lowered(p); err != nil {
			return err
		}
		for _, d := range p.Outputs {
			if v := t.values[d.ID]; v != nil && !results[d.ID] {
				temporary = append(temporary, v)
			}
		}
	}
	for i, v := range in {
		if i < 64 && n.Drop>>i&1 != 0 {
			temporary = append(temporary, v)
		}
	}
	for _, v := range temporary {
		if t.freeByHost(v) {
			t.gone = append(t.gone, v.desc.ID)
		}
	}
	return nil
}

// lowered records a part of a decomposition, itself decomposed if the backend below does not support it.
func (t *tape) lowered(p op.Node) error {
	in := make([]*value, len(p.Inputs))
	descs := make([]op.Desc, len(p.Inputs))
	for i, id := range p.Inputs {
		v := t.values[id]
		if v == nil {
			return fmt.Errorf("autodiff: %v: operand %v: %w", p.Op, id, core.ErrUnknownTensor)
		}
		in[i], descs[i] = v, v.desc
	}
	_, ruled := gradient.Of(p.Op)
	ruled = ruled && op.Lookup(p.Op).Class != op.Custom // a custom op is decomposed if the device below does not support it
	if !ruled && t.target.Supports(&p, descs) != nil && op.HasDecomposition(p.Op) {
		return t.expand(p, in)
	}
	return t.node(&p, false)
}

// record creates the entry of n and its results.
func (t *tape) record(n op.Node, in []*value, r gradient.Rule) *entry {
	list := append(make([]*value, 0, len(in)+len(n.Outputs)), in...)
	e := &entry{node: n, in: list[:len(in):len(in)], out: list[len(in):], need: make([]bool, len(in)), rule: r, sequence: t.sequence}
	t.sequence++
	e.node.Inputs, e.node.Drop = nil, 0
	for i, v := range in {
		e.need[i] = v.tracked && v.desc.DType.IsFloat()
	}
	for _, d := range n.Outputs {
		v := t.define(d)
		if d.DType.IsFloat() {
			v.tracked, v.linked, v.entry = true, true, e
			e.alive++
		}
		e.out = append(e.out, v)
	}
	if e.alive == 0 {
		return e
	}
	for i, v := range in {
		if e.need[i] {
			v.children++
		}
	}
	t.plan(e)
	ins, outs := r.Reads(e.need)
	if some := bits.OnesCount64(ins&(1<<min(len(in), 64)-1)) + bits.OnesCount64(outs&(1<<min(len(e.out), 64)-1)); some > 0 {
		e.saved = make([]*value, 0, some)
	}
	for i, v := range in {
		if i < 64 && ins>>i&1 != 0 {
			e.saved = append(e.saved, t.hold(v))
		}
	}
	for i, v := range e.out {
		if outs>>i&1 != 0 {
			e.saved = append(e.saved, t.hold(v))
			if v.entry == e {
				v.own++
			}
		}
	}
	t.fit()
	return e
}
