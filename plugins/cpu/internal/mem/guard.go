package mem

import "fmt"

// NewGuardedPool is NewPool with bands of so many bytes, rounded up to Align, before and after each buffer. They are filled
// with a pattern and never written by the pool's users, so that CheckGuards finds writes beyond a buffer: from its first
// byte after Size on. Limits do not count them.
func NewGuardedPool(limit, idle int64, band int) *Pool {
	p := NewPool(limit, idle)
	if band > 0 {
		p.band = (band + Align - 1) / Align * Align
		p.guarded = map[*Buffer]struct{}{}
	}
	return p
}

// CheckGuards reports the first guard band that was written since the pool was made, of buffers in use and of those that
// were released.
func (p *Pool) CheckGuards() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.guarded {
		p.inspect(b)
	}
	return p.written
}

// guard fills the bands of a buffer that begins to be used.
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

// inspect looks at the bands of a buffer. The caller holds mu.
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

// bands visits both bands of b; at is the place of their first byte, counted from the start of the buffer.
func (p *Pool) bands(b *Buffer, visit func(band []byte, at int)) {
	visit(b.whole[:p.band], -p.band)
	visit(b.whole[p.band+b.size:], b.size)
}

// mark returns the pattern: neighbours differ, and copies of zeros or of data are unlikely to match.
func mark(at int) byte { return byte(at*37) ^ 0xa5 }
