package gpu

// memory is a frame's own memory: copies of operands of library calls, followed by temporaries of fallbacks. Calls in a device graph
// may refuse other operands, so operands whose memory changes from run to run are copied to a fixed place.
type memory struct {
	own         *block
	need        int64         // required bytes of the memory
	staged      map[int]int64 // by slot: the offset of its copy
	stagedBytes int64
	misses      int  // runs without a graph because operands of calls had changed
	stage       bool // copy operands from the next run on
}

const (
	maxMisses  = 3
	maxOperand = 16 << 20 // bytes of an operand that is copied
)

// missed counts a run that had no graph for its memory.
func (f *frame) missed() {
	if f.misses++; f.misses >= maxMisses && f.staged == nil {
		f.stage = true
	}
}

// stageOperands makes later runs copy the operands of calls that refused to be changed, if they are inputs or outputs that are
// not too large.
func (f *frame) stageOperands(q *queue) {
	f.stage, f.staged = false, map[int]int64{}
	p := f.plan
	for _, s := range f.hard {
		size := int64(0)
		switch {
		case s < len(p.inputs):
			size = p.buffers[s].bytes
		case s < p.scratchSlot():
			size = p.buffers[p.made[s-len(p.inputs)]].bytes
		}
		if size > 0 && size <= maxOperand {
			f.staged[s] = f.stagedBytes
			f.stagedBytes += roundUp(size, grain)
		}
	}
	f.hard = nil
	f.drop(q)
	_ = f.make(q) // an earlier call of make has created the same steps without an error
}

// addCall adds a library call, and the copies of its operands.
func (f *frame) addCall(i int, st *step) {
	p := f.plan
	own := func(a arg) location {
		at := p.locate(a)
		if to, staged := f.staged[at.slot]; staged && at.slot != none {
			return location{p.scratchSlot() + 2, to + at.offset, at.ref, none, at.left}
		}
		return at
	}
	move := func(buffer int, in bool) {
		a := arg{buffer: buffer}
		slot := p.locate(a).slot
		if _, staged := f.staged[slot]; !staged || slot == none {
			return
		}
		c := &step{copy: &copyStep{dst: a, src: a, bytes: p.buffers[buffer].bytes}}
		first := in // dst is located first
		f.add(i, c, func(a arg) location {
			defer func() { first = !first }()
			if first {
				return own(a)
			}
			return p.locate(a)
		})
	}
	for k, a := range st.call.args {
		if k != st.call.result {
			move(a.buffer, true)
		}
	}
	f.add(i, st, own)
	move(st.call.args[st.call.result].buffer, false)
}

// fit releases the frame's own memory if it is too small.
func (f *frame) fit(q *queue) {
	if f.own != nil && f.own.size < f.need {
		f.release(q)
	}
}

// release releases the frame's own memory.
func (f *frame) release(q *queue) {
	if b := f.own; b != nil {
		f.own = nil
		q.device.pool.release(b)
	}
}
