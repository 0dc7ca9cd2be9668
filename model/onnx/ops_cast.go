package onnx

import "github.com/goburn/burn/core/dtype"

func init() {
	register("Cast", 6, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.cast(n.input(0), t.elementType(n.int("to", 0)))}
	})
	register("CastLike", 15, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		return []value{t.cast(n.input(0), n.input(1).dtype())}
	})
	register("BitCast", 26, bitCast)
}

// bitCast relabels the bytes on the host, as the contract has no op for it.
func bitCast(t *tracer, n *node) []value {
	t.need(n, 0)
	x, d := n.input(0), t.elementType(n.int("to", 0))
	switch {
	case d.Size() != x.dtype().Size():
		t.fail("to is %v for %v, want as many bits", d, x.dtype())
	case d == x.dtype():
		return []value{x}
	}
	return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) {
		data := in[0].Data
		if d == dtype.Bool {
			data = make([]byte, len(in[0].Data))
			for i, b := range in[0].Data {
				if b != 0 {
					data[i] = 1
				}
			}
		}
		return []hostTensor{{DType: d, Shape: in[0].Shape, Data: data}}, nil
	})
}
