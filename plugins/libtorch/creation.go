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
	words := make([]uint32, d.Shape.Size())
	seed, at := uint64(a.Int("seed")), uint64(a.Int("counter"))
	for i := 0; i < len(words); i += 4 {
		block := philox([4]uint32{uint32(at), uint32(at >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
		copy(words[i:], block[:])
		at++
	}
	w.out[0] = w.host(d.DType, d.Shape, dtype.Bytes(words))
}

// philox returns the block of Philox 4x32-10 of a counter and a key.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		p, q := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ k[0], uint32(q), uint32(p>>32) ^ c[3] ^ k[1], uint32(p)}
		k[0] += 0x9e3779b9
		k[1] += 0xbb67ae85
	}
	return c
}
