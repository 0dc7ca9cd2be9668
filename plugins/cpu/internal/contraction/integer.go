package contraction

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

// A sum of up to exactTerms products is exact in f32. Factors are bytes minus zero points, at most 255 in magnitude,
// so that the sums stay below 2^24. In f64, the sum of as many products as fit in memory is exact.
const exactTerms = 256

// IntegerFusion lists the neighbouring nodes that the kernel of a product or convolution of bytes also computes.
type IntegerFusion struct {
	// Weight is the second operand if it is a constant that the kernel keeps in packed form: for a product, one matrix for the whole batch.
	// Zero contains its zero points; nil means zero. The inputs of a call then do not contain the two: later inputs move down.
	Weight, Zero *kernel.Array
	// Keep is called with the bytes of the packed weight that the kernel keeps. It may be nil.
	Keep func(bytes int)
	// Epilogue is applied to the sums. It may be nil.
	Epilogue *requantize.Epilogue
}

// byteOperands are the inputs of a call. Zero points may be missing.
type byteOperands struct {
	x, w         kernel.Array
	xZero, wZero *kernel.Array
}

// keep calls Keep with the bytes of the packed weight.
func (s *IntegerFusion) keep(bytes int) {
	if s.Keep != nil {
		s.Keep(bytes)
	}
}

func (s *IntegerFusion) operands(c *kernel.Call) byteOperands {
	if s.Weight != nil {
		return byteOperands{x: c.In[0], xZero: optional(c.In, 1)}
	}
	return byteOperands{c.In[0], c.In[1], optional(c.In, 2), optional(c.In, 3)}
}

func optional(in []kernel.Array, k int) *kernel.Array {
	if k < len(in) {
		return &in[k]
	}
	return nil
}

// PrepareInteger returns the kernel of a product or convolution of bytes, summed in i32. Without a loop for bytes, the kernel converts the
// operands minus their zero points to floats in which every sum is exact, and uses a float kernel. env is needed only with a constant
// weight, which is not read afterwards.
func PrepareInteger(env *kernel.Env, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	if quantized.CanMul() {
		prepare := prepareBytes
		if n.Op == op.ConvInteger {
			prepare = prepareByteConv
		}
		if run := prepare(env, n, in, s); run != nil {
			return run
		}
	}
	terms := slices.Max(in[0].Shape[max(0, len(in[0].Shape)-2):]) // either may be the dimension that is summed over
	if n.Op == op.ConvInteger {
		terms = in[1].Shape[1:].Size()
	}
	if terms <= exactTerms {
		return integers[float32](env, dtype.F32, n, in, s)
	}
	return integers[float64](env, dtype.F64, n, in, s)
}

func prepareInteger(n *op.Node, in []op.Desc) kernel.Func {
	return PrepareInteger(nil, n, in, IntegerFusion{})
}

// PacksInteger reports whether the kernel of a node keeps a packed copy of a constant weight: it does for a weight that is one matrix, and
// for the weights of a convolution.
func PacksInteger(n *op.Node, in []op.Desc) bool {
	w := in[1].Shape
	return w.Size() > 0 && (n.Op == op.ConvInteger || w[:len(w)-2].Size() == 1)
}

// requantize applies the epilogue. The innermost dimension of sums is the output position for a convolution and the channel for a product.
func (s *IntegerFusion) requantize(c *kernel.Call, n *op.Node, sums []int32) {
	y := n.Outputs[0].Shape
	to := s.Epilogue.Output(c.Alloc(0))
	if len(sums) == 0 {
		return
	}
	if n.Op == op.ConvInteger {
		channels, positions := y[1], y[2:].Size()
		c.Pool.For(y[0]*channels, requantize.Grain/positions+1, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				s.Epilogue.Row(to, r*positions, sums[r*positions:][:positions], r%channels)
			}
		})
		return
	}
	cols := y[len(y)-1]
	c.Pool.For(len(sums)/cols, requantize.Grain/cols+1, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			s.Epilogue.Columns(to, r*cols, sums[r*cols:][:cols])
		}
	})
}

func integers[T float32 | float64](env *kernel.Env, d dtype.DType, n *op.Node, in []op.Desc, s IntegerFusion) kernel.Func {
	wide := []op.Desc{{DType: d, Shape: in[0].Shape}, {DType: d, Shape: in[1].Shape}}
	sums := []op.Desc{{DType: d, Shape: n.Outputs[0].Shape}}
	prepare, byRows := prepareProduct[T], false
	if n.Op == op.ConvInteger {
		prepare, byRows = prepareConv[T], true
	}
	fusion := Fusion{Keep: s.Keep}
	if s.Weight != nil {
		if w, ok := constantWithoutZero[T](env, d, *s.Weight, s.Zero, byRows); ok {
			defer w.Buf.Release()
			fusion.Weight = &w
		} else {
			return nil
		}
	}
	multiply := prepare(env, n, wide, fusion)
	return func(c *kernel.Call) error {
		given, own, desc, outs := c.In, c.Own, c.Desc, c.Out
		o := s.operands(c)
		operands := []kernel.Array{withoutZero[T](c, d, o.x, o.xZero, byRows)}
		if s.Weight == nil {
			operands = append(operands, withoutZero[T](c, d, o.w, o.wZero, byRows))
		}
		var held [1]kernel.Array
		c.In, c.Own, c.Desc, c.Out = operands, 0, sums, held[:]
		err := multiply(c)
		c.In, c.Own, c.Desc, c.Out = given, own, desc, outs
		if held[0].Buf != nil {
			defer held[0].Buf.Release()
		}
		if err != nil {
			return err
		}
		from := kernel.Flat[T](held[0])
		var to []int32
		if s.Epilogue == nil {
			to = kernel.Flat[int32](c.Alloc(0))
		} else {
			to = kernel.TempOf[int32](c, len(from))
		}
		c.Pool.For(len(to), 1<<14, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				to[i] = int32(int64(from[i])) // wraps around
			}
		})
		if s.Epilogue != nil {
			s.requantize(c, n, to)
		}
		return nil
	}
}

// constantWithoutZero is like withoutZero for a constant. The result has a reference count of one. It returns false if there is no memory.
func constantWithoutZero[T float32 | float64](env *kernel.Env, d dtype.DType, a kernel.Array, zero *kernel.Array, byRows bool) (kernel.Array, bool) {
	buf, err := env.Account.New(a.Size() * d.Size())
	if err != nil {
		return kernel.Array{}, false
	}
	out := kernel.Array{Buf: buf, DType: d, View: shape.Contiguous(a.View.Shape)}
	to := kernel.Flat[T](out)
	bytes := make([]byte, len(to))
	kernel.Read(env.Pool, bytes, a)
	var zeros []byte
	if zero != nil {
		z := *zero
		if z.Size() != 1 {
			z = alongRows(z, len(a.View.Shape), byRows)
			z.View = z.View.Expand(a.View.Shape)
		}
		zeros = make([]byte, z.Size())
		kernel.Read(env.Pool, zeros, z)
	}
	for i, b := range bytes {
		to[i] = T(kernel.ByteValue(a.DType, b))
		if zero != nil {
			to[i] -= T(kernel.ByteValue(a.DType, zeros[min(i, len(zeros)-1)]))
		}
	}
	return out, true
}

// alongRows returns zero points with a shape that broadcasts to a tensor of the given rank. byRows means that each output channel has a
// zero point.
func alongRows(z kernel.Array, rank int, byRows bool) kernel.Array {
	if !byRows || len(z.View.Shape) != 1 {
		return z
	}
	v := shape.View{Shape: make(shape.Shape, rank), Strides: make([]int, rank), Offset: z.View.Offset}
	for d := range v.Shape {
		v.Shape[d] = 1
	}
	v.Shape[0], v.Strides[0] = z.View.Shape[0], z.View.Strides[0]
	z.View = v
	return z
}

// withoutZero returns a minus its zero points as floats of type d, in memory that lives until the kernel returns.
func withoutZero[T float32 | float64](c *kernel.Call, d dtype.DType, a kernel.Array, zero *kernel.Array, byRows bool) kernel.Array {
	if zero != nil {
		z := alongRows(*zero, len(a.View.Shape), byRows)
		zero = &z
	}
	if a.DType == dtype.U8 {
		return centred[T, uint8](c, d, a, zero)
	}
	return centred[T, int8](c, d, a, zero)
}

// centred returns a-zero as floats of type d, in memory that lives until the kernel returns. zero broadcasts to a.
func centred[T float32 | float64, B uint8 | int8](c *kernel.Call, d dtype.DType, a kernel.Array, zero *kernel.Array) kernel.Array {
	out := c.Temp(d, a.View.Shape)
	to, from := kernel.Flat[T](out), kernel.Flat[B](c.Contiguous(a))
	var off T
	var each []B
	if zero != nil && len(to) > 0 {
		if zero.Size() == 1 {
			off = T(kernel.Flat[B](c.Contiguous(*zero))[0])
		} else {
			z := *zero
			z.View = z.View.Expand(a.View.Shape)
			each = kernel.Flat[B](c.Contiguous(z))
		}
	}
	c.Pool.For(len(to), 1<<14, func(lo, hi int) {
		if each == nil {
			for i := lo; i < hi; i++ {
				to[i] = T(from[i]) - off
			}
			return
		}
		for i := lo; i < hi; i++ {
			to[i] = T(from[i]) - T(each[i])
		}
	})
	return out
}
