package photo

import (
	"math/rand/v2"
)

// drawn is a baseline JPEG with random coefficients and any sampling factors, scans and restart intervals.
type drawn struct {
	w, h     int
	parts    []drawnPart
	scans    [][]int // components of each scan
	interval int     // MCUs between restart markers; 0 for none
	wide     bool    // quantization tables of 16 bits
	adobe    int     // transform of an Adobe marker; -1 for none
}

type drawnPart struct {
	id, h, v     int
	across, down int // blocks, including those that complete MCUs
	wide, high   int // blocks that contain samples
	blocks       [][64]int
}

// newDrawn returns an image of w by h pixels with random coefficients. Each of factors is the sampling factors of one component:
// horizontal<<4 | vertical.
func newDrawn(r *rand.Rand, w, h int, factors ...int) *drawn {
	d := &drawn{w: w, h: h, adobe: -1}
	maxH, maxV := 1, 1
	for _, f := range factors {
		maxH, maxV = max(maxH, f>>4), max(maxV, f&15)
	}
	all := make([]int, len(factors))
	for i, f := range factors {
		all[i] = i
		p := drawnPart{id: 10 + 7*i, h: f >> 4, v: f & 15}
		p.across, p.down = up(w, 8*maxH)*p.h, up(h, 8*maxV)*p.v
		p.wide, p.high = up(up(w*p.h, maxH), 8), up(up(h*p.v, maxV), 8)
		if len(factors) == 1 {
			p.across, p.down = p.wide, p.high
		}
		p.blocks = make([][64]int, p.across*p.down)
		for k := range p.blocks {
			b := &p.blocks[k]
			b[0] = r.IntN(101) - 50
			for range r.IntN(6) {
				b[1+r.IntN(63)] = r.IntN(15) - 7
			}
		}
		d.parts = append(d.parts, p)
	}
	d.scans = [][]int{all}
	return d
}

func up(a, b int) int { return (a + b - 1) / b }

// bitWriter writes entropy-coded data, with a zero byte after each byte 0xff.
type bitWriter struct {
	out []byte
	acc uint64
	n   int
}

func (w *bitWriter) put(v, bits int) {
	w.acc = w.acc<<bits | uint64(v)&(1<<bits-1)
	for w.n += bits; w.n >= 8; w.n -= 8 {
		b := byte(w.acc >> (w.n - 8))
		if w.out = append(w.out, b); b == 0xff {
			w.out = append(w.out, 0)
		}
	}
}

func (w *bitWriter) flush() {
	if w.n > 0 {
		w.put(1<<(8-w.n)-1, 8-w.n) // the remaining bits of the byte are ones
	}
}

// shortCodes is the number of AC symbols (run and size) with codes of 8 bits; the others have 12 bits. The codes of the 12 DC sizes have
// 4 bits.
const shortCodes = 100

func acSymbols() (symbols []int) {
	symbols = []int{0x00, 0xf0}
	for run := range 16 {
		for size := 1; size <= 10; size++ {
			symbols = append(symbols, run<<4|size)
		}
	}
	return symbols
}

func segment(mark byte, body ...byte) []byte {
	return append([]byte{0xff, mark, byte((len(body) + 2) >> 8), byte(len(body) + 2)}, body...)
}

// quantum returns element k of quantization table t.
func quantum(t, k int) int { return 1 + (k*5+t*3)%11 }

// encode returns the JPEG file.
func (d *drawn) encode() []byte {
	out := []byte{0xff, 0xd8}
	if d.adobe >= 0 {
		out = append(out, segment(0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), byte(d.adobe))...)...)
	}
	for t := range 2 {
		body := []byte{byte(t)}
		for k := range 64 {
			if d.wide {
				body[0] = byte(t) | 0x10
				body = append(body, 0)
			}
			body = append(body, byte(quantum(t, k)))
		}
		out = append(out, segment(0xdb, body...)...)
	}
	dc, ac := []byte{0x00, 0, 0, 0, 12}, []byte{0x10, 0, 0, 0, 0, 0, 0, 0, shortCodes}
	dc, ac = append(dc, make([]byte, 12)...), append(ac, 0, 0, 0)
	ac = append(ac, byte(len(acSymbols())-shortCodes), 0, 0, 0, 0)
	for i := range 12 {
		dc = append(dc, byte(i))
	}
	for _, s := range acSymbols() {
		ac = append(ac, byte(s))
	}
	out = append(append(out, segment(0xc4, dc...)...), segment(0xc4, ac...)...)
	if d.interval > 0 {
		out = append(out, segment(0xdd, byte(d.interval>>8), byte(d.interval))...)
	}
	frame := []byte{8, byte(d.h >> 8), byte(d.h), byte(d.w >> 8), byte(d.w), byte(len(d.parts))}
	for i, p := range d.parts {
		frame = append(frame, byte(p.id), byte(p.h<<4|p.v), byte(min(i, 1)))
	}
	out = append(out, segment(0xc0, frame...)...)
	for _, s := range d.scans {
		head := []byte{byte(len(s))}
		for _, i := range s {
			head = append(head, byte(d.parts[i].id), 0)
		}
		out = append(append(out, segment(0xda, append(head, 0, 63, 0)...)...), d.entropy(s)...)
	}
	return append(out, 0xff, 0xd9)
}

// entropy returns the entropy-coded data of a scan, whose blocks are in the order of T.81, A.2.
func (d *drawn) entropy(scan []int) []byte {
	codes := map[int]int{}
	for i, s := range acSymbols() {
		codes[s] = i
	}
	w := &bitWriter{}
	last := make([]int, len(d.parts))
	put := func(p int, at int) {
		b := &d.parts[p].blocks[at]
		diff := b[0] - last[p]
		last[p] = b[0]
		size := sizeOf(diff)
		w.put(size, 4)
		w.number(diff, size)
		run := 0
		symbol := func(s int) {
			if i := codes[s]; i < shortCodes {
				w.put(i, 8)
			} else {
				w.put(shortCodes<<4+i-shortCodes, 12)
			}
		}
		for k := 1; k < 64; k++ {
			if b[k] == 0 {
				run++
				continue
			}
			for ; run > 15; run -= 16 {
				symbol(0xf0)
			}
			n := sizeOf(b[k])
			symbol(run<<4 | n)
			w.number(b[k], n)
			run = 0
		}
		if run > 0 {
			symbol(0)
		}
	}
	first := d.parts[scan[0]]
	across, down := first.across/first.h, first.down/first.v
	if len(scan) == 1 {
		across, down = first.wide, first.high
	}
	for m := range across * down {
		if d.interval > 0 && m > 0 && m%d.interval == 0 {
			w.flush()
			w.out = append(w.out, 0xff, byte(0xd0+(m/d.interval-1)%8))
			*w = bitWriter{out: w.out}
			clear(last)
		}
		x, y := m%across, m/across
		for _, i := range scan {
			p := &d.parts[i]
			if len(scan) == 1 {
				put(i, y*p.across+x)
				continue
			}
			for k := range p.h * p.v {
				put(i, (y*p.v+k/p.h)*p.across+x*p.h+k%p.h)
			}
		}
	}
	w.flush()
	return w.out
}

// sizeOf returns the number of bits of |v|.
func sizeOf(v int) (n int) {
	for v = max(v, -v); v > 0; v >>= 1 {
		n++
	}
	return n
}

// number writes the low bits of v, or of v-1 if it is negative (T.81, F.1.2.1).
func (w *bitWriter) number(v, bits int) {
	if v < 0 {
		v--
	}
	w.put(v, bits)
}
