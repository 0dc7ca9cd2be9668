package movement_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/movement"
)

type list = []kerneltest.Operand

func newBench(t *testing.T) *kerneltest.Bench[ref.Tensor] {
	return kerneltest.New(t, movement.Rules(), ref.Eval, ref.FromBytes)
}

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// sized lists types of each element size, and types with special kernels.
var sized = []dtype.DType{dtype.Bool, dtype.U8, dtype.F16, dtype.BF16, dtype.F32, dtype.I32, dtype.F64, dtype.I64}

// numbered returns a tensor whose elements differ as far as the type has enough numbers.
func numbered(d dtype.DType, dims ...int) kerneltest.Operand {
	o := kerneltest.Ints(d, dims, 0)
	for i := range o.Data {
		o.Data[i] = byte(i*7+i/251) & 0x3f // no NaN, whose bits are not compared
		if d == dtype.Bool {
			o.Data[i] &= 1
		}
	}
	return o
}

func TestFullAndIota(t *testing.T) {
	b := newBench(t)
	for _, d := range dtype.Any.List() {
		for _, dims := range [][]int{nil, {1}, {7}, {3, 5}, {2, 0}, {300}} {
			for _, v := range []op.Attr{op.ScalarInt("value", 0), op.ScalarInt("value", -1), op.ScalarInt("value", 1<<40+1), op.ScalarFloat("value", 2.75),
				op.ScalarFloat("value", math.NaN()), op.ScalarFloat("value", math.Inf(-1)), op.ScalarFloat("value", 1e300), op.ScalarFloat("value", math.Copysign(0, -1))} {
				b.Check(op.Full, nil, v, op.Type("dtype", d), op.Ints("shape", dims...))
			}
			for axis := range dims {
				if d != dtype.Bool {
					b.Check(op.Iota, nil, op.Type("dtype", d), op.Ints("shape", dims...), op.Int("axis", axis))
				}
			}
		}
	}
}

func TestRandomBits(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 255, 1029} {
		for _, seed := range []int64{0, 1, -1, 1<<32 + 7, math.MinInt64} {
			for _, counter := range []int64{0, 1, 1<<32 - 3, -2} {
				b.Check(op.RandomBits, nil, op.Int("seed", int(seed)), op.Int("counter", int(counter)), op.Ints("shape", n), op.Type("dtype", dtype.U32))
			}
		}
	}
	// The first block of counter 0 and key 0, from the vectors that the authors of Philox publish with Random123.
	known := kerneltest.Ints(dtype.U32, []int{4}, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)
	b.Expect(op.RandomBits, nil, list{known}, 0, 0, op.Int("seed", 0), op.Ints("shape", 4), op.Type("dtype", dtype.U32))
	for _, n := range []int{1, 4, 70} {
		state := kerneltest.Ints(dtype.I64, []int{2}, -5, 1<<33)
		b.Check(op.RandomBitsAt, list{state}, op.Int("seed", 9), op.Int("counter", 3), op.Ints("shape", n))
	}
}

func TestViews(t *testing.T) {
	b := newBench(t)
	for _, d := range sized {
		x := numbered(d, 3, 4, 5)
		for _, to := range [][]int{{60}, {5, 12}, {12, 5}, {3, 2, 2, 5}, {1, 60, 1}, {4, 3, 5}} {
			b.Check(op.Reshape, list{x}, op.Ints("shape", to...))
		}
		for _, axes := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}} {
			b.Check(op.Permute, list{x}, op.Ints("axes", axes...))
		}
		for _, axes := range [][]int{{}, {0}, {1, 2}, {2, 0, 1}} {
			b.Check(op.Flip, list{x}, op.Ints("axes", axes...))
		}
		b.Check(op.Copy, list{x})
		for _, s := range []struct{ start, size, step []int }{
			{[]int{0, 0, 0}, []int{3, 4, 5}, []int{1, 1, 1}}, {[]int{1, 2, 3}, []int{2, 2, 1}, []int{1, 1, 1}}, {[]int{2, 3, 4}, []int{3, 2, 3}, []int{-1, -2, -2}},
			{[]int{0, 1, 0}, []int{2, 2, 3}, []int{2, 2, 2}}, {[]int{0, 0, 0}, []int{3, 0, 5}, []int{1, 1, 1}}, {[]int{1, 0, 4}, []int{1, 4, 1}, []int{7, 1, -9}},
		} {
			b.Check(op.Slice, list{x}, op.Ints("start", s.start...), op.Ints("size", s.size...), op.Ints("step", s.step...))
		}
		for _, e := range []struct{ from, to []int }{{nil, []int{3, 2}}, {[]int{1}, []int{4}}, {[]int{3, 1}, []int{2, 3, 5}}, {[]int{1, 5}, []int{3, 5}}, {[]int{1}, []int{0}}, {[]int{2, 3}, []int{2, 3}}} {
			b.Check(op.Expand, list{numbered(d, e.from...)}, op.Ints("shape", e.to...))
		}
	}
	for _, dims := range [][]int{nil, {0}, {0, 3}} {
		x := numbered(dtype.F32, dims...)
		b.Check(op.Copy, list{x})
		b.Check(op.Reshape, list{x}, op.Ints("shape", append([]int{1}, dims...)...))
	}
}

func TestPad(t *testing.T) {
	b := newBench(t)
	for _, d := range sized {
		for _, p := range []struct{ dims, lo, hi []int }{
			{[]int{5}, []int{0}, []int{0}}, {[]int{5}, []int{3}, []int{1}}, {[]int{5}, []int{-2}, []int{-1}}, {[]int{5}, []int{-2}, []int{4}}, {[]int{5}, []int{-5}, []int{2}},
			{[]int{3, 17}, []int{1, 2}, []int{0, 3}}, {[]int{3, 17}, []int{-1, 5}, []int{2, -16}}, {[]int{0, 3}, []int{2, 0}, []int{1, 1}}, {[]int{2, 3, 4}, []int{1, 0, 1}, []int{0, 1, 1}},
			{[]int{3}, []int{-9}, []int{8}}, {[]int{3}, []int{7}, []int{-9}},
		} {
			for _, v := range []op.Attr{op.ScalarInt("value", 1), op.ScalarFloat("value", -0.5)} {
				b.Check(op.Pad, list{numbered(d, p.dims...)}, op.Ints("lo", p.lo...), op.Ints("hi", p.hi...), v)
			}
		}
	}
}

func TestConcat(t *testing.T) {
	b := newBench(t)
	for _, d := range sized {
		for _, c := range []struct {
			axis int
			dims [][]int
		}{{0, [][]int{{3}}}, {0, [][]int{{3}, {0}, {5}}}, {1, [][]int{{3, 4}, {3, 1}, {3, 17}}}, {0, [][]int{{1, 5}, {4, 5}}}, {1, [][]int{{2, 3, 5}, {2, 1, 5}}},
			{2, [][]int{{2, 3, 0}, {2, 3, 0}}}, {1, [][]int{{0, 3}, {0, 4}}}, {0, [][]int{{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}}}} {
			var in list
			for _, dims := range c.dims {
				in = append(in, numbered(d, dims...))
			}
			b.Check(op.Concat, in, op.Int("axis", c.axis))
		}
	}
	big := list{numbered(dtype.F32, 200, 90), numbered(dtype.F32, 200, 100)} // more than is concatenated at once
	b.Check(op.Concat, big, op.Int("axis", 1))
}

// at returns valid indices into a dimension of the given size.
func at(r *rand.Rand, d dtype.DType, size int, dims ...int) kerneltest.Operand {
	return kerneltest.Random(r, d, 0, float64(size-1), dims...)
}

func TestGather(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		dims        []int
		axis, batch int
		indices     []int
	}{{[]int{7}, 0, 0, []int{5}}, {[]int{7}, 0, 0, nil}, {[]int{5, 3}, 0, 0, []int{2, 4}}, {[]int{5, 33}, 1, 0, []int{9}}, {[]int{3, 4, 5}, 1, 0, []int{6}}, {[]int{3, 4, 5}, 1, 1, []int{3, 2}},
		{[]int{3, 4, 5}, 2, 1, []int{3, 7}}, {[]int{2, 3, 4, 5}, 2, 2, []int{2, 3, 6}}, {[]int{5, 0}, 0, 0, []int{3}}, {[]int{5, 3}, 0, 0, []int{0}}, {[]int{9, 300}, 0, 0, []int{11}}} {
		for _, d := range sized {
			for _, kind := range []dtype.DType{dtype.I32, dtype.I64} {
				b.Check(op.Gather, list{numbered(d, c.dims...), at(r, kind, c.dims[c.axis], c.indices...)}, op.Int("axis", c.axis), op.Int("batch", c.batch))
			}
		}
	}
	// Rows of 4 KiB are prefetched.
	b.Check(op.Gather, list{numbered(dtype.F32, 20, 1024), at(r, dtype.I64, 20, 9)}, op.Int("axis", 0))
}

func TestGatherAndScatterElements(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		dims    []int
		axis    int
		indices []int
	}{{[]int{7}, 0, []int{5}}, {[]int{7}, 0, []int{17}}, {[]int{5, 3}, 0, []int{9, 2}}, {[]int{5, 33}, 1, []int{4, 9}}, {[]int{3, 4, 5}, 1, []int{2, 6, 5}}, {[]int{5, 3}, 0, []int{0, 3}}} {
		indices := at(r, dtype.I64, c.dims[c.axis], c.indices...)
		for _, d := range sized {
			x := numbered(d, c.dims...)
			b.Check(op.GatherElements, list{x, indices}, op.Int("axis", c.axis))
			b.Check(op.ScatterElements, list{x, indices, numbered(d, c.indices...)}, op.Int("axis", c.axis), op.Str("mode", "assign"))
		}
		for _, d := range dtype.Numbers.List() {
			x, updates := kerneltest.Random(r, d, 1, 3, c.dims...), kerneltest.Random(r, d, 1, 3, c.indices...)
			for _, mode := range []string{"add", "mul", "min", "max"} {
				b.Check(op.ScatterElements, list{x, indices, updates}, op.Int("axis", c.axis), op.Str("mode", mode))
			}
		}
	}
}

func TestScatter(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		dims        []int
		axis, batch int
		indices     []int
	}{{[]int{7}, 0, 0, []int{5}}, {[]int{7}, 0, 0, nil}, {[]int{5, 3}, 0, 0, []int{2, 4}}, {[]int{5, 33}, 1, 0, []int{9}}, {[]int{3, 4, 5}, 1, 1, []int{3, 2}},
		{[]int{5, 0}, 0, 0, []int{3}}, {[]int{5, 3}, 0, 0, []int{0}}, {[]int{4, 300}, 0, 0, []int{11}}} {
		indices := at(r, dtype.I32, c.dims[c.axis], c.indices...)
		updated := append(append(append([]int(nil), c.dims[:c.axis]...), c.indices[c.batch:]...), c.dims[c.axis+1:]...)
		axis, batch := op.Int("axis", c.axis), op.Int("batch", c.batch)
		for _, d := range sized {
			b.Check(op.Scatter, list{numbered(d, c.dims...), indices, numbered(d, updated...)}, axis, batch)
		}
		for _, d := range dtype.Numbers.List() {
			x, updates := kerneltest.Random(r, d, 1, 3, c.dims...), kerneltest.Random(r, d, 1, 3, updated...)
			for _, mode := range []string{"add", "mul", "min", "max"} {
				b.Check(op.Scatter, list{x, indices, updates}, axis, batch, op.Str("mode", mode))
			}
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	x := kerneltest.Floats(dtype.F32, []int{4}, 1, nan, -inf, math.Copysign(0, -1))
	for _, mode := range []string{"assign", "add", "mul", "min", "max"} {
		for _, v := range []float64{nan, inf, -inf, 0} {
			b.Check(op.Scatter, list{x, kerneltest.Ints(dtype.I64, []int{4}, 0, 1, 2, 3), kerneltest.Floats(dtype.F32, []int{4}, v)}, op.Int("axis", 0), op.Str("mode", mode))
		}
	}
}

// Indices out of range are refused before anything is written, but every index is legal if no element is moved.
func TestIndexOutside(t *testing.T) {
	b := newBench(t)
	x := numbered(dtype.F32, 4, 3)
	for _, v := range []int64{-1, 4, 1 << 40, math.MinInt64, math.MaxInt64} {
		flat, full := kerneltest.Ints(dtype.I64, []int{2}, 0, v), kerneltest.Ints(dtype.I64, []int{2, 3}, 0, 1, 2, 3, 0, v)
		axis := op.Int("axis", 0)
		b.Fails(core.ErrIndex, op.Gather, list{x, flat}, axis)
		b.Fails(core.ErrIndex, op.GatherElements, list{x, full}, axis)
		for _, mode := range []string{"assign", "add"} {
			b.Fails(core.ErrIndex, op.Scatter, list{x, flat, numbered(dtype.F32, 2, 3)}, axis, op.Str("mode", mode))
			b.Fails(core.ErrIndex, op.ScatterElements, list{x, full, numbered(dtype.F32, 2, 3)}, axis, op.Str("mode", mode))
		}
		nothing := numbered(dtype.F32, 4, 0)
		b.Check(op.Gather, list{nothing, flat}, axis)
		b.Check(op.Scatter, list{nothing, flat, numbered(dtype.F32, 2, 0)}, axis)
	}
}

// TestReshapeOfEveryRank reshapes operands that are stored in every layout. Strides can describe some of the results; the others must be
// copied.
func TestReshapeOfEveryRank(t *testing.T) {
	b := newBench(t)
	for rank := 1; rank <= shape.MaxRank; rank++ {
		dims := make([]int, rank)
		for i := range dims {
			dims[i] = 1 + i%2
		}
		x := numbered(dtype.F32, dims...)
		b.Check(op.Reshape, list{x}, op.Ints("shape", x.Desc.Shape.Size()))
		b.Check(op.Reshape, list{numbered(dtype.F32, x.Desc.Shape.Size())}, op.Ints("shape", dims...))
	}
}
