package restore

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

type tensorID = op.TensorID

// kind is what a command is for the journal.
type kind uint8

const (
	computed kind = iota // counts towards the bound
	written
	defined
	asked
)

// entry is a command that was accepted.
type entry struct {
	number  uint64
	s       *stream
	kind    kind
	what    string // for errors
	ins     []tensorID
	outs    []op.Desc
	from    *device     // that has ins; nil: that of s
	def     *definition // of a definition or a run
	ticket  *ticket     // of a question
	data    []byte      // that was written
	lent    *lent       // nil: data is a copy
	used    bool        // as prune found
	strikes int         // processes in a row that were lost at it
	err     error       // why it is not made again; that it is without play is reason enough
	// play makes the command again on a stream of the process that runs. dies says which of ins nobody needs afterwards; those
	// that the command gives up are taken out of it.
	play func(r *replay, on core.Stream, dies []bool) error
}

// fault returns the failure of the command.
func (e *entry) fault(err error) *core.NodeError {
	n := &core.NodeError{Op: e.what, Outputs: e.outs, Err: err}
	if e.def != nil {
		n.Op, n.Program = "", e.what
	}
	return n
}

// journal is what made the tensors that are live, in order.
type journal struct {
	limit   int
	entries []*entry
	last    uint64 // number of the last command
	bytes   int    // of data
	live    map[tensorID]bool
	gone    map[tensorID]error // live for the user, and lost: a *core.NodeError, or that the tensor is stale
	over    []*lent            // to be given back
	lends   map[tensorID]bool  // live tensors of lent memory
	// What prune left behind, to know when it is worth while again, or that it is because lent memory may be over.
	left, leftBytes int
	due             bool
}

func newJournal(limit int) journal {
	return journal{limit: limit, live: map[tensorID]bool{}, gone: map[tensorID]error{}, lends: map[tensorID]bool{}}
}

// add notes a command that was accepted.
func (j *journal) add(e *entry) {
	j.last++
	e.number = j.last
	j.entries = append(j.entries, e)
	j.bytes += len(e.data)
	for i := range e.outs {
		j.live[e.outs[i].ID] = true
		if e.lent != nil {
			j.lends[e.outs[i].ID] = true
		}
	}
}

// end notes that tensors were given up.
func (j *journal) end(ids []tensorID) {
	for _, id := range ids {
		delete(j.live, id)
		if j.lends[id] {
			delete(j.lends, id)
			j.due = true
		}
	}
}

const (
	slack      = 256      // commands that are not worth pruning
	slackBytes = 64 << 20 // and bytes
)

// tidy prunes when there is much that nobody needs.
func (j *journal) tidy() {
	if j.due || len(j.entries) > 2*j.left+slack || j.bytes > 2*j.leftBytes+slackBytes {
		j.prune()
	}
}

// prune forgets the commands that nobody needs to make what is live, and of those that compute the oldest beyond the limit.
func (j *journal) prune() {
	need := make(map[tensorID]bool, len(j.live))
	for id := range j.live {
		need[id] = true
	}
	wanted := map[*definition]bool{}
	computing := 0
	for _, e := range slices.Backward(j.entries) {
		used := e.kind == defined && (e.def.open || wanted[e.def]) || e.kind == asked && e.ticket.open
		for i := range e.outs {
			used = used || need[e.outs[i].ID]
		}
		if e.kind == computed && used {
			computing++
			used = computing <= j.limit
		}
		if e.used = used; !used {
			continue
		}
		if e.def != nil {
			wanted[e.def] = true
		}
		if e.play != nil {
			for _, id := range e.ins {
				need[id] = true
			}
		}
	}
	j.clear(func(e *entry) bool { return !e.used })
	j.left, j.leftBytes, j.due = len(j.entries), j.bytes, false
}

// clear forgets commands.
func (j *journal) clear(useless func(*entry) bool) {
	j.entries = slices.DeleteFunc(j.entries, func(e *entry) bool {
		if !useless(e) {
			return false
		}
		j.bytes -= len(e.data)
		if e.lent != nil {
			j.over = append(j.over, e.lent)
		}
		return true
	})
}

func stale(id tensorID) error {
	return fmt.Errorf("restore: %v went with the process and cannot be made again: %w", id, core.ErrStale)
}
