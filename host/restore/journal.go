package restore

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

type tensorID = op.TensorID

// kind is the kind of a command in the journal.
type kind uint8

const (
	computed kind = iota // counts towards the limit
	written
	defined
	asked
)

// entry is a command that was accepted.
type entry struct {
	number  uint64
	s       *stream
	kind    kind
	what    string // name of the command in errors
	ins     []tensorID
	outs    []op.Desc
	from    *device     // device of the inputs; nil: the device of s
	def     *definition // program of a definition or run
	ticket  *ticket     // ticket of a query
	data    []byte      // data that was written
	lent    *lent       // nil: data is a copy
	used    bool        // set by prune
	strikes int         // number of consecutive processes that were lost during the command
	err     error       // why the command is not repeated; a command without play is never repeated
	// play repeats the command on a stream of the running process. dies[i] means that input i is not needed afterwards; play clears the
	// entries of inputs that the command itself drops.
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

// journal holds, in order, the commands that computed the live tensors.
type journal struct {
	limit   int
	entries []*entry
	last    uint64 // number of the last command
	bytes   int    // size of all data
	live    map[tensorID]bool
	gone    map[tensorID]error // lost tensors that the user has not freed, with a *core.NodeError or a core.ErrStale
	over    []*lent            // lent memory to be returned
	lends   map[tensorID]bool  // live tensors of lent memory
	// left and leftBytes are the size after the last prune, which determines when to prune again. If due is set, the journal is pruned
	// anyway, because lent memory may be returned.
	left, leftBytes int
	due             bool
}

func newJournal(limit int) journal {
	return journal{limit: limit, live: map[tensorID]bool{}, gone: map[tensorID]error{}, lends: map[tensorID]bool{}}
}

// add records an accepted command.
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

// end records that tensors were freed.
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
	slack      = 256      // number of commands that are not worth pruning
	slackBytes = 64 << 20 // number of bytes that are not worth pruning
)

// pruneIfLarge prunes when much of the journal may be unneeded.
func (j *journal) pruneIfLarge() {
	if j.due || len(j.entries) > 2*j.left+slack || j.bytes > 2*j.leftBytes+slackBytes {
		j.prune()
	}
}

// prune removes the commands that no live tensor depends on, and the oldest computing commands beyond the limit.
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

// clear removes commands.
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
