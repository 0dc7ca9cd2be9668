package libtorch

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var creation = map[op.Code]rule{
	op.Full:       {run: full, types: anyType},
	op.Iota:       {run: iotaKernel, types: numbers},
	op.RandomBits: {run: randomBits, types: dtype.SetOf(dtype.I32)},
}

// full is one element, seen everywhere.
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

// randomBits computes on the host: torch has no operator for words of a given generator.
func randomBits(w *worker) {
	d, a := w.n.Outputs[0], w.n.Attrs
	all := make([]uint32, d.Shape.Size())
	words := all
	seed, at := uint64(a.Int("seed")), uint64(a.Int("counter"))
	for len(words) >= 4 {
		words[0], words[1], words[2], words[3] = philox(at, seed)
		words, at = words[4:], at+1
	}
	if len(words) > 0 {
		var block [4]uint32
		block[0], block[1], block[2], block[3] = philox(at, seed)
		copy(words, block[:])
	}
	w.out[0] = w.host(d.DType, d.Shape, dtype.Bytes(all))
}

// philox returns the block of Philox 4x32-10 of a counter and a key.
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
