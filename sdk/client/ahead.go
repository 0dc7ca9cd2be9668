package client

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// ahead prefetches small outputs of programs: when the first output of a run is read, the outputs that were read after the previous run are
// requested too. Reading all outputs of a model then costs one round trip. Callers of the methods of ahead hold the mutex of the stream.
type ahead struct {
	readSizes map[uint64][]int // by program: the bytes of each output to prefetch; 0: the output was not read last time, or is too large
	program   uint64           // program of the last run
	outputs   []op.TensorID
	used      []bool // outputs that were read or requested
	open      map[op.TensorID]*request
}

// maxAhead bounds the open prefetches, and the programs whose reads are remembered.
const maxAhead = 64

// run records a run. Outputs of the previous run that were prefetched and not read are not prefetched the next time.
func (a *ahead) run(program uint64, outputs []op.TensorID) {
	if len(a.open) > maxAhead { // prefetches of tensors that were freed on other streams
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
	if a.readSizes == nil || len(a.readSizes) > maxAhead {
		a.readSizes = map[uint64][]int{}
	}
	if a.readSizes[program] == nil {
		a.readSizes[program] = make([]int, len(outputs))
	}
}

// unlearn records that a prefetched output was not read.
func (a *ahead) unlearn(r *request) {
	if sizes := a.readSizes[r.program]; r.output < len(sizes) {
		sizes[r.output] = 0
	}
}

// take returns the open prefetch of a tensor, or nil if no prefetch of n bytes is open.
func (a *ahead) take(id op.TensorID, n int) *request {
	r := a.open[id]
	if r == nil || r.size != n {
		return nil
	}
	delete(a.open, id)
	return r
}

// givenUp drops the open prefetches of tensors that are being freed.
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

// readAhead prefetches the other outputs of the last run that were read after the previous run of the same program. id is an output that is
// being read, and has n bytes. readAhead does nothing if id is not an output of the last run.
func (s *stream) readAhead(id op.TensorID, n int) {
	a := &s.ahead
	if a.program == 0 {
		return
	}
	i := slices.Index(a.outputs, id)
	if i < 0 {
		return
	}
	sizes := a.readSizes[a.program]
	a.used[i] = true
	for k, size := range sizes {
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
	if sizes[i] = n; n > wire.MaxInline {
		sizes[i] = 0
	}
}
