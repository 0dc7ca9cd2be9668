package nv

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// HeuristicMode selects how cuDNN chooses engines. Its values are the numbers of cudnnBackendHeurMode_t.
type HeuristicMode int32

// Modes: A answers fast; B is slower and at times better; Fallback returns engines that work but may be slow.
const (
	HeuristicB        HeuristicMode = 1
	HeuristicFallback HeuristicMode = 2
	HeuristicA        HeuristicMode = 3
)

// Note is a property of an engine that affects results, by the number of cudnnBackendNumericalNote_t.
type Note int32

// Numerical notes.
const (
	NoteTensorCore       Note = 0 // with f32 inputs: they are rounded to tf32
	NoteDownConvert      Note = 1
	NoteReducedPrecision Note = 2
	NoteFFT              Note = 3
	NoteNondeterministic Note = 4
	NoteWinograd         Note = 5
)

// noteNativeGraph is the behaviour note of engines that can write themselves into a CUDA graph.
const noteNativeGraph = 3

// PlanOptions selects a plan.
type PlanOptions struct {
	Modes        []HeuristicMode // in order; nil means A, then Fallback
	Forbid       []Note          // engines with one of these notes are skipped
	MaxWorkspace uint64          // bytes; 0 means no limit
	// Accept is called for each plan that can be finalised, in order. A plan for which Accept returns an error is skipped. Accept may run
	// the plan on scratch buffers, or time it. A nil Accept accepts the first plan.
	Accept func(*Plan) error
}

// Plan is an engine that is ready to run a graph. Only one goroutine may use it at a time.
type Plan struct {
	Workspace   uint64 // bytes
	Engine      int64  // cuDNN's number of the engine for this kind of graph
	Notes       []Note
	NativeGraph bool // whether Populate and Update are supported
	h           *DNNHandle
	all         []descriptor
	plan        descriptor
	config      descriptor
}

// Build returns the first plan that the options and the device accept. If there is no such plan, the error wraps ErrUnsupported and
// says why the last candidates were refused.
func (g *DNNGraph) Build(o PlanOptions) (*Plan, error) {
	ops, err := g.operations()
	if err != nil {
		return nil, err
	}
	modes := o.Modes
	if modes == nil {
		modes = []HeuristicMode{HeuristicA, HeuristicFallback}
	}
	var reasons []error
	for _, mode := range modes {
		configs, err := g.h.configs(ops, mode)
		if err != nil {
			reasons = append(reasons, fmt.Errorf("heuristic %d: %w", mode, err))
		}
		for i, c := range configs {
			p, err := g.h.plan(c, &o)
			if err == nil {
				if err := g.h.destroyAll(configs[i+1:]); err != nil {
					return nil, errors.Join(err, p.Close())
				}
				return p, nil
			}
			reasons = append(reasons, err)
		}
	}
	if len(reasons) > 4 {
		reasons = reasons[len(reasons)-4:]
	}
	return nil, &Error{Library: dnnName, Call: "plan", Kind: ErrUnsupported,
		Text: fmt.Sprintf("no engine supports this graph: %v", errors.Join(reasons...))}
}

// configs returns the configurations of engines for a graph, the best first. The caller destroys them.
func (h *DNNHandle) configs(ops descriptor, mode HeuristicMode) (configs []descriptor, err error) {
	d, err := h.newDescriptor(kindHeuristic)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.destroy(d)) }()
	if err := errors.Join(h.setDescriptor(d, 201, ops), h.setEnum(d, 200, typeHeuristic, int32(mode)), h.finalize(d)); err != nil {
		return nil, err
	}
	n, err := h.get(d, 202, typeDescriptor, 0, nil)
	if err != nil || n == 0 {
		return nil, err
	}
	for range n {
		c, err := h.newDescriptor(kindConfig)
		if err != nil {
			return nil, errors.Join(err, h.destroyAll(configs))
		}
		configs = append(configs, c)
	}
	got, err := h.get(d, 202, typeDescriptor, n, unsafe.Pointer(&configs[0]))
	if err != nil {
		return nil, errors.Join(err, h.destroyAll(configs))
	}
	if got < n {
		err = h.destroyAll(configs[got:])
	}
	return configs[:min(got, n)], err
}

// plan creates a plan from an engine's configuration. The plan owns the configuration. If no plan is created, the configuration is
// destroyed.
func (h *DNNHandle) plan(config descriptor, o *PlanOptions) (*Plan, error) {
	p := &Plan{h: h, all: []descriptor{config}, config: config}
	err := p.inspect()
	if err == nil {
		err = p.allowed(o)
	}
	if err == nil {
		err = p.finalize(func(d descriptor) error { return h.setDescriptor(d, 401, p.config) })
	}
	if err == nil && o.MaxWorkspace != 0 && p.Workspace > o.MaxWorkspace {
		err = fmt.Errorf("engine %d: workspace: got %d bytes, want at most %d", p.Engine, p.Workspace, o.MaxWorkspace)
	}
	if err == nil && o.Accept != nil {
		err = o.Accept(p)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// inspect reads the engine of the plan's configuration and its notes.
func (p *Plan) inspect() error {
	h := p.h
	engine, err := h.newDescriptor(kindEngine)
	if err != nil {
		return err
	}
	p.all = append(p.all, engine)
	if _, err := h.get(p.config, 300, typeDescriptor, 1, unsafe.Pointer(&engine)); err != nil {
		return err
	}
	if _, err := h.get(engine, 1301, typeInt64, 1, unsafe.Pointer(&p.Engine)); err != nil {
		return err
	}
	notes := make([]Note, 16)
	n, err := h.get(engine, 1303, typeNote, len(notes), unsafe.Pointer(&notes[0]))
	if err != nil {
		return err
	}
	p.Notes = notes[:min(n, len(notes))]
	behaviors := make([]int32, 16)
	if n, err = h.get(engine, 1305, typeBehavior, len(behaviors), unsafe.Pointer(&behaviors[0])); err != nil {
		return err
	}
	for _, b := range behaviors[:min(n, len(behaviors))] {
		p.NativeGraph = p.NativeGraph || b == noteNativeGraph
	}
	p.NativeGraph = p.NativeGraph && h.dnn.c.populate.There()
	return nil
}

func (p *Plan) allowed(o *PlanOptions) error {
	for _, note := range p.Notes {
		for _, forbidden := range o.Forbid {
			if note == forbidden {
				return fmt.Errorf("engine %d has the numerical note %d", p.Engine, note)
			}
		}
	}
	return nil
}

// finalize creates the plan's descriptor. from sets the attributes from which the descriptor is created.
func (p *Plan) finalize(from func(d descriptor) error) error {
	h := p.h
	d, err := h.newDescriptor(kindPlan)
	if err != nil {
		return err
	}
	p.all = append(p.all, d)
	if err := errors.Join(h.set(d, 400, typeHandle, 1, unsafe.Pointer(&h.h)), from(d)); err != nil {
		return err
	}
	if err := h.finalize(d); err != nil {
		return fmt.Errorf("engine %d: %w", p.Engine, err)
	}
	var n int64
	if _, err := h.get(d, 402, typeInt64, 1, unsafe.Pointer(&n)); err != nil {
		return err
	}
	p.plan, p.Workspace = d, uint64(n)
	return nil
}

// Close destroys the plan. No run of it may be in progress, and no CUDA graph created from it may run again.
func (p *Plan) Close() error {
	err := p.h.destroyAll(p.all)
	p.all, p.plan = nil, 0
	return err
}

// Pack holds the device addresses of the tensors of a graph, and the host values of scalars.
type Pack struct {
	ids  []int64
	data []uintptr
	held []*[8]byte
}

// Set sets the address of a tensor. Setting it again replaces the address.
func (k *Pack) Set(t Tensor, p Ptr) { k.put(t.ID, uintptr(p), nil) }

// SetFloat32 sets the value of a scalar of type f32.
func (k *Pack) SetFloat32(t Tensor, v float32) {
	b := new([8]byte)
	*(*float32)(unsafe.Pointer(b)) = v
	k.put(t.ID, uintptr(unsafe.Pointer(b)), b)
}

func (k *Pack) put(id int64, at uintptr, held *[8]byte) {
	for i, have := range k.ids {
		if have == id {
			k.data[i], k.held[i] = at, held
			return
		}
	}
	k.ids, k.data, k.held = append(k.ids, id), append(k.data, at), append(k.held, held)
}

// pack creates a variant pack.
func (p *Plan) pack(k *Pack, workspace Ptr) (descriptor, error) {
	h := p.h
	d, err := h.newDescriptor(kindPack)
	if err != nil {
		return 0, err
	}
	err = errors.Join(h.set(d, 1001, typePointer, len(k.data), unsafe.Pointer(unsafe.SliceData(k.data))), h.setInts(d, 1000, k.ids),
		h.set(d, 1003, typePointer, 1, unsafe.Pointer(&workspace)))
	if err == nil {
		err = h.finalize(d)
	}
	if err != nil {
		return 0, errors.Join(err, h.destroy(d))
	}
	return d, nil
}

// Execute runs the plan on the handle's stream, with a workspace of Plan.Workspace bytes.
func (p *Plan) Execute(k *Pack, workspace Ptr) error {
	d, err := p.pack(k, workspace)
	if err != nil {
		return err
	}
	e := &p.h.dnn.c.execute
	code := e.Call(p.h.h, uintptr(p.plan), uintptr(d))
	runtime.KeepAlive(k) // host scalars
	return errors.Join(p.h.dnn.check(e, code), p.h.destroy(d))
}

// Populate writes the plan into an empty CUDA graph, for AddChild. Plans without NativeGraph are captured instead. The plan must live as
// long as the objects created from the graph.
func (p *Plan) Populate(k *Pack, workspace Ptr, g Graph) error {
	return p.onGraph(&p.h.dnn.c.populate, k, workspace, g)
}

// Update changes the addresses in a graph that Populate wrote.
func (p *Plan) Update(k *Pack, workspace Ptr, g Graph) error {
	return p.onGraph(&p.h.dnn.c.update, k, workspace, g)
}

func (p *Plan) onGraph(f *proc, k *Pack, workspace Ptr, g Graph) error {
	if !f.There() {
		return vendor.Missing(dnnName, f.Name)
	}
	d, err := p.pack(k, workspace)
	if err != nil {
		return err
	}
	code := f.Call(p.h.h, uintptr(p.plan), uintptr(d), uintptr(g))
	runtime.KeepAlive(k)
	return errors.Join(p.h.dnn.check(f, code), p.h.destroy(d))
}
