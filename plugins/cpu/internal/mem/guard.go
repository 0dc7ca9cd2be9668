package mem

import "fmt"

// NewGuardedPool is like NewPool, but places a guard band before and after each buffer. band is the size of a band in bytes; it is rounded
// up to a multiple of Align. Bands are filled with a pattern, so that CheckGuards finds writes outside a buffer. The second band begins
// directly after the Size bytes of the buffer. Limits do not include the bands.
func NewGuardedPool(limit, idle int64, band int) *Pool {
	p := NewPool(limit, idle)
	if band > 0 {
		p.band = (band + Align - 1) / Align * Align
		p.guarded = map[*Buffer]struct{}{}
	}
	return p
}

// CheckGuards returns an error if a guard band of a buffer was written while the buffer was in use. It includes released buffers, whose
// bands were checked when they were released. The error describes the first write that was found.
func (p *Pool) CheckGuards() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.guarded {
		p.inspect(b)
	}
	return p.written
}

// guard fills the bands of a buffer that is about to be used.
func (p *Pool) guard(b *Buffer) {
	if p.band == 0 {
		return
	}
	p.bands(b, func(band []byte, at int) {
		for i := range band {
			band[i] = mark(at + i)
		}
	})
	p.mu.Lock()
	p.guarded[b] = struct{}{}
	p.mu.Unlock()
}

// inspect checks the bands of a buffer. The caller holds mu.
func (p *Pool) inspect(b *Buffer) {
	if b.whole == nil || p.written != nil {
		return
	}
	p.bands(b, func(band []byte, at int) {
		for i, v := range band {
			if p.written == nil && v != mark(at+i) {
				p.written = fmt.Errorf("byte %d of a buffer of %d bytes was written", at+i, b.size)
			}
		}
	})
}

// bands calls visit for both bands of b; at is the offset of the band's first byte from the start of the buffer.
func (p *Pool) bands(b *Buffer, visit func(band []byte, at int)) {
	visit(b.whole[:p.band], -p.band)
	visit(b.whole[p.band+b.size:], b.size)
}

// mark returns the pattern at an offset. Adjacent bytes differ, and copies of zeros or of data are unlikely to match.
func mark(at int) byte { return byte(at*37) ^ 0xa5 }
