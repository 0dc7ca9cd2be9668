package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func init() {
	register("Cast", 6, func(t *tracer, n *node) []value {
		t.need(n, 0)
		return []value{t.castNode(n, t.elementType(n.int("to", 0)))}
	})
	register("CastLike", 15, func(t *tracer, n *node) []value {
		t.need(n, 0, 1)
		return []value{t.castNode(n, n.input(1).dtype())}
	})
	register("BitCast", 26, bitCast)
}

// castNode casts with the attributes for small floats.
func (t *tracer) castNode(n *node, to dtype.DType) value {
	x := n.input(0)
	if !dtype.SmallFloats.Has(to) || x.dtype() == to {
		return t.cast(x, to)
	}
	if to == dtype.F8E8M0 && n.str("round_mode", "up") != "nearest" {
		return t.powers(x, n.str("round_mode", "up"))
	}
	return t.do(op.Cast, []value{x}, op.Type("dtype", to), op.Flag("saturate", n.int("saturate", 1) != 0))
}

// powers rounds to powers of two, upward or downward. It runs on the host, as the cast of the contract rounds to nearest.
func (t *tracer) powers(x value, mode string) value {
	if mode != "up" && mode != "down" {
		t.fail("round_mode is %q, want up, down or nearest", mode)
	}
	return t.hostOp([]value{t.cast(x, dtype.F64)}, func(in []hostTensor) ([]hostTensor, error) {
		out := make([]byte, in[0].Shape.Size())
		for i, f := range dtype.Slice[float64](in[0].Data) {
			if frac, e := math.Frexp(f); f > 0 && !math.IsInf(f, 0) {
				f = math.Ldexp(1, e-1)
				if mode == "up" && frac > 0.5 {
					f *= 2
				}
			}
			out[i] = dtype.ToSmall(dtype.F8E8M0, f, true)
		}
		return []hostTensor{{DType: dtype.F8E8M0, Shape: in[0].Shape, Data: out}}, nil
	})[0]
}

// bitCast reinterprets the bits on the host, as the contract has no op for it.
func bitCast(t *tracer, n *node) []value {
	t.need(n, 0)
	x, d := n.input(0), t.elementType(n.int("to", 0))
	switch {
	case width(d) != width(x.dtype()):
		t.fail("to is %v for %v, want as many bits", d, x.dtype())
	case d == x.dtype():
		return []value{x}
	}
	return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) {
		data := in[0].Data
		if w := width(d); d == dtype.Bool || w < 8 {
			data = make([]byte, len(in[0].Data))
			for i, b := range in[0].Data {
				switch {
				case d == dtype.F4E2M1:
					data[i] = b & 15
				case w < 8:
					data[i] = dtype.IntToSmall(d, int64(b))
				case b != 0:
					data[i] = 1
				}
			}
		}
		return []hostTensor{{DType: d, Shape: in[0].Shape, Data: data}}, nil
	})
}

// width returns the number of bits of an element of d. It is less than 8 for types that are stored in a whole byte but use a part of it.
func width(d dtype.DType) int {
	if c, narrow := carriers[d]; narrow {
		return c.bits
	}
	if d == dtype.F4E2M1 {
		return 4
	}
	return 8 * d.Size()
}
