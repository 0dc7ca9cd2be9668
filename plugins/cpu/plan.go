package cpu

import (
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/sdk/engine"
)

// plan is a compiled program: it has a kernel for each step, and tensors are numbered slots of a frame. Each slot is released after its
// last use. The first slots are the inputs, followed by the constants; kernels never overwrite them, except donated inputs. A plan is
// immutable: concurrent runs use separate frames.
type plan struct {
	name    string
	program *program.Program // for profiles
	inputs  []op.Desc
	outputs []int // slots
	consts  []kernel.Array
	temps   int // first slot that a step sets
	slots   int
	steps   []step
	account *mem.Account
	packed  int64 // bytes of packed constants, which the account includes
	length  length
	frames  sync.Pool // *frame
}

var (
	_ engine.Plan[kernel.Array]     = (*plan)(nil)
	_ engine.Profiled[kernel.Array] = (*plan)(nil)
)

// step is one kernel of a plan.
type step struct {
	run       kernel.Func
	node      *op.Node   // for errors
	all       []*op.Node // the nodes that the kernel computes, for profiles
	assembled bool       // a concatenation into which other steps write parts
	in        []int
	out       []int
	desc      []op.Desc
	own       uint64 // bit set of the operands whose memory the kernel may reuse
	// inputs is the bit set of the operands that are inputs of the program at their last use. The kernel may reuse their memory if they are
	// donated.
	inputs uint64
	free   []int // slots to release after the step; inputs are released only if they are donated
	into   int   // the slot whose array contains the result as part, or -1
	part   shape.View
	prefer int // the operand whose memory the result reuses if possible; -1 means any
}

// frame contains the slots of one run, and buffers for the operands and results of a step. Later runs reuse it: constants stay in their
// slots, and all other slots are empty between runs.
type frame struct {
	slots      []kernel.Array
	args, outs []kernel.Array
}

// Close implements engine.Plan.
func (pl *plan) Close() {
	for i := range pl.consts {
		pl.consts[i].Buf.Release()
	}
	pl.account.Drop(pl.packed)
	pl.consts, pl.steps = nil, nil
}

// Run implements engine.Plan.
func (pl *plan) Run(eq engine.Queue[kernel.Array], in []kernel.Array, owned []bool, out []kernel.Array) error {
	return pl.RunProfiled(eq, in, owned, out, nil)
}

// RunProfiled implements engine.Profiled.
func (pl *plan) RunProfiled(eq engine.Queue[kernel.Array], in []kernel.Array, owned []bool, out []kernel.Array, t *engine.Steps) error {
	q := eq.(*queue)
	env := q.environment()
	if q.driver.singleThreadShort && pl.length.short() {
		env = &q.alone
		defer pl.length.measure(time.Now())
	}
	f := pl.frame()
	copy(f.slots, in)
	for i := range pl.steps {
		began := t.Now()
		if err := pl.step(q, env, f, &pl.steps[i], owned); err != nil {
			pl.release(f)
			return err
		}
		if t != nil {
			t.Step(i, began, func() core.ProfileStep { return pl.describe(&pl.steps[i]) })
		}
	}
	for i, slot := range pl.outputs {
		out[i] = f.slots[slot]
		out[i].Buf.Retain()
	}
	pl.release(f)
	return nil
}

// frame returns a frame that no run uses.
func (pl *plan) frame() *frame {
	if f, ok := pl.frames.Get().(*frame); ok {
		return f
	}
	f := &frame{slots: make([]kernel.Array, pl.slots)}
	copy(f.slots[len(pl.inputs):], pl.consts)
	return f
}

// step runs one kernel on a frame.
func (pl *plan) step(q *queue, env *kernel.Env, f *frame, st *step, owned []bool) error {
	f.args = f.args[:0]
	for _, slot := range st.in {
		f.args = append(f.args, f.slots[slot])
	}
	for len(f.outs) < len(st.out) {
		f.outs = append(f.outs, kernel.Array{})
	}
	own, outs := st.own, f.outs[:len(st.out)]
	if st.inputs != 0 {
		for k, slot := range st.in[:min(len(st.in), 64)] {
			if st.inputs>>k&1 != 0 && owned[slot] {
				own |= 1 << k
			}
		}
	}
	to := target{prefer: st.prefer}
	if st.into >= 0 {
		to.into = kernel.Array{Buf: f.slots[st.into].Buf, View: st.part}
	}
	if err := q.invoke(env, st.run, f.args, own, st.desc, outs, &to); err != nil {
		return &core.NodeError{Op: st.node.Op.String(), Program: pl.name, Outputs: st.node.Outputs, Err: err}
	}
	for k, slot := range st.out {
		f.slots[slot] = outs[k]
	}
	for _, slot := range st.free {
		if slot < len(pl.inputs) {
			if !owned[slot] {
				continue
			}
			owned[slot] = false
		}
		f.slots[slot].Buf.Release()
		f.slots[slot] = kernel.Array{}
	}
	return nil
}

// release releases the arrays of the steps, and the frame.
func (pl *plan) release(f *frame) {
	for i := pl.temps; i < len(f.slots); i++ {
		if f.slots[i].Buf != nil {
			f.slots[i].Buf.Release()
			f.slots[i] = kernel.Array{}
		}
	}
	clear(f.slots[:len(pl.inputs)])
	clear(f.args[:cap(f.args)])
	clear(f.outs)
	pl.frames.Put(f)
}

// length records how long runs of a plan take on one thread: the number of measured runs, at most trialRuns, and the least time.
type length struct {
	mu    sync.Mutex
	runs  int
	least time.Duration
}

const (
	// shortRun is the greatest time on one thread for which a program counts as short: waking a worker, which also delays the client, takes
	// about as long.
	shortRun = 150 * time.Microsecond
	// trialRuns is the number of runs after which the time of a program is known; until then it counts as short.
	trialRuns = 3
)

func (l *length) short() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs < trialRuns || l.least <= shortRun
}

// measure records a run that began at the given time and ends now.
func (l *length) measure(began time.Time) {
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == 0 || took < l.least {
		l.least = took
	}
	l.runs = min(l.runs+1, trialRuns)
}

// schedule determines which operands each step may overwrite and which slots it releases.
func (pl *plan) schedule() {
	steps := make([]program.Step[int], len(pl.steps))
	for i := range pl.steps {
		steps[i] = program.Step[int]{In: pl.steps[i].in, Out: pl.steps[i].out}
	}
	kept := make(map[int]bool, len(pl.outputs)+len(pl.consts))
	for i := range pl.consts {
		kept[len(pl.inputs)+i] = true
	}
	for _, slot := range pl.outputs {
		kept[slot] = true
	}
	aliases := pl.aliases()
	for i, last := range program.LastUse(steps, func(slot int) bool { return kept[slot] }) {
		st := &pl.steps[i]
		st.free, st.prefer = last, -1
		for k, slot := range st.in[:min(len(st.in), 64)] {
			switch {
			case !slices.Contains(last, slot):
			case slot >= len(pl.inputs):
				st.own |= 1 << k
			default:
				st.inputs |= 1 << k
				if a, ok := aliases[st.out[0]]; ok && a == slot {
					st.prefer = k
				}
			}
		}
	}
}

// aliases pairs outputs with inputs of the same type, both in order. If the input of a pair is donated, the output is created
// in its memory, so that the state of a loop keeps its address from run to run.
func (pl *plan) aliases() map[int]int {
	types := map[int]op.Desc{}
	for i := range pl.steps {
		for k, slot := range pl.steps[i].out {
			types[slot] = pl.steps[i].desc[k]
		}
	}
	pairs, used := map[int]int{}, make([]bool, len(pl.inputs))
	for _, slot := range pl.outputs {
		d, made := types[slot]
		if _, twice := pairs[slot]; !made || twice {
			continue
		}
		for i, in := range pl.inputs {
			if !used[i] && in.SameType(d) {
				pairs[slot], used[i] = i, true
				break
			}
		}
	}
	return pairs
}
