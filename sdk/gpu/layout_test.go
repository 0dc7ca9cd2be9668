package gpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
)

// convolutions is a library that computes f32 convolutions on the host, for operands of any strides.
type convolutions struct {
	only func(c *Convolution) bool // nil: all

	mu     sync.Mutex
	called []Convolution
}

func (l *convolutions) Name() string                             { return "convolutions" }
func (l *convolutions) Version() string                          { return "1" }
func (l *convolutions) Product(Product) ([]Candidate, error)     { return nil, core.ErrUnsupported }
func (l *convolutions) Attention(Attention) ([]Candidate, error) { return nil, core.ErrUnsupported }

func (l *convolutions) Convolution(c Convolution) ([]Candidate, error) {
	if c.Type != dtype.F32 || l.only != nil && !l.only(&c) {
		return nil, core.ErrUnsupported
	}
	return []Candidate{&fakeConvolution{l, c}}, nil
}

type fakeConvolution struct {
	l *convolutions
	c Convolution
}

func (x *fakeConvolution) Name() string      { return "direct" }
func (x *fakeConvolution) Workspace() int64  { return 0 }
func (x *fakeConvolution) Close()            {}
func (x *fakeConvolution) Ready([]Ref) error { return nil }

func (x *fakeConvolution) Call(q Queue, args []Ref, _ Ref) error {
	x.l.mu.Lock()
	x.l.called = append(x.l.called, x.c)
	x.l.mu.Unlock()
	var m [][]float32
	for _, r := range args {
		b := r.bytes()
		m = append(m, unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4))
	}
	return q.(*fakeQueue).do(func() error { x.c.compute(m); return nil })
}

// compute evaluates a convolution with two spatial dimensions by its definition, with sums in float64.
func (c *Convolution) compute(m [][]float32) {
	var image, filter, result []float32
	switch c.Kind {
	case Forward:
		image, filter, result = m[0], m[1], m[2]
	case BackwardImage:
		result, filter, image = m[0], m[1], m[2]
	case BackwardFilter:
		image, result, filter = m[0], m[1], m[2]
	}
	at := func(s []int, i ...int) int {
		k := 0
		for j, v := range i {
			k += v * s[j]
		}
		return k
	}
	sums := map[int]float64{}
	perGroup, outs := c.Filter[1], c.Result[1]/c.Groups
	for n := range c.Result[0] {
		for o := range c.Result[1] {
			for y := range c.Result[2] {
				for x := range c.Result[3] {
					r := at(c.OutStrides, n, o, y, x)
					for k := range perGroup {
						for i := range c.Filter[2] {
							for j := range c.Filter[3] {
								v, u := y*c.Stride[0]+i*c.Dilation[0]-c.PadBefore[0], x*c.Stride[1]+j*c.Dilation[1]-c.PadBefore[1]
								if v < 0 || u < 0 || v >= c.Image[2] || u >= c.Image[3] {
									continue
								}
								p, f := at(c.ImageStrides, n, o/outs*perGroup+k, v, u), at(c.FilterStrides, o, k, i, j)
								switch c.Kind {
								case Forward:
									sums[r] += float64(image[p]) * float64(filter[f])
								case BackwardImage:
									sums[p] += float64(result[r]) * float64(filter[f])
								case BackwardFilter:
									sums[f] += float64(result[r]) * float64(image[p])
								}
							}
						}
					}
				}
			}
		}
	}
	write := func(to []float32, shape, strides []int) {
		for n := range shape[0] {
			for o := range shape[1] {
				for y := range shape[2] {
					for x := range shape[3] {
						k := at(strides, n, o, y, x)
						s := sums[k]
						rest := m[3:]
						if c.Bias != dtype.Invalid {
							s += float64(rest[0][o])
							rest = rest[1:]
						}
						if c.Residual {
							s += float64(rest[0][k])
						}
						if c.Activation == ReLU {
							s = max(s, 0)
						}
						to[k] = float32(s)
					}
				}
			}
		}
	}
	switch c.Kind {
	case Forward:
		write(result, c.Result, c.OutStrides)
	case BackwardImage:
		write(image, c.Image, c.ImageStrides)
	case BackwardFilter:
		write(filter, c.Filter, c.FilterStrides)
	}
}

// against runs compare without donation, on a device whose kernels support every node, so that no node is decomposed before libraries are
// asked for it.
func against(t *testing.T, d *device, p *program.Program) {
	d.kernel.Supports = nil
	compare(t, d, p, nil)
}

// compare runs a program three times on the device and once on the reference backend, and requires that the outputs agree within 1e-4.
// donated says which inputs are donated; nil means none.
func compare(t *testing.T, d *device, p *program.Program, donated []bool) {
	t.Helper()
	require.NoError(t, p.Check())
	rng := rand.New(rand.NewPCG(3, 4))
	values := map[op.TensorID][]float32{}
	for _, ds := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, x := range ds {
			v := make([]float32, x.Shape.Size())
			for i := range v {
				v[i] = float32(rng.IntN(9)-4) / 4
			}
			values[x.ID] = v
		}
	}
	want := reference(t, p, values)
	q := d.queue(t)
	defer q.Close()
	up := func(x op.Desc) *block {
		b, err := q.Enqueue(x, dtype.Bytes(values[x.ID]), func() {})
		require.NoError(t, err)
		return b
	}
	var cs []*block
	for _, x := range p.Consts {
		cs = append(cs, up(x))
	}
	plan, err := d.prepare(context.Background(), q, p, cs)
	require.NoError(t, err)
	apartInMemory(t, plan)
	for _, b := range cs {
		d.pool.release(b)
	}
	for range 3 {
		var in []*block
		for _, x := range p.Inputs {
			in = append(in, up(x))
		}
		out := make([]*block, len(p.Outputs))
		owned := slices.Clone(donated)
		if owned == nil {
			owned = make([]bool, len(in))
		}
		require.NoError(t, plan.Run(q, in, owned, out), "%v", p)
		for k, x := range p.OutputDescs() {
			got := make([]float32, x.Shape.Size())
			require.NoError(t, q.Fetch(dtype.Bytes(got), x, out[k]))
			m, err := q.Record()
			require.NoError(t, err)
			require.NoError(t, m.Wait())
			require.InDeltaSlice(t, want[k], got, 1e-4, "output %d of %v", k, p)
			d.pool.release(out[k])
		}
		for i, b := range in {
			if donated == nil || !donated[i] || owned[i] {
				d.pool.release(b)
			}
		}
	}
	plan.Close()
}

// reference returns the outputs that the reference backend computes for a program.
func reference(t *testing.T, p *program.Program, values map[op.TensorID][]float32) [][]float32 {
	ctx := context.Background()
	b := ref.New()
	defer b.Close()
	dev, err := b.Open(ctx, 0)
	require.NoError(t, err)
	s, err := dev.OpenStream(ctx)
	require.NoError(t, err)
	c, err := program.Compile(p, core.TargetOf("ref", dev), program.Options{})
	require.NoError(t, err)
	write := func(ds []op.Desc) (ids []op.TensorID) {
		for _, d := range ds {
			id := dev.NewIDs(1)
			require.NoError(t, s.Write(ctx, op.Desc{ID: id, DType: d.DType, Shape: d.Shape}, dtype.Bytes(values[d.ID])))
			ids = append(ids, id)
		}
		return ids
	}
	in, consts := write(p.Inputs), write(p.Consts)
	var outs []op.TensorID
	for range p.Outputs {
		outs = append(outs, dev.NewIDs(1))
	}
	nodes, free, err := c.Instantiate(in, nil, consts, outs, func() op.TensorID { return dev.NewIDs(1) })
	require.NoError(t, err)
	require.NoError(t, s.Submit(nodes, free))
	var all [][]float32
	for k, d := range c.Outputs {
		v := make([]float32, d.Shape.Size())
		require.NoError(t, s.Read(outs[k], dtype.Bytes(v)).Wait(ctx))
		all = append(all, v)
	}
	return all
}

// conv adds a convolution with equal strides and padding on both axes.
func (m *maker) conv(x, w op.TensorID, stride, pad, groups int) op.TensorID {
	two := func(name string, v int) op.Attr { return op.Ints(name, v, v) }
	return m.node(op.Conv, ids(x, w), two("strides", stride), two("pad_lo", pad), two("pad_hi", pad), two("kernel_dilation", 1),
		two("input_dilation", 1), op.Int("groups", groups))
}

// residual returns a small network with residual connections, as in ResNet.
func residual(t *testing.T) *maker {
	m := newMaker(t, "residual")
	x := m.input(2, 3, 8, 8)
	w1, w2, w3 := m.constant(8, 3, 3, 3), m.constant(8, 8, 3, 3), m.constant(8, 8, 1, 1)
	bias, scale := m.constant(1, 8, 1, 1), m.constant(8, 1, 1)
	y := m.node(op.Relu, ids(m.node(op.Add, ids(m.conv(x, w1, 2, 1, 1), bias))))
	z := m.node(op.Relu, ids(m.node(op.Add, ids(m.conv(y, w2, 1, 1, 1), y))))
	z = m.node(op.Mul, ids(m.conv(z, w3, 1, 0, 1), scale))
	z = m.node(op.Add, ids(m.node(op.Tanh, ids(z)), y))
	z = m.node(op.WindowReduce, ids(z), op.Str("reduce", "max"), op.Ints("window", 2, 2), op.Ints("strides", 1, 2), op.Ints("pad_lo", 0, 1),
		op.Ints("pad_hi", 1, 0), op.Ints("dilation", 1, 1), op.Flag("indices", false))
	s := m.node(op.Concat, ids(z, z, m.node(op.Pad, ids(z), op.Ints("lo", 0, 1, 0, 0), op.Ints("hi", 0, 0, 0, 0), op.ScalarInt("value", 3))), op.Int("axis", 1))
	mean := m.node(op.Mean, ids(s), op.Ints("axes", 2, 3), op.Flag("keep_dims", false))
	m.p.Outputs = ids(mean, z)
	return m
}

func TestChannelsLast(t *testing.T) {
	l := &convolutions{}
	d, fake := openDevice(t, Options{}, func(d *fakeDevice) { d.libraries = []Library{l} })
	against(t, d, residual(t).p)
	require.Len(t, l.called, 9)
	for _, c := range l.called {
		require.Equal(t, lastView(c.Image).Strides, c.ImageStrides)
		require.Equal(t, lastView(c.Result).Strides, c.OutStrides)
	}
	require.Equal(t, ReLU, l.called[0].Activation)
	require.Equal(t, dtype.F32, l.called[0].Bias)
	require.True(t, l.called[1].Residual)
	// Each run converts the image to channels-last order. It then launches at most one kernel for each part between the convolutions:
	// the elementwise nodes, the pool, the pad, the concatenation, the mean, and the second result in row-major order.
	require.LessOrEqual(t, fake.launches.Load(), int64(3+3*8))
}

func TestChannelsFirst(t *testing.T) {
	for _, o := range []Options{{ChannelsFirst: true}, {}} {
		l := &convolutions{only: func(c *Convolution) bool { return slices.Equal(c.ImageStrides, shape.Shape(c.Image).Strides()) }}
		d, _ := openDevice(t, o, func(d *fakeDevice) { d.libraries = []Library{l} })
		against(t, d, residual(t).p)
		require.Len(t, l.called, 9)
	}
}

// TestOneConvolution checks that a program of one convolution asks the library for the same problem as the node by itself, so that both
// compute the same bits.
func TestOneConvolution(t *testing.T) {
	l := &convolutions{}
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.libraries = []Library{l} })
	m := newMaker(t, "one")
	m.p.Outputs = ids(m.conv(m.input(2, 3, 8, 8), m.constant(8, 3, 3, 3), 2, 1, 1))
	against(t, d, m.p)
	inProgram := l.called
	l.called = nil
	n := m.p.Nodes[0]
	plan, err := d.single(&n, append(m.p.Inputs, m.p.Consts...))
	require.NoError(t, err)
	defer plan.drop()
	require.Len(t, d.asked, 1, "other operands were asked for")
	require.Len(t, plan.steps, 1)
	require.Equal(t, inProgram[0], plan.steps[0].call.candidates[0].(*fakeConvolution).c)
}

// TestUnsupportedEpilogues checks that a library without an epilogue is asked for the convolution with a shorter epilogue.
func TestUnsupportedEpilogues(t *testing.T) {
	for bias, only := range map[dtype.DType]func(c *Convolution) bool{
		dtype.F32:     func(c *Convolution) bool { return c.Activation == None },
		dtype.Invalid: func(c *Convolution) bool { return c.Activation == None && c.Bias == dtype.Invalid && !c.Residual },
	} {
		l := &convolutions{only: only}
		d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.libraries = []Library{l} })
		against(t, d, residual(t).p)
		require.Len(t, l.called, 9)
		require.Equal(t, bias, l.called[0].Bias)
	}
}

// gradients returns a convolution and its gradients with respect to image and filter, written as decorators/autodiff does.
func gradients(t *testing.T, size, kernel, stride, pad int) *maker {
	m := newMaker(t, "gradients")
	x, w := m.input(3, 4, size, size), m.input(5, 4, kernel, kernel)
	y := m.conv(x, w, stride, pad, 1)
	dy := m.node(op.Neg, ids(y))
	out := m.d[y].Shape[2]
	general := func(a, b op.TensorID, stride, lo, hi, dilation, input int) op.TensorID {
		two := func(name string, v int) op.Attr { return op.Ints(name, v, v) }
		return m.node(op.Conv, ids(a, b), two("strides", stride), two("pad_lo", lo), two("pad_hi", hi), two("kernel_dilation", dilation),
			two("input_dilation", input), op.Int("groups", 1))
	}
	swap := func(a op.TensorID) op.TensorID { return m.node(op.Permute, ids(a), op.Ints("axes", 1, 0, 2, 3)) }
	v := swap(w)
	if kernel > 1 {
		v = m.node(op.Flip, ids(m.node(op.Reshape, ids(v), op.Dims("shape", m.d[v].Shape))), op.Ints("axes", 2, 3))
	}
	lo := kernel - 1 - pad
	dx := general(dy, v, 1, lo, size+kernel-1-((out-1)*stride+1)-lo, 1, stride)
	dw := swap(general(swap(x), swap(dy), 1, pad, kernel-1+(out-1)*stride+1-size-pad, stride, 1))
	m.p.Outputs = ids(m.node(op.Abs, ids(dx)), m.node(op.Sub, ids(w, dw)))
	return m
}

func TestGradientsOfConvolutions(t *testing.T) {
	for _, c := range []struct{ size, kernel, stride, pad int }{{6, 3, 1, 1}, {8, 3, 2, 1}, {7, 3, 2, 1}, {9, 4, 3, 0}, {5, 1, 1, 0}, {6, 1, 2, 0}, {8, 5, 2, 2}} {
		for _, first := range []bool{false, true} {
			l := &convolutions{}
			d, _ := openDevice(t, Options{ChannelsFirst: first}, func(d *fakeDevice) { d.libraries = []Library{l} })
			against(t, d, gradients(t, c.size, c.kernel, c.stride, c.pad).p)
			kinds := map[ConvolutionKind]int{}
			for _, c := range l.called {
				kinds[c.Kind]++
			}
			require.Equal(t, map[ConvolutionKind]int{Forward: 3, BackwardImage: 3, BackwardFilter: 3}, kinds, "%+v", c)
		}
	}
}

// TestPartsOfConcatenations checks that kernels and libraries write their results directly into a concatenation, and that other operands
// are copied into it.
func TestPartsOfConcatenations(t *testing.T) {
	for _, batch := range []int{1, 2} {
		l := &convolutions{}
		d, fake := openDevice(t, Options{ChannelsFirst: true}, func(d *fakeDevice) { d.libraries = []Library{l} })
		m := newMaker(t, "join")
		x, w := m.input(batch, 4, 4, 4), m.constant(8, 4, 1, 1)
		y := m.node(op.Tanh, ids(x))
		z := m.conv(y, w, 1, 0, 1)
		s := m.node(op.Concat, ids(x, y, z, y), op.Int("axis", 1))
		m.p.Outputs = ids(m.node(op.Mul, ids(s, m.node(op.Sin, ids(s)))), s)
		against(t, d, m.p)
		if batch == 1 { // tanh, two copies, and the kernel behind the concatenation
			require.EqualValues(t, 3*4, fake.launches.Load())
		}
	}
	d, _ := openDevice(t, Options{}, nil)
	m := newMaker(t, "odd")
	x, y := m.input(3), m.input(5)
	a, b := m.node(op.Neg, ids(x)), m.node(op.Abs, ids(y))
	m.p.Outputs = ids(m.node(op.Concat, ids(a, b, a), op.Int("axis", 0)))
	against(t, d, m.p)
}
