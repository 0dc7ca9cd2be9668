package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// sums is a program around a product or convolution of bytes, with values for its inputs and constants.
type sums struct {
	*op.Builder
	p      program.Program
	r      *rand.Rand
	values map[op.TensorID]ref.Tensor
	next   op.TensorID
}

func newSums(seed uint64) *sums {
	s := &sums{p: program.Program{Name: "sums"}, r: rand.New(rand.NewPCG(seed, 9)), values: map[op.TensorID]ref.Tensor{}}
	s.Builder = op.NewBuilder(func() op.TensorID { s.next++; return s.next })
	return s
}

// tensor adds a constant or an input with random elements. In a third of the tensors, bytes are the least or the greatest value of d.
func (s *sums) tensor(constant bool, d dtype.DType, dims ...int) op.Desc {
	s.next++
	t := ref.Zeros(op.Desc{ID: s.next, DType: d, Shape: dims})
	low, extreme := int64(0), s.r.IntN(3) == 0
	if d == dtype.I8 {
		low = -128
	}
	for i := range t.I {
		t.I[i] = low + s.r.Int64N(256)
		if extreme {
			t.I[i] = low + 255*s.r.Int64N(2)
		}
	}
	for i := range t.F {
		t.F[i] = ref.Round(d, 0.001+0.01*s.r.Float64())
	}
	s.values[s.next] = t
	if constant {
		s.p.Consts = append(s.p.Consts, t.Desc)
	} else {
		s.p.Inputs = append(s.p.Inputs, t.Desc)
	}
	return t.Desc
}

// finish returns y, or the dequantized y, whose n channels are along axis, and quantizes some of these results.
func (s *sums) finish(y op.Desc, axis, n int) op.Desc {
	kind := s.r.IntN(6)
	if kind == 0 {
		return y
	}
	along := make([]int, len(y.Shape)-axis)
	for i := range along {
		along[i] = 1
	}
	along[0] = n
	switch s.r.IntN(3) {
	case 0:
		y = s.With(op.Dequantize, []op.Desc{y, s.tensor(true, dtype.F32, n), s.FullInt(dtype.I32, 0, []int{n})}, op.Int("axis", axis))
	case 1:
		y = s.With(op.Dequantize, []op.Desc{y, s.tensor(true, dtype.F32), s.FullInt(dtype.I32, 0, nil)}, op.Int("axis", -1))
	default:
		y = s.Do(op.Mul, s.Cast(y, dtype.F32), s.tensor(true, dtype.F32, along...))
	}
	if s.r.IntN(2) == 0 {
		y = s.Do(op.Add, s.tensor(true, dtype.F32, along...), y)
	}
	switch s.r.IntN(3) {
	case 0:
		y = s.Do(op.Relu, y)
	case 1:
		y = s.Un(op.Clamp, y, op.ScalarFloat("min", -0.5), op.ScalarFloat("max", 6))
	}
	if kind > 2 {
		d := []dtype.DType{dtype.U8, dtype.I8}[s.r.IntN(2)]
		y = s.Do(op.Quantize, y, s.tensor(true, dtype.F32), s.tensor(true, d))
	}
	return y
}

// check runs the program twice and compares every element exactly with the reference.
func (s *sums) check(t *testing.T, threads int, y op.Desc) {
	t.Helper()
	require.NoError(t, s.Err())
	s.p.Nodes, s.p.Outputs = s.Nodes, []op.TensorID{y.ID}
	at := map[op.TensorID]ref.Tensor{}
	for id, v := range s.values {
		at[id] = v
	}
	for i := range s.p.Nodes {
		n := &s.p.Nodes[i]
		in := make([]ref.Tensor, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = at[id]
		}
		outs, err := ref.Eval(n, in)
		require.NoError(t, err)
		at[n.Outputs[0].ID] = outs[0]
	}
	_, b := open(t, core.Config{Threads: threads})
	b.last = 1000
	send := func(ds []op.Desc) (ids []op.TensorID) {
		for _, d := range ds {
			v := s.values[d.ID]
			switch d.DType {
			case dtype.F32:
				ids = append(ids, put(b, converted[float32](v.F), d.Shape...).ID)
			case dtype.U8:
				ids = append(ids, put(b, converted[uint8](v.I), d.Shape...).ID)
			default:
				ids = append(ids, put(b, converted[int8](v.I), d.Shape...).ID)
			}
		}
		return ids
	}
	id, err := b.Define(ctx, &s.p, send(s.p.Consts))
	require.NoError(t, err)
	in := send(s.p.Inputs)
	want := at[y.ID]
	for range 2 {
		out := y
		out.ID = b.id()
		require.NoError(t, b.Run(id, in, []op.TensorID{out.ID}))
		switch y.DType {
		case dtype.F32:
			require.Equal(t, converted[float32](want.F), get[float32](b, out), "%v", &s.p)
		case dtype.I32:
			require.Equal(t, converted[int32](want.I), get[int32](b, out), "%v", &s.p)
		case dtype.U8:
			require.Equal(t, converted[uint8](want.I), get[uint8](b, out), "%v", &s.p)
		default:
			require.Equal(t, converted[int8](want.I), get[int8](b, out), "%v", &s.p)
		}
	}
}

func converted[T float32 | int32 | uint8 | int8, F int64 | float64](v []F) []T {
	to := make([]T, len(v))
	for i := range v {
		to[i] = T(v[i])
	}
	return to
}

func (s *sums) byteType() dtype.DType { return []dtype.DType{dtype.U8, dtype.I8}[s.r.IntN(2)] }

func TestIntegerProductPrograms(t *testing.T) {
	for seed := range uint64(80) {
		s := newSums(seed)
		m, k, n := 1+s.r.IntN(40), 1+s.r.IntN(70), 1+s.r.IntN(50)
		if seed%20 == 7 {
			m, n = 700, 160 // sums that are finished in parts
		}
		left := []int{m, k}
		if s.r.IntN(2) == 0 {
			left = []int{2, 1 + s.r.IntN(3), m, k}
		}
		a, w := s.byteType(), s.byteType()
		in := []op.Desc{s.tensor(false, a, left...), s.tensor(s.r.IntN(4) > 0, w, k, n)}
		switch s.r.IntN(3) {
		case 0:
			in = append(in, s.tensor(true, a), s.tensor(true, w, n))
		case 1:
			in = append(in, s.tensor(false, a, m, 1), s.tensor(true, w))
		}
		y := s.With(op.MatMulInteger, in)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { s.check(t, 1+int(seed%2), s.finish(y, len(y.Shape)-1, n)) })
	}
}

func TestIntegerConvPrograms(t *testing.T) {
	for seed := range uint64(100) {
		s := newSums(seed)
		groups := 1 + s.r.IntN(2)
		channels, outputs := groups*(1+s.r.IntN(9)), groups*(1+s.r.IntN(20))
		x, w := []int{1 + s.r.IntN(2), channels}, []int{outputs, channels / groups}
		var strides, lo, hi, dilation []int
		rank := []int{1, 2, 2, 2, 3}[s.r.IntN(5)]
		if seed%30 == 11 {
			rank, outputs = 2, 64*groups // sums that are finished in parts
			w[0] = outputs
		}
		for range rank {
			size := 4 + s.r.IntN(20)
			if seed%30 == 11 {
				size = 40 + s.r.IntN(20)
			}
			x, w = append(x, size), append(w, 1+s.r.IntN(3))
			strides, dilation = append(strides, 1+s.r.IntN(3)), append(dilation, 1+s.r.IntN(2))
			lo, hi = append(lo, s.r.IntN(4)-1), append(hi, s.r.IntN(4)-1)
		}
		d, wd := s.byteType(), s.byteType()
		in := []op.Desc{s.tensor(false, d, x...), s.tensor(s.r.IntN(5) > 0, wd, w...)}
		switch s.r.IntN(3) {
		case 0:
			in = append(in, s.tensor(true, d), s.tensor(true, wd, outputs))
		case 1:
			in = append(in, s.tensor(false, d), s.tensor(true, wd))
		}
		ones := make([]int, rank)
		for i := range ones {
			ones[i] = 1
		}
		y := s.With(op.ConvInteger, in, op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...),
			op.Ints("kernel_dilation", dilation...), op.Ints("input_dilation", ones...), op.Int("groups", groups))
		if s.Err() != nil { // a kernel that is larger than the input
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { s.check(t, 1+int(seed%2), s.finish(y, 1, outputs)) })
	}
}

// TestByteMaxima computes the maxima of windows of bytes, also of windows of padding alone.
func TestByteMaxima(t *testing.T) {
	for seed := range uint64(20) {
		s := newSums(seed)
		x := s.tensor(false, s.byteType(), 1+s.r.IntN(2), 3, 5+s.r.IntN(30), 5+s.r.IntN(30))
		k := 1 + s.r.IntN(3)
		y := s.Un(op.WindowReduce, x, op.Str("reduce", "max"), op.Ints("window", k, k), op.Ints("strides", 1+s.r.IntN(2), 1+s.r.IntN(2)),
			op.Ints("pad_lo", s.r.IntN(4), 1), op.Ints("pad_hi", 1, s.r.IntN(4)), op.Ints("dilation", 1, 1))
		s.check(t, 1+int(seed%2), y)
	}
}

// TestByteSums dequantizes bytes, adds two of them in most programs, and quantizes the result.
func TestByteSums(t *testing.T) {
	for seed := range uint64(60) {
		s := newSums(seed)
		dims := []int{1 + s.r.IntN(3), 1 + s.r.IntN(40), 1 + s.r.IntN(300)}
		bytes := func() op.Desc {
			d := s.byteType()
			x := s.tensor(false, d, dims...)
			return s.With(op.Dequantize, []op.Desc{x, s.tensor(true, dtype.F32), s.tensor(true, d)}, op.Int("axis", -1))
		}
		y := bytes()
		switch s.r.IntN(4) {
		case 0, 1:
			y = s.Do(op.Add, y, bytes())
		case 2:
			y = s.Do(op.Add, y, y)
		}
		if s.r.IntN(2) == 0 {
			y = s.Do(op.Relu, y)
		}
		y = s.Do(op.Quantize, y, s.tensor(true, dtype.F32), s.tensor(true, s.byteType()))
		s.check(t, 1+int(seed%2), y)
	}
}
