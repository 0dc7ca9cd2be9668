package client

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// ahead reads small outputs of programs before they are asked for: with the first output of a run that is read, those are
// requested that were read after the run before. So the outputs of a model cost one round trip together. Its user holds the
// mutex of the stream.
type ahead struct {
	habits  map[uint64][]int // by program: the bytes of each output that was read last time, 0 for one that was not
	program uint64           // of the last run
	outputs []op.TensorID
	used    []bool // outputs that were read or requested
	open    map[op.TensorID]*request
}

// mostAhead is how many requests may be open that nobody has asked for.
const mostAhead = 64

// run notes a run. What was requested of the run before and not read is not requested the next time.
func (a *ahead) run(program uint64, outputs []op.TensorID) {
	if len(a.open) > mostAhead { // of tensors that were freed on other streams
		clear(a.open)
	}
	for _, id := range a.outputs {
		if r := a.open[id]; r != nil {
			a.unlearn(r)
		}
	}
	if len(outputs) < 2 {
		a.program = 0
		return
	}
	a.program = program
	a.outputs = append(a.outputs[:0], outputs...)
	a.used = append(a.used[:0], make([]bool, len(outputs))...)
	if a.habits == nil || len(a.habits) > mostAhead {
		a.habits = map[uint64][]int{}
	}
	if a.habits[program] == nil {
		a.habits[program] = make([]int, len(outputs))
	}
}

// unlearn notes that an output that was requested was not read.
func (a *ahead) unlearn(r *request) {
	if habit := a.habits[r.program]; r.output < len(habit) {
		habit[r.output] = 0
	}
}

// take returns the request that is open for a tensor, if there is one of n bytes.
func (a *ahead) take(id op.TensorID, n int) *request {
	r := a.open[id]
	if r == nil || r.size != n {
		return nil
	}
	delete(a.open, id)
	return r
}

// givenUp notes that tensors are given up: requests that are open for them are dropped.
func (s *stream) givenUp(ids []op.TensorID) {
	s.d.loans.freed(ids)
	if len(s.ahead.open) == 0 {
		return
	}
	for _, id := range ids {
		if r := s.ahead.open[id]; r != nil {
			delete(s.ahead.open, id)
			s.requests.drop(r)
			s.ahead.unlearn(r)
		}
	}
}

// readAhead requests the outputs that are usually read when id is, of n bytes.
func (s *stream) readAhead(id op.TensorID, n int) {
	a := &s.ahead
	if a.program == 0 {
		return
	}
	i := slices.Index(a.outputs, id)
	if i < 0 {
		return
	}
	habit := a.habits[a.program]
	a.used[i] = true
	for k, size := range habit {
		if size == 0 || a.used[k] {
			continue
		}
		a.used[k] = true
		r := s.requests.put(&request{read: true, size: size, program: a.program, output: k})
		s.enc.Read(r.id, a.outputs[k], size)
		if a.open == nil {
			a.open = map[op.TensorID]*request{}
		}
		a.open[a.outputs[k]] = r
	}
	if habit[i] = n; n > wire.MaxInline {
		habit[i] = 0
	}
}
