package libtorch

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

var creation = map[op.Code]rule{
	op.Full:         {run: full, types: anyType},
	op.Iota:         {run: iotaKernel, types: numbers},
	op.RandomBits:   {run: randomBits, types: dtype.SetOf(dtype.I32)},
	op.RandomBitsAt: {run: randomBitsAt, types: dtype.SetOf(dtype.I64)},
}

// full creates one element and broadcasts it.
func full(w *worker) {
	d := w.n.Outputs[0]
	w.out[0] = w.expand(w.number(d.DType, w.n.Attrs.Value("value")), d.Shape)
}

func iotaKernel(w *worker) {
	d, axis := w.n.Outputs[0], w.n.Attrs.Int("axis")
	line := make(shape.Shape, len(d.Shape)-axis)
	for i := range line {
		line[i] = 1
	}
	line[0] = d.Shape[axis]
	w.out[0] = w.expand(w.reshape(w.to(w.count(line[0]), d.DType), line), d.Shape)
}

// randomBits draws words from the seed and the counter in the attributes of the node.
func randomBits(w *worker) {
	w.draw(uint64(w.n.Attrs.Int("seed")), uint64(w.n.Attrs.Int("counter")))
}

// randomBitsAt draws words from the attributes plus a state that is an operand: seed and counter.
func randomBitsAt(w *worker) {
	state := []int64{0, 0}
	if w.err == nil {
		h, err := w.thread.Over(unsafe.Pointer(&state[0]), shape.Of(2), torch.Int64)
		if err == nil {
			err = w.thread.Copy(h, w.in[0].h)
			w.thread.Delete(h)
		}
		w.fail(err)
	}
	w.draw(uint64(w.n.Attrs.Int("seed"))+uint64(state[0]), uint64(w.n.Attrs.Int("counter"))+uint64(state[1]))
}

// draw computes random words on the host, because no operator of torch computes the generator that the op prescribes.
func (w *worker) draw(seed, at uint64) {
	d := w.n.Outputs[0]
	n := d.Shape.Size()
	if !w.dev.reads || n == 0 {
		all := make([]uint32, n)
		drawWords(all, at, seed, 1)
		w.out[0] = w.host(d.DType, d.Shape, dtype.Bytes(all))
		return
	}
	w.out[0] = w.empty(d.DType, d.Shape)
	if w.err != nil {
		return
	}
	p, err := w.thread.Data(w.out[0].h)
	w.fail(err)
	if err == nil {
		drawWords(unsafe.Slice((*uint32)(p), n), at, seed, w.dev.lib.Computes())
	}
}

// drawn is the least number of words per goroutine.
const drawn = 1 << 16

// drawWords fills words with blocks of four, starting with the counter at, in at most threads goroutines.
func drawWords(words []uint32, at, seed uint64, threads int) {
	var all sync.WaitGroup
	part := max(drawn, (len(words)/max(1, threads)+3)&^3)
	for ; len(words) > part; at += uint64(part / 4) {
		mine, from := words[:part], at
		all.Go(func() { drawBlocks(mine, from, seed) })
		words = words[part:]
	}
	drawBlocks(words, at, seed)
	all.Wait()
}

func drawBlocks(words []uint32, at, seed uint64) {
	for ; len(words) >= 4; at++ {
		words[0], words[1], words[2], words[3] = philox(at, seed)
		words = words[4:]
	}
	if len(words) > 0 {
		var block [4]uint32
		block[0], block[1], block[2], block[3] = philox(at, seed)
		copy(words, block[:])
	}
}

// philox returns the block that Philox 4x32-10 computes from a counter and a key.
func philox(counter, key uint64) (a, b, c, d uint32) {
	a, b = uint32(counter), uint32(counter>>32)
	k, l := uint32(key), uint32(key>>32)
	for range 10 {
		p, q := uint64(a)*0xd2511f53, uint64(c)*0xcd9e8d57
		a, b, c, d = uint32(q>>32)^b^k, uint32(q), uint32(p>>32)^d^l, uint32(p)
		k += 0x9e3779b9
		l += 0xbb67ae85
	}
	return a, b, c, d
}
