package contraction

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/conv"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
	"github.com/goburn/burn/plugins/cpu/internal/window"
)

// padded prepends n neutral entries to an attribute, for the leading dimensions, which have no window.
func padded(n, neutral int, l []int) []int {
	out := make([]int, n, n+len(l))
	for i := range out {
		out[i] = neutral
	}
	return append(out, l...)
}

func windowPlan(x shape.Shape, a op.Attrs, lo, hi []int) (*window.Plan, error) {
	n := len(x) - len(a.Ints("window"))
	return window.New(x, window.Params{Size: padded(n, 1, a.Ints("window")), Stride: padded(n, 1, a.Ints("strides")),
		PadLo: padded(n, 0, lo), PadHi: padded(n, 0, hi), Dilation: padded(n, 1, a.Ints("dilation"))})
}

func prepareWindow(n *op.Node, in []op.Desc) kernel.Func {
	plan, err := windowPlan(in[0].Shape, n.Attrs, n.Attrs.Ints("pad_lo"), n.Attrs.Ints("pad_hi"))
	if err != nil {
		return func(*kernel.Call) error { return err }
	}
	if run := prepareByteMax(n, in); run != nil {
		return run
	}
	first := len(in[0].Shape) - len(n.Attrs.Ints("window"))
	max := n.Attrs.Str("reduce") == "max"
	ready := max && plan.FastMax() || !max && plan.FastSum()
	if fast := fastWindows(n, in[0], n.Attrs.Ints("pad_lo"), n.Attrs.Ints("pad_hi")); fast != nil && len(n.Outputs) == 1 && !ready {
		reduce := conv.SumWindows
		if max {
			reduce = conv.MaxWindows
		}
		return func(c *kernel.Call) error {
			x := kernel.Flat[float32](c.Contiguous(c.In[0]))
			reduce(c.Pool, fast, x, kernel.Flat[float32](c.Alloc(0)))
			return nil
		}
	}
	switch in[0].DType {
	case dtype.F64:
		return reduceWindows[float64](plan, max, first)
	case dtype.F32:
		return reduceWindows[float32](plan, max, first)
	case dtype.I64:
		return reduceWindows[int64](plan, max, first)
	case dtype.I32:
		return reduceWindows[int32](plan, max, first)
	case dtype.I16:
		return reduceWindows[int16](plan, max, first)
	case dtype.I8:
		return reduceWindows[int8](plan, max, first)
	case dtype.U64:
		return reduceWindows[uint64](plan, max, first)
	case dtype.U32:
		return reduceWindows[uint32](plan, max, first)
	case dtype.U16:
		return reduceWindows[uint16](plan, max, first)
	case dtype.U8:
		return reduceWindows[uint8](plan, max, first)
	}
	return nil
}

// fastWindows returns the plan for the loops in assembly, or nil if there are none for the node.
func fastWindows(n *op.Node, x op.Desc, lo, hi []int) *conv.Plan {
	if x.DType != dtype.F32 {
		return nil
	}
	a, s := n.Attrs, x.Shape
	first := len(s) - len(a.Ints("window"))
	p, err := conv.Windows(s[:first].Size(), s[first:], a.Ints("window"), conv.Params{Stride: a.Ints("strides"), PadLo: lo, PadHi: hi,
		KernelDilation: a.Ints("dilation")})
	if err != nil {
		return nil // the general kernel returns the error
	}
	return p
}

func reduceWindows[T micro.Number](plan *window.Plan, max bool, first int) kernel.Func {
	return func(c *kernel.Call) error {
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		y := kernel.Flat[T](c.Alloc(0))
		if !max {
			window.Sum(c.Pool, plan, x, y)
			return nil
		}
		var index []int64
		if len(c.Desc) > 1 {
			index = kernel.Flat[int64](c.Alloc(1))
		}
		window.MaxFrom(c.Pool, plan, first, x, y, index)
		return nil
	}
}

// prepareAvgPool returns a kernel that divides window sums by the number of counted elements, which is the same for every plane.
func prepareAvgPool(n *op.Node, in []op.Desc) kernel.Func {
	if in[0].DType == dtype.F64 {
		return avgPool[float64](n, in[0])
	}
	return avgPool[float32](n, in[0])
}

func avgPool[T float32 | float64](n *op.Node, in op.Desc) kernel.Func {
	a, x := n.Attrs, in.Shape
	lo, hi := a.Ints("pad_lo"), append([]int(nil), a.Ints("pad_hi")...)
	for i, o := range a.Ints("overhang") {
		hi[i] += o
	}
	plan, err := windowPlan(x, a, lo, hi)
	if err != nil {
		return func(*kernel.Call) error { return err }
	}
	fast := fastWindows(n, in, lo, hi)
	counts := divisors[T](a, x[len(x)-len(lo):], n.Outputs[0].Shape[len(x)-len(lo):])
	same := !slices.ContainsFunc(counts, func(n T) bool { return n != counts[0] })
	return func(c *kernel.Call) error {
		y := kernel.Flat[T](c.Alloc(0))
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		if fast != nil && !plan.FastSum() {
			conv.SumWindows(c.Pool, fast, any(x).([]float32), any(y).([]float32))
		} else {
			window.Sum(c.Pool, plan, x, y)
		}
		if len(y) == 0 {
			return nil
		}
		if y, ok := any(y).([]float32); ok && vector.Has() {
			divide(c, y, any(counts).([]float32), same)
			return nil
		}
		c.Pool.For(len(y)/len(counts), 16<<10/len(counts)+1, func(lo, hi int) {
			for p := lo; p < hi; p++ {
				plane := y[p*len(counts):][:len(counts)]
				for i, n := range counts {
					plane[i] /= n
				}
			}
		})
		return nil
	}
}

// divide divides planes by counts, element by element, in assembly. same means that all counts are equal.
func divide(c *kernel.Call, y, counts []float32, same bool) {
	if same {
		c.Pool.For(len(y), 64<<10, func(lo, hi int) { vector.Div().To(y[lo:hi], y[lo:hi], counts[0]) })
		return
	}
	c.Pool.For(len(y)/len(counts), 64<<10/len(counts)+1, func(lo, hi int) {
		for p := lo; p < hi; p++ {
			plane := y[p*len(counts):][:len(counts)]
			vector.Div().Both(plane, plane, counts)
		}
	})
}

// divisors returns, for each window of a plane, the number of its elements that count: the elements in the plane and, if the attributes say
// so, the elements in the padding.
func divisors[T float32 | float64](a op.Attrs, x, y shape.Shape) []T {
	lo, hi, size, stride, dilation := a.Ints("pad_lo"), a.Ints("pad_hi"), a.Ints("window"), a.Ints("strides"), a.Ints("dilation")
	counts := []T{1}
	for i := range x {
		begin, end := 0, x[i]
		if a.Bool("count_pad") {
			begin, end = -lo[i], x[i]+hi[i]
		}
		next := make([]T, 0, len(counts)*y[i])
		along := make([]T, y[i])
		for o := range along {
			for t := range size[i] {
				if at := o*stride[i] - lo[i] + t*dilation[i]; at >= begin && at < end {
					along[o]++
				}
			}
		}
		for _, n := range counts {
			for _, m := range along {
				next = append(next, n*m)
			}
		}
		counts = next
	}
	return counts
}
