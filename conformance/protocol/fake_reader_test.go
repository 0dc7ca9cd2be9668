package protocol

import (
	"math"
)

// fakeReader decodes frames and ends the stream on malformed input, except for the planted faults.
type fakeReader struct {
	reader
	t *fakeStream
}

func (r *fakeReader) check() {
	if r.err != nil {
		if bad("frames/cut-off") {
			r.err = nil
			return
		}
		r.t.broken("%v", r.err)
	}
}

func (r *fakeReader) number() uint64 {
	if bad("frames/number") && len(r.b) > 10 {
		for i, c := range r.b {
			if c < 0x80 && i >= 9 {
				r.b = r.b[i+1:]
				return 0
			} else if c < 0x80 {
				break
			}
		}
	}
	v := r.uint()
	r.check()
	return v
}

func (r *fakeReader) one() byte {
	b := r.byte()
	r.check()
	return b
}

func (r *fakeReader) bytes(n uint64) []byte {
	if bad("frames/count") {
		n = min(n, uint64(len(r.b)))
	}
	b := r.take(n)
	r.check()
	return b
}

func (r *fakeReader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.b)) {
		if bad("frames/count") || bad("frames/cut-off") {
			return 0
		}
		r.t.broken("%d entries in %d bytes", n, len(r.b))
	}
	return n
}

func (r *fakeReader) string(most uint64) string {
	n := r.number()
	if n > most && !bad("frames/max-name") && !bad("frames/count") {
		r.t.broken("a text of %d bytes", n)
	}
	return string(r.bytes(n))
}

func (r *fakeReader) id() uint64 {
	u := r.number()
	d := int64(u>>1) ^ -int64(u&1)
	r.t.last += uint64(d)
	if bad("frames/id-modulo") {
		r.t.last = r.t.last&(1<<48-1) | r.t.dev.gen<<48
	}
	return r.t.last
}

func (r *fakeReader) idList() (l []uint64) {
	for range r.count() {
		l = append(l, r.id())
	}
	return l
}

func (r *fakeReader) desc() tensor {
	d := tensor{id: r.id()}
	d.elem = r.one()
	if d.elem == 0 || int(d.elem) >= len(elements) {
		if !bad("frames/types") && !bad("frames/cut-off") {
			r.t.broken("element type %d", d.elem)
		}
		d.elem = f32
	}
	rank := r.one()
	if rank > 8 && !bad("frames/rank") {
		r.t.broken("rank %d", rank)
	}
	size := uint64(elements[d.elem])
	for range rank {
		n := r.number()
		if n > 0 && size > math.MaxInt64/n && !bad("frames/size") {
			r.t.broken("too large")
		}
		size *= max(n, 1)
		d.shape = append(d.shape, n)
	}
	return d
}
