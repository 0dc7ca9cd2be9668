package cpu

import (
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
)

// plan is a program made ready: kernels are chosen, tensors are numbered slots of a frame, and every slot is given back
// after its last use. The frame begins with the inputs, then the constants; both are borrowed, never overwritten.
type plan struct {
	name    string
	inputs  []op.Desc
	outputs []int // slots
	results []kernel.Array
	frame   []kernel.Array
	temps   int // first slot that a step fills
	consts  []kernel.Array
	steps   []step
	account *mem.Account
	packed  int64 // bytes that kernels keep, on the account
	length  length
}

// step is one kernel of a plan.
type step struct {
	run  kernel.Func
	node *op.Node // for errors
	in   []int
	out  []int
	desc []op.Desc
	own  uint64
	free []int // slots that nobody needs afterwards
	into int   // the slot of which the result is to be part, -1: none
	part shape.View
	args []kernel.Array
	outs []kernel.Array
}

// free gives the constants up, and what kernels keep.
func (pl *plan) free() {
	for i := range pl.consts {
		pl.consts[i].Buf.Release()
	}
	pl.account.Drop(pl.packed)
	pl.consts, pl.frame, pl.steps = nil, nil, nil
}

// runSteps executes the plan on the frame, whose inputs are bound, and leaves the outputs in results, each with a holder
// of its own.
func (s *stream) runSteps(pl *plan) error {
	env := &s.env
	if s.backend.crowded && pl.length.short() {
		env = &s.alone
		defer pl.length.measure(time.Now())
	}
	for i := range pl.steps {
		st := &pl.steps[i]
		if s.closed.Load() {
			pl.release()
			return closedError()
		}
		for k, slot := range st.in {
			st.args[k] = pl.frame[slot]
		}
		into := kernel.Array{}
		if st.into >= 0 {
			into = kernel.Array{Buf: pl.frame[st.into].Buf, View: st.part}
		}
		err := s.invokeWith(env, st.run, st.args, st.own, st.desc, st.outs, into)
		clear(st.args)
		if err != nil {
			pl.release()
			return &core.NodeError{Op: st.node.Op.String(), Outputs: st.node.Outputs, Err: fmt.Errorf("program %q: %w", pl.name, err)}
		}
		for k, slot := range st.out {
			pl.frame[slot] = st.outs[k]
			st.outs[k] = kernel.Array{}
		}
		for _, slot := range st.free {
			pl.frame[slot].Buf.Release()
			pl.frame[slot] = kernel.Array{}
		}
	}
	for i, slot := range pl.outputs {
		pl.results[i] = pl.frame[slot]
		pl.results[i].Buf.Retain()
	}
	pl.release()
	return nil
}

// length is how long a plan takes on one thread, as far as it is known.
type length struct {
	runs  int
	least time.Duration
}

const (
	// shortRun is the time on one thread up to which a program is short: waking a worker, and the client that it is in the
	// way of, takes about as long.
	shortRun = 150 * time.Microsecond
	// trialRuns is how many runs a program is short for until it is known.
	trialRuns = 3
)

func (l *length) short() bool { return l.runs < trialRuns || l.least <= shortRun }

// measure counts a run since began.
func (l *length) measure(began time.Time) {
	if took := time.Since(began); l.runs == 0 || took < l.least {
		l.least = took
	}
	l.runs = min(l.runs+1, trialRuns)
}

// release gives back what steps have filled.
func (pl *plan) release() {
	for i := pl.temps; i < len(pl.frame); i++ {
		if pl.frame[i].Buf != nil {
			pl.frame[i].Buf.Release()
			pl.frame[i] = kernel.Array{}
		}
	}
}

// schedule fills in what steps may overwrite and what they give back.
func (pl *plan) schedule() {
	needed := make([]bool, len(pl.frame))
	for i := range pl.temps {
		needed[i] = true
	}
	for _, slot := range pl.outputs {
		needed[slot] = true
	}
	for i := len(pl.steps) - 1; i >= 0; i-- {
		st := &pl.steps[i]
		for _, slot := range st.out {
			if !needed[slot] {
				needed[slot] = true
				st.free = append(st.free, slot)
			}
		}
		dies := map[int]bool{}
		for _, slot := range st.in {
			if !needed[slot] {
				needed[slot], dies[slot] = true, true
				st.free = append(st.free, slot)
			}
		}
		for k, slot := range st.in {
			if dies[slot] && k < 64 {
				st.own |= 1 << k
			}
		}
	}
}
