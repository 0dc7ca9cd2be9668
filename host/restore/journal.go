package restore

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

type tensorID = op.TensorID

// definition is a program of the stream.
type definition struct {
	p      *program.Program
	consts []tensorID
	id     core.ProgramID // on the process that runs
	open   bool           // not yet undefined
	lost   bool           // with its constants
}

// entry is a command that made tensors: a write, a node or a run.
type entry struct {
	number uint64
	desc   op.Desc // of a write
	data   []byte
	lent   func() // gives data back that was lent

	node *op.Node

	def     *definition // of a run
	inputs  []tensorID
	outputs []tensorID
}

func (e *entry) written() bool { return e.node == nil && e.def == nil }

// reads calls f with the tensors that the command reads.
func (e *entry) reads(f func(tensorID)) {
	l := e.inputs
	if e.node != nil {
		l = e.node.Inputs
	}
	for _, id := range l {
		f(id)
	}
}

// makes calls f with the tensors that the command makes.
func (e *entry) makes(f func(tensorID)) {
	switch {
	case e.node != nil:
		for i := range e.node.Outputs {
			f(e.node.Outputs[i].ID)
		}
	case e.def != nil:
		for _, id := range e.outputs {
			f(id)
		}
	default:
		f(e.desc.ID)
	}
}

// journal is what made the tensors that are live, in order.
type journal struct {
	limit   int
	entries []*entry
	last    uint64
	bytes   int // of shadows
	live    map[tensorID]bool
	defs    map[core.ProgramID]*definition
	// What prune left behind, to know when it is worth while again.
	left, leftBytes int
}

func (j *journal) begin(limit int) {
	j.limit, j.live, j.defs = limit, map[tensorID]bool{}, map[core.ProgramID]*definition{}
}

// add notes a command that the stream has accepted.
func (j *journal) add(e *entry) {
	j.last++
	e.number = j.last
	j.entries = append(j.entries, e)
	j.bytes += len(e.data)
	e.makes(func(id tensorID) { j.live[id] = true })
}

const (
	slack      = 256      // commands that are not worth pruning
	slackBytes = 64 << 20 // and bytes
)

// tidy prunes when there is much that nobody needs.
func (j *journal) tidy() {
	if len(j.entries) > 2*j.left+slack || j.bytes > 2*j.leftBytes+slackBytes {
		j.prune()
	}
}

// needed are the tensors that must be made to make the live ones and the constants of programs.
func (j *journal) needed() map[tensorID]bool {
	need := make(map[tensorID]bool, len(j.live))
	for id := range j.live {
		need[id] = true
	}
	want := func(d *definition) {
		for _, id := range d.consts {
			need[id] = true
		}
	}
	for _, d := range j.defs {
		want(d)
	}
	for i := len(j.entries) - 1; i >= 0; i-- {
		e := j.entries[i]
		used := false
		e.makes(func(id tensorID) { used = used || need[id] })
		if !used {
			continue
		}
		e.makes(func(id tensorID) { need[id] = true })
		e.reads(func(id tensorID) { need[id] = true })
		if e.def != nil && !e.def.open {
			want(e.def)
		}
	}
	return need
}

// prune forgets the commands that nobody needs, and of those that compute the oldest beyond the limit.
func (j *journal) prune() {
	need := j.needed()
	keep := make([]*entry, 0, len(j.entries))
	computing := 0
	for _, e := range j.entries {
		used := false
		e.makes(func(id tensorID) { used = used || need[id] })
		if !used {
			j.forget(e)
			continue
		}
		keep = append(keep, e)
		if !e.written() {
			computing++
		}
	}
	if excess := computing - j.limit; excess > 0 {
		all := keep
		keep = keep[:0]
		for _, e := range all {
			if excess > 0 && !e.written() {
				excess--
				continue
			}
			keep = append(keep, e)
		}
		clear(all[len(keep):])
	}
	j.entries = keep
	j.left, j.leftBytes = len(keep), j.bytes
}

func (j *journal) forget(e *entry) {
	j.bytes -= len(e.data)
	if e.lent != nil {
		e.lent()
	}
	e.data, e.lent = nil, nil
}

// close gives back what was lent.
func (j *journal) close() {
	for _, e := range j.entries {
		j.forget(e)
	}
	j.entries = nil
}
