package onnx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// plan is a specialisation: the steps traced for one signature of inputs, as a tree. A step that reads data has a branch for each
// value that it has read.
type plan struct {
	signature string
	root      *step
	steps     int
	held      int64 // bytes that count against the budget; guarded by Session.mu
	owned     []*tensor.Tensor
	used      uint64 // tick of the last run
	users     int    // runs in progress
	forgotten bool   // its steps are dropped when its last run ends
	claims    map[link]chan struct{}
}

// claim reserves a place in the plan for the caller, so that other runs wait for the step there.
func (p *plan) claim(l link) {
	if p.claims == nil {
		p.claims = map[link]chan struct{}{}
	}
	p.claims[l] = make(chan struct{})
}

type stepKind uint8

const (
	stepRun    stepKind = iota + 1 // runs a program
	stepRead                       // reads a slot; branches by its content
	stepHost                       // calls a Go function; branches by the types of its results
	stepFinish                     // hands over the outputs
)

type step struct {
	kind    stepKind
	program *compiled // run
	in      []ref     // run
	donated []bool    // run: inputs with no later use, which the program may overwrite
	out     []int     // run, host: slots
	release []int     // run: slots with no later use
	slot    int       // read
	args    []hostArg // host
	host    hostFunc  // host
	outputs []output  // finish
	next    map[string]*step
	loose   bool // not part of the plan, which is full
}

// donate allows the program to overwrite the inputs that the step releases. An input that is bound twice is released after the step
// instead.
func (st *step) donate() {
	bound := map[int]int{}
	for _, f := range st.in {
		if f.constant == nil {
			bound[f.slot]++
		}
	}
	st.donated = make([]bool, len(st.in))
	for i, f := range st.in {
		st.donated[i] = f.constant == nil && bound[f.slot] == 1 && slices.Contains(st.release, f.slot)
	}
}

// ref binds an input of a program to a slot or a constant.
type ref struct {
	slot     int
	constant *data
}

// hostArg is an operand of a host op: known content, or a slot to read.
type hostArg struct {
	desc op.Desc
	data []byte // nil: read the slot
	slot int
}

type hostFunc func(in []hostTensor) ([]hostTensor, error)

// hostTensor is a tensor on the host: row-major, little-endian. The zero hostTensor is an operand that was left out.
type hostTensor struct {
	DType dtype.DType
	Shape shape.Shape
	Data  []byte
}

// output locates an output of the graph, in the structure of a Value.
type output struct {
	kind     Kind
	elem     dtype.DType
	slot     int
	constant *data
	copy     bool // the slot belongs to the caller, or was handed over already
	items    []output
}

// answer is the result of a step that reads data: the content of a slot, or the types of the results of a host op.
type answer struct {
	content []byte    // read
	types   []op.Desc // host
}

// key returns the branch that an answer selects.
func (a answer) key() string {
	if a.types != nil {
		var b strings.Builder
		for _, d := range a.types {
			b.WriteString(d.String())
			b.WriteByte(';')
		}
		return b.String()
	}
	if len(a.content) > 256 {
		sum := sha256.Sum256(a.content)
		return string(sum[:])
	}
	return string(a.content)
}

// link is a place in a plan: of a step, or where a step may be added.
type link struct {
	from *step // nil: the root
	key  string
}

func (p *plan) at(l link) *step {
	if l.from == nil {
		return p.root
	}
	return l.from.next[l.key]
}

func (p *plan) put(l link, s *step) {
	p.steps++
	if l.from == nil {
		p.root = s
		return
	}
	if l.from.next == nil {
		l.from.next = map[string]*step{}
	}
	l.from.next[l.key] = s
}

// run is one execution of a plan, by one goroutine.
type run struct {
	plan    *plan
	dev     *tensor.Device // device with a separate queue
	slots   []*tensor.Tensor
	inputs  int // leading slots, which belong to the caller
	answers []answer
	loose   []*step          // steps that were executed but are not part of the plan
	lent    []*tensor.Tensor // constants that loose steps use
	budget  *budget
	held    int64 // bytes of the budget that answers use
}

func (r *run) put(slot int, t *tensor.Tensor) {
	for len(r.slots) <= slot {
		r.slots = append(r.slots, nil)
	}
	r.slots[slot] = t
}

// release frees all remaining resources.
func (r *run) release() {
	for i, t := range r.slots {
		if i >= r.inputs && t != nil {
			t.Release()
		}
	}
	r.slots = nil
}

// execute executes one step other than the last.
func (r *run) execute(ctx context.Context, st *step) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, fmt.Errorf("onnx: %w: %w", core.ErrCanceled, context.Cause(ctx))
	}
	switch st.kind {
	case stepRun:
		return answer{}, r.program(st)
	case stepRead:
		n := int64(r.slots[st.slot].Desc().Bytes())
		if err := r.budget.take(n); err != nil {
			return answer{}, err
		}
		r.held += n
		b, err := content(ctx, r.slots[st.slot])
		a := answer{content: b}
		r.answers = append(r.answers, a)
		return a, err
	}
	a, err := r.host(ctx, st)
	r.answers = append(r.answers, a)
	return a, err
}

// content returns the elements of a tensor. They must not be changed.
func content(ctx context.Context, t *tensor.Tensor) ([]byte, error) {
	if b, ok := t.Known(); ok {
		return b, nil
	}
	return t.Bytes(ctx)
}

func (r *run) program(st *step) error {
	in := make([]*tensor.Tensor, len(st.in))
	for i, f := range st.in {
		if f.constant != nil {
			in[i] = f.constant.dev
		} else {
			in[i] = r.slots[f.slot]
		}
	}
	results, err := st.program.exec.RunOn(r.dev, in, st.donated)
	if err != nil {
		return err
	}
	for i, t := range results {
		r.put(st.out[i], t)
	}
	for _, i := range st.release {
		r.slots[i].Release()
		r.slots[i] = nil
	}
	return nil
}

func (r *run) host(ctx context.Context, st *step) (answer, error) {
	args := make([]hostTensor, len(st.args))
	var work int64 // elements of the operands, and of the numbers computed from them
	for _, a := range st.args {
		if a.desc.DType.Valid() {
			work += int64(a.desc.Bytes()) + volume(a.desc.Shape.Size(), 8)
		}
	}
	if err := r.budget.take(work); err != nil {
		return answer{}, err
	}
	defer r.budget.give(work)
	for i, a := range st.args {
		args[i] = hostTensor{a.desc.DType, a.desc.Shape, a.data}
		if a.data == nil && a.desc.DType.Valid() {
			b, err := content(ctx, r.slots[a.slot])
			if err != nil {
				return answer{}, err
			}
			args[i].Data = b
		}
	}
	results, err := st.host(args)
	if err != nil {
		return answer{}, err
	}
	a := answer{types: make([]op.Desc, len(results))}
	for i, h := range results {
		a.types[i] = op.Desc{DType: h.DType, Shape: h.Shape}
	}
	base := st.out[0]
	for i, h := range results {
		t, err := r.dev.FromBytes(ctx, h.DType, h.Shape, h.Data)
		if err != nil {
			return answer{}, err
		}
		r.put(base+i, t)
	}
	return a, nil
}

// hand returns an output of a run as a Value of the caller.
func (r *run) hand(o output) Value {
	switch o.kind {
	case TensorKind:
		var t *tensor.Tensor
		switch {
		case o.constant != nil:
			t = r.dev.Op(op.Copy, []*tensor.Tensor{o.constant.dev})[0]
		case o.copy:
			t = r.dev.Op(op.Copy, []*tensor.Tensor{r.slots[o.slot]})[0]
		default:
			t = r.slots[o.slot]
		}
		return TensorValue(t)
	case SequenceKind:
		vs := make([]Value, len(o.items))
		for i, e := range o.items {
			vs[i] = r.hand(e)
		}
		return SequenceValue(o.elem, vs...)
	}
	v := Value{kind: OptionalKind, elem: o.elem}
	for _, e := range o.items {
		v.items = append(v.items, r.hand(e))
	}
	return v
}
