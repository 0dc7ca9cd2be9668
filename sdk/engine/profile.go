package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// profiling is core.Profiling of a device.
type profiling[V any] struct{ d *device[V] }

// StartProfile implements core.Profiling.
func (x profiling[V]) StartProfile(ctx context.Context) error {
	d := x.d
	if err := d.use(); err != nil {
		return err
	}
	defer d.using.Done()
	if ctx.Err() != nil {
		return d.backend.canceled(ctx)
	}
	if !d.profile.CompareAndSwap(nil, newRecording()) {
		return fmt.Errorf("%s: start profile: the device records already: %w", d.backend.name(), core.ErrAttr)
	}
	return nil
}

// StopProfile implements core.Profiling.
func (x profiling[V]) StopProfile(ctx context.Context) (*core.Profile, error) {
	d := x.d
	if err := d.use(); err != nil {
		return nil, err
	}
	defer d.using.Done()
	if ctx.Err() != nil {
		return nil, d.backend.canceled(ctx)
	}
	r := d.profile.Swap(nil)
	if r == nil {
		return nil, fmt.Errorf("%s: stop profile: the device does not record: %w", d.backend.name(), core.ErrNotFound)
	}
	return r.end(), nil
}

// recording collects what a device has executed since StartProfile.
type recording struct {
	began time.Time

	mu      sync.Mutex // guards the fields below
	ended   bool
	profile core.Profile
	at      map[any]int // index of a step by its identity
}

func newRecording() *recording { return &recording{began: time.Now(), at: map[any]int{}} }

// end returns the profile. Commands that still execute are not added to it.
func (r *recording) end() *core.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return &r.profile
}

// add records one execution of the step that key identifies. It calls describe once for each step.
func (r *recording) add(key any, stream int, began time.Time, took time.Duration, describe func() core.ProfileStep) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.profile
	i, known := r.at[key]
	switch {
	case r.ended:
		return
	case len(p.Records) >= core.MaxProfileRecords || !known && len(p.Steps) >= core.MaxProfileSteps:
		p.Dropped++
		return
	case !known:
		i = len(p.Steps)
		r.at[key] = i
		p.Steps = append(p.Steps, describe())
	}
	p.Records = append(p.Records, core.ProfileRecord{Step: i, Stream: stream, Start: max(0, began.Sub(r.began)), Duration: took})
}

// watch times one command of a stream. A nil watch, of a device that does not record, does nothing.
type watch struct {
	recording *recording
	stream    int
	began     time.Time
	took      time.Duration
	async     bool
}

// watch begins to time a command. An asynchronous queue first completes its earlier work.
func (s *stream[V]) watch() *watch {
	r := s.dev.profile.Load()
	if r == nil {
		return nil
	}
	if s.async != nil {
		_ = s.flush() // failures are reported by their own commands
	}
	return &watch{recording: r, stream: s.number, async: s.async != nil}
}

func (w *watch) start() {
	if w != nil {
		w.began = time.Now()
	}
}

func (w *watch) stop() {
	if w != nil {
		w.took = time.Since(w.began)
	}
}

// settle waits for the work of an asynchronous queue.
func (w *watch) settle(flush func() error) {
	if w.async {
		_ = flush() // failures are reported by their own commands
		w.stop()
	}
}

// node records the execution of a node that was submitted by itself. Equal nodes are one step.
func (w *watch) node(n *op.Node, in []op.Desc) {
	var key strings.Builder
	fmt.Fprintf(&key, "%v %v", n.Op, in)
	for _, o := range n.Outputs {
		fmt.Fprintf(&key, " %v", o)
	}
	w.recording.add(key.String(), w.stream, w.began, w.took, func() core.ProfileStep { return StepOf(n, in) })
}

// run records the whole run of a program.
func (w *watch) run(key any, p *program.Program) {
	w.recording.add(key, w.stream, w.began, w.took, func() core.ProfileStep {
		return core.ProfileStep{Program: p.Name, Index: core.WholeRun, In: nameless(p.Inputs), Out: nameless(p.OutputDescs())}
	})
}

// run runs the plan. If the device records and the plan can time its steps, it records them.
func (p *defined[V]) run(q Queue[V], in []V, owned []bool, out []V, w *watch) error {
	if w != nil {
		if x, ok := p.plan.(Profiled[V]); ok {
			return x.RunProfiled(q, in, owned, out, &Steps{w, p, p.program.Name})
		}
	}
	return p.plan.Run(q, in, owned, out)
}

// Steps records the times of the steps of one run. A nil Steps records nothing. Only one goroutine may use a Steps.
type Steps struct {
	watch   *watch
	program any
	name    string
}

// stepKey is the identity of a step of a program.
type stepKey struct {
	program any
	index   int
}

// Now returns the current time, for the beginning of a step. A nil Steps returns the zero time.
func (t *Steps) Now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// Step records the execution of the step with that index. The execution began at began, a time from Now, and has just ended. Step calls
// describe at the first execution of the step, and sets Program and Index of the description.
func (t *Steps) Step(index int, began time.Time, describe func() core.ProfileStep) {
	if t != nil {
		t.Took(index, began, time.Since(began), describe)
	}
}

// Took is like Step, for an execution whose duration the device measured.
func (t *Steps) Took(index int, began time.Time, took time.Duration, describe func() core.ProfileStep) {
	if t == nil {
		return
	}
	t.watch.recording.add(stepKey{t.program, index}, t.watch.stream, began, took, func() core.ProfileStep {
		s := describe()
		s.Program, s.Index = t.name, index
		return s
	})
}

// StepOf describes a node with operands in as a step.
func StepOf(n *op.Node, in []op.Desc) core.ProfileStep {
	return FusedStep([]*op.Node{n}, func(id op.TensorID) op.Desc { return in[slices.Index(n.Inputs, id)] }, n.Outputs)
}

// FusedStep describes nodes that are computed as one step, in order, with results out. desc returns type and shape of a tensor that they
// read. Bytes is 0, which means unknown, if no node needs to access elements.
func FusedStep(nodes []*op.Node, desc func(id op.TensorID) op.Desc, out []op.Desc) core.ProfileStep {
	s := core.ProfileStep{Out: nameless(out)}
	made := map[op.TensorID]bool{} // tensors that an earlier node has computed or read
	var read []op.Desc
	moves := false
	for _, n := range nodes {
		in := make([]op.Desc, len(n.Inputs))
		for i, id := range n.Inputs {
			in[i] = desc(id)
			if !made[id] {
				made[id] = true
				read = append(read, in[i])
			}
		}
		for _, o := range n.Outputs {
			made[o.ID] = true
		}
		if len(s.Ops) < core.MaxProfileOps {
			s.Ops = append(s.Ops, n.Op.String())
		}
		s.Flops += op.Flops(n, in)
		switch n.Op {
		case op.Reshape, op.Permute, op.Expand, op.Slice, op.Flip:
		default:
			moves = true
		}
	}
	s.In = nameless(read)
	for _, ds := range [2][]op.Desc{read, out} {
		for _, d := range ds {
			if moves {
				s.Bytes += int64(d.Bytes())
			}
		}
	}
	return s
}

// nameless returns copies of at most core.MaxProfileTensors descriptions, without ids.
func nameless(ds []op.Desc) []op.Desc {
	ds = ds[:min(len(ds), core.MaxProfileTensors)]
	l := make([]op.Desc, len(ds))
	for i, d := range ds {
		l[i] = op.Desc{DType: d.DType, Shape: d.Shape.Clone()}
	}
	return l
}
