package byteconv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/quantized"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

// problem is a convolution with its operands. The output's shape follows from the padding at both ends.
type problem struct {
	images, groups, channels, outputs    int // channels and outputs of a group
	in, kernel, stride, dilation, lo, hi []int
	signedX, signedW                     bool
	zeroX                                int32
	zeroW                                []int32
	x, w                                 []byte
}

func (p *problem) out() []int {
	out := make([]int, len(p.in))
	for d := range out {
		out[d] = (p.in[d]+p.lo[d]+p.hi[d]-(p.kernel[d]-1)*p.dilation[d]-1)/p.stride[d] + 1
	}
	return out
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func value(b byte, signed bool) int64 {
	if signed {
		return int64(int8(b))
	}
	return int64(b)
}

// index converts a row-major position to an index in each dimension.
func index(at int, dims []int) []int {
	i := make([]int, len(dims))
	for d := len(dims) - 1; d >= 0; d-- {
		i[d], at = at%dims[d], at/dims[d]
	}
	return i
}

// sums computes the convolution by its definition: elements in the padding are the zero point, so that they add nothing.
func (p *problem) sums() []int32 {
	out := p.out()
	inSize, outSize, taps := size(p.in), size(out), size(p.kernel)
	y := make([]int32, p.images*p.groups*p.outputs*outSize)
	for i := range y {
		o, position := i/outSize, index(i%outSize, out)
		image, filter := o/(p.groups*p.outputs), o%(p.groups*p.outputs)
		zeroW := int64(0)
		if n := len(p.zeroW); n > 0 {
			zeroW = int64(p.zeroW[filter%n])
		}
		sum := int64(0)
		for c := range p.channels {
			for tap := range taps {
				from, inside := 0, true
				for d, k := range index(tap, p.kernel) {
					at := position[d]*p.stride[d] + k*p.dilation[d] - p.lo[d]
					inside = inside && at >= 0 && at < p.in[d]
					from = from*p.in[d] + at
				}
				if !inside {
					continue
				}
				channel := (image*p.groups+filter/p.outputs)*p.channels + c
				sum += (value(p.x[channel*inSize+from], p.signedX) - int64(p.zeroX)) *
					(value(p.w[(filter*p.channels+c)*taps+tap], p.signedW) - zeroW)
			}
		}
		y[i] = int32(sum)
	}
	return y
}

// prepare returns the kernel for the problem, and the shape of its output. If constant is false, each run passes the weights.
func (p *problem) prepare(pool *par.Pool, constant bool) (Kernel, shape.Shape) {
	x := append(shape.Of(p.images, p.groups*p.channels), p.in...)
	w := append(shape.Of(p.groups*p.outputs, p.channels), p.kernel...)
	y := append(shape.Of(p.images, p.groups*p.outputs), p.out()...)
	plan := New(x, w, y, Params{Stride: p.stride, PadLo: p.lo, KernelDilation: p.dilation, Groups: p.groups})
	if plan == nil {
		return nil, y
	}
	if !constant {
		return Prepare(pool, plan, nil), y
	}
	weights := append([]byte(nil), p.w...)
	k := Prepare(pool, plan, &quantized.Mat{Data: weights, Signed: p.signedW, Zero: p.zeroW})
	clear(weights) // the kernel must not refer to them any more
	return k, y
}

// run runs the kernel on guarded memory and returns the bytes of the result.
func (p *problem) run(t *testing.T, pool *par.Pool, k Kernel, y shape.Shape, e *requantize.Epilogue, constant bool) []byte {
	t.Helper()
	desc := op.Desc{DType: dtype.I32, Shape: y}
	if e != nil {
		desc.DType = dtype.F32
		if e.Quantize {
			desc.DType = dtype.U8
		}
	}
	memory := mem.NewGuardedPool(1<<28, 1<<26, 64)
	env := &kernel.Env{Pool: pool, Account: memory.NewAccount()}
	x, release := kerneltest.Guarded(t, len(p.x), p.images%2 == 0)
	defer release()
	copy(x, p.x)
	args := Args{X: quantized.Mat{Data: x, Signed: p.signedX, Zero: []int32{p.zeroX}}, Epilogue: e}
	if !constant {
		w, release := kerneltest.Guarded(t, len(p.w), p.images%2 == 1)
		defer release()
		copy(w, p.w)
		args.W = quantized.Mat{Data: w, Signed: p.signedW, Zero: p.zeroW}
	}
	var c kernel.Call
	c.Begin(env, nil, 0, []op.Desc{desc}, make([]kernel.Array, 1))
	args.Out = c.Alloc(0)
	k.Run(&c, &args)
	got := append([]byte(nil), kernel.Flat[byte](kernel.Array{Buf: args.Out.Buf, DType: dtype.U8, View: shape.Contiguous(shape.Of(desc.Bytes()))})...)
	c.End(false)
	args.Out.Buf.Release()
	require.NoError(t, memory.CheckGuards())
	require.Zero(t, env.Account.InUse())
	return got
}

// check compares the results for constant weights and for weights of each run with the definition.
func (p *problem) check(t *testing.T, pool *par.Pool) {
	t.Helper()
	want := dtype.Bytes(p.sums())
	for _, constant := range []bool{true, false} {
		k, y := p.prepare(pool, constant)
		if k == nil {
			continue
		}
		got := p.run(t, pool, k, y, nil, constant)
		require.Equal(t, want, got, "constant weights %v, %T of %s", constant, k, p)
	}
}

func (p *problem) String() string {
	return fmt.Sprintf("%d images, %d groups of %d channels and %d outputs, input %v, kernel %v, stride %v, dilation %v, padding %v %v, signed %v %v, zeros %d %v",
		p.images, p.groups, p.channels, p.outputs, p.in, p.kernel, p.stride, p.dilation, p.lo, p.hi, p.signedX, p.signedW, p.zeroX, p.zeroW)
}

func fillBytes(r *rand.Rand, n int, extreme bool) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if extreme { // the greatest products of every sign
			b[i] = []byte{0, 127, 128, 255}[r.IntN(4)]
		}
	}
	return b
}

func zeroPoint(r *rand.Rand, signed bool) int32 {
	if signed {
		return int32(int8(r.Uint32()))
	}
	return int32(uint8(r.Uint32()))
}

// random returns a random problem of one to three dimensions with random strides, dilations, padding and groups.
func random(r *rand.Rand) *problem {
	rank := 1 + r.IntN(3)
	p := &problem{images: r.IntN(3), groups: 1 + r.IntN(3), channels: r.IntN(10), outputs: minOutputs + r.IntN(9), signedX: r.IntN(2) == 0, signedW: r.IntN(2) == 0}
	if p.images == 0 && r.IntN(4) > 0 {
		p.images = 1
	}
	for range rank {
		k, s, d := 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(2)
		lo, hi, most := r.IntN(7)-3, r.IntN(7)-3, 18 // negative padding crops the input
		if rank == 3 {
			most = 7
		}
		n := max(1+r.IntN(most), (k-1)*d+1-lo-hi)
		p.in, p.kernel, p.stride, p.dilation = append(p.in, n), append(p.kernel, k), append(p.stride, s), append(p.dilation, d)
		p.lo, p.hi = append(p.lo, lo), append(p.hi, hi)
	}
	extreme := r.IntN(3) == 0
	p.x = fillBytes(r, p.images*p.groups*p.channels*size(p.in), extreme)
	p.w = fillBytes(r, p.groups*p.outputs*p.channels*size(p.kernel), extreme)
	p.zeroX = zeroPoint(r, p.signedX)
	switch r.IntN(3) {
	case 0:
		p.zeroW = []int32{zeroPoint(r, p.signedW)}
	case 1:
		for range p.groups * p.outputs {
			p.zeroW = append(p.zeroW, zeroPoint(r, p.signedW))
		}
	}
	return p
}

func need(t *testing.T) *par.Pool {
	if !quantized.CanMul() {
		t.Skip("on this level of instruction sets: there are no products of bytes")
	}
	pool := par.New(3)
	t.Cleanup(pool.Close)
	return pool
}

func TestRandom(t *testing.T) {
	pool := need(t)
	kinds := map[string]int{}
	for seed := range uint64(400) {
		p := random(rand.New(rand.NewPCG(seed, 20)))
		if size(p.kernel)*p.channels == 0 && len(p.x) > 0 {
			continue // the sums have no terms
		}
		p.check(t, pool)
		if k, _ := p.prepare(pool, true); k != nil {
			kinds[fmt.Sprintf("%T", k)]++
		}
	}
	require.Greater(t, kinds["*byteconv.planeKernel"], 40, "%v", kinds)
	require.Greater(t, kinds["*byteconv.patchKernel"], 40, "%v", kinds)
}

// Layers whose patches, sums or rows do not fit one part of the buffers, and geometries at the limits of the strategies.
func TestParts(t *testing.T) {
	pool := need(t)
	r := rand.New(rand.NewPCG(1, 2))
	for name, p := range map[string]*problem{
		"many positions":         {images: 1, groups: 1, channels: 4, outputs: 4, in: []int{90, 70}, kernel: []int{3, 3}, stride: []int{1, 1}, dilation: []int{1, 1}, lo: []int{1, 1}, hi: []int{1, 1}},
		"positions in one line":  {images: 1, groups: 1, channels: 64, outputs: 4, in: []int{1100}, kernel: []int{9}, stride: []int{1}, dilation: []int{3}, lo: []int{12}, hi: []int{12}},
		"wide padding":           {images: 1, groups: 1, channels: 3, outputs: 4, in: []int{2, 2}, kernel: []int{5, 5}, stride: []int{1, 1}, dilation: []int{1, 1}, lo: []int{9, 4}, hi: []int{3, 11}},
		"padding alone":          {images: 1, groups: 1, channels: 1, outputs: 4, in: []int{1, 1}, kernel: []int{1, 1}, stride: []int{2, 3}, dilation: []int{1, 1}, lo: []int{7, 8}, hi: []int{7, 8}},
		"strides over the input": {images: 1, groups: 2, channels: 3, outputs: 4, in: []int{9, 40}, kernel: []int{2, 2}, stride: []int{7, 11}, dilation: []int{1, 1}, lo: []int{0, 0}, hi: []int{0, 0}},
		"pointwise":              {images: 2, groups: 2, channels: 33, outputs: 17, in: []int{41, 7}, kernel: []int{1, 1}, stride: []int{1, 1}, dilation: []int{1, 1}, lo: []int{0, 0}, hi: []int{0, 0}},
		"pointwise with strides": {images: 1, groups: 1, channels: 8, outputs: 8, in: []int{20, 21}, kernel: []int{1, 1}, stride: []int{2, 2}, dilation: []int{1, 1}, lo: []int{0, 0}, hi: []int{0, 0}},
		"deep":                   {images: 1, groups: 1, channels: 700, outputs: 4, in: []int{5, 5}, kernel: []int{3, 3}, stride: []int{1, 1}, dilation: []int{1, 1}, lo: []int{1, 1}, hi: []int{1, 1}},
		"three dimensions":       {images: 1, groups: 1, channels: 5, outputs: 6, in: []int{12, 20, 30}, kernel: []int{2, 3, 2}, stride: []int{1, 2, 1}, dilation: []int{2, 1, 3}, lo: []int{1, 0, 2}, hi: []int{0, 1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, signed := range [][2]bool{{false, true}, {true, false}} {
				q := *p
				q.signedX, q.signedW = signed[0], signed[1]
				q.x = fillBytes(r, q.images*q.groups*q.channels*size(q.in), false)
				q.w = fillBytes(r, q.groups*q.outputs*q.channels*size(q.kernel), false)
				q.zeroX, q.zeroW = zeroPoint(r, q.signedX), []int32{zeroPoint(r, q.signedW)}
				q.check(t, pool)
			}
		})
	}
}

// The epilogue is applied to each sum once, with the parameters of its channel, whatever the strategy and the parts are.
func TestEpilogue(t *testing.T) {
	pool := need(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := random(r)
		if len(p.x)*len(p.w) == 0 {
			continue
		}
		channels := p.groups * p.outputs
		e := &requantize.Epilogue{Scale: make([]float32, channels), Bias: make([]float32, channels)}
		for i := range channels {
			e.Scale[i], e.Bias[i] = r.Float32()/1024, r.Float32()*100-50
		}
		if e.Quantize = seed%2 == 0; e.Quantize {
			e.Step, e.Zero, e.Max = 0.75, 100, 255
		}
		sums, per := p.sums(), size(p.out())
		want := make([]float32, len(sums))
		bytes := make([]byte, len(sums))
		for i, s := range sums {
			channel := i / per % channels
			scaled := float32(s) * e.Scale[channel]
			want[i] = scaled + e.Bias[channel]
			bytes[i] = byte(min(max(math.RoundToEven(float64(want[i]/0.75))+100, 0), 255))
		}
		for _, constant := range []bool{true, false} {
			k, y := p.prepare(pool, constant)
			got := p.run(t, pool, k, y, e, constant)
			if e.Quantize {
				require.Equal(t, bytes, got, "%T of %s", k, p)
			} else {
				require.Equal(t, dtype.Bytes(want), got, "%T of %s", k, p)
			}
		}
	}
}

// A convolution with few outputs per group has no plan, and Bytes returns the size of packed weights.
func TestPlans(t *testing.T) {
	pool := need(t)
	x, y := shape.Of(1, 6, 5, 5), shape.Of(1, 6, 3, 3)
	require.Nil(t, New(x, shape.Of(3, 6, 3, 3), shape.Of(1, 3, 3, 3), Params{}))
	require.Nil(t, New(x, shape.Of(6, 3, 3, 3), y, Params{Groups: 2}), "three outputs in a group")
	plan := New(x, shape.Of(6, 6, 3, 3), y, Params{})
	require.NotNil(t, plan)
	data := make([]byte, 6*6*3*3)
	require.GreaterOrEqual(t, Prepare(pool, plan, &quantized.Mat{Data: data}).Bytes(), len(data))
	require.Zero(t, Prepare(pool, plan, nil).Bytes())
	require.Nil(t, Prepare(pool, New(x, shape.Of(6, 0, 3, 3), y, Params{}), &quantized.Mat{}), "the sums have no terms")
}
