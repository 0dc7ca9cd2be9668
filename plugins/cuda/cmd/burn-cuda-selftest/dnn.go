package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

// dnn is a bench with a handle of cuDNN.
type dnn struct {
	*bench
	h *nv.DNNHandle
}

func (b *bench) dnnChecks() {
	if b.libs.DNN == nil {
		b.check("cudnn", func() (string, error) { return "", skip("no cuDNN") })
		return
	}
	c := &dnn{bench: b}
	b.check("cudnn/open", func() (string, error) {
		var err error
		if c.h, err = b.libs.DNN.NewHandle(); err != nil {
			return "", err
		}
		return fmt.Sprint(b.libs.DNN.Version), c.h.SetStream(b.s)
	})
	if c.h == nil {
		return
	}
	for _, f := range []format{f32, f16, bf16} {
		b.check("cudnn/conv "+f.name, func() (string, error) { return c.conv(f, false) })
		b.check("cudnn/conv bias residual relu "+f.name, func() (string, error) { return c.conv(f, true) })
	}
	b.check("cudnn/f32 is not tf32", c.precision)
	b.check("cudnn/conv groups", func() (string, error) { return c.groups() })
	b.check("cudnn/conv backward data bf16", func() (string, error) { return c.backward(bf16, true) })
	b.check("cudnn/conv backward filter bf16", func() (string, error) { return c.backward(bf16, false) })
	b.check("cudnn/conv backward data f32", func() (string, error) { return c.backward(f32, true) })
	b.check("cudnn/conv backward filter f32", func() (string, error) { return c.backward(f32, false) })
	for _, f := range []format{f16, bf16} {
		for _, causal := range []bool{false, true} {
			b.check(fmt.Sprintf("cudnn/attention %s causal %v", f.name, causal), func() (string, error) { return c.attention(f, causal) })
		}
	}
	b.check("cudnn/conv in a graph", c.inGraph)
	b.check("cudnn/refusal", func() (string, error) {
		g := c.h.NewGraph()
		x := g.Tensor(nv.TensorSpec{Type: nv.DNNBool, Dims: []int64{3, 5}})
		y := g.Tensor(nv.TensorSpec{Type: nv.DNNI8, Dims: []int64{3, 7}})
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwExp, Compute: nv.DNNF32}, y, x)
		_, err := g.Build(nv.PlanOptions{})
		text, err := expect(err, nv.ErrUnsupported)
		return fmt.Sprintf("%.90s", text), errors.Join(err, g.Close())
	})
	b.check("cudnn/attention speed", c.attentionSpeed)
	b.check("cudnn/conv speed", c.convSpeed)
	b.check("cudnn/close", func() (string, error) {
		if n := c.h.Open(); n != 0 {
			return "", fmt.Errorf("%d descriptors are left", n)
		}
		return "", c.h.Close()
	})
}

// shape is a convolution of two spatial dimensions: an image [N, C, H, W] by a filter [K, C/groups, R, S].
type shape struct {
	n, c, h, w, k, r, s   int
	stride, pad, dilation int
	groups                int
}

func (s shape) out() (h, w int) {
	h = (s.h+2*s.pad-s.dilation*(s.r-1)-1)/s.stride + 1
	w = (s.w+2*s.pad-s.dilation*(s.s-1)-1)/s.stride + 1
	return h, w
}

func (s shape) spec() nv.ConvSpec {
	two := func(v int) []int64 { return []int64{int64(v), int64(v)} }
	return nv.ConvSpec{Compute: nv.DNNF32, Pre: two(s.pad), Post: two(s.pad), Stride: two(s.stride), Dilation: two(s.dilation)}
}

func dims(v ...int) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}

// each calls f for every product of the convolution with the positions in x (NHWC), w (KRSC) and y (NHWC).
func (s shape) each(f func(x, w, y int)) {
	oh, ow := s.out()
	cg, kg := s.c/s.groups, s.k/s.groups
	for n := range s.n {
		for i := range oh {
			for j := range ow {
				for k := range s.k {
					for r := range s.r {
						for q := range s.s {
							h, w := i*s.stride-s.pad+r*s.dilation, j*s.stride-s.pad+q*s.dilation
							if h < 0 || h >= s.h || w < 0 || w >= s.w {
								continue
							}
							for c := range cg {
								f(((n*s.h+h)*s.w+w)*s.c+k/kg*cg+c, ((k*s.r+r)*s.s+q)*cg+c, ((n*oh+i)*ow+j)*s.k+k)
							}
						}
					}
				}
			}
		}
	}
}

func nhwc(f format, d []int64) nv.TensorSpec {
	return nv.TensorSpec{Type: f.dnn, Dims: d, Strides: nv.ChannelsLastStrides(d)}
}

// exact returns options that forbid nondeterministic engines and, for f32, engines that round more than f32.
func exact(f format) nv.PlanOptions {
	o := nv.PlanOptions{Forbid: []nv.Note{nv.NoteDownConvert, nv.NoteNondeterministic}}
	if f.bytes == 4 {
		o.Forbid = append(o.Forbid, nv.NoteTensorCore, nv.NoteReducedPrecision, nv.NoteFFT, nv.NoteWinograd)
	}
	return o
}

// execute builds a graph and runs its plan once.
func (c *dnn) execute(g *nv.DNNGraph, o nv.PlanOptions, k *nv.Pack) (string, error) {
	start := time.Now()
	p, err := g.Build(o)
	if err != nil {
		return "", errors.Join(err, g.Close())
	}
	took := time.Since(start)
	ws, err := c.alloc(int(p.Workspace))
	if err == nil {
		err = p.Execute(k, ws)
	}
	return fmt.Sprintf("engine %d, notes %v, workspace %d, built in %v", p.Engine, p.Notes, p.Workspace, took.Round(time.Millisecond)),
		errors.Join(err, c.d.SynchronizeStream(c.s), p.Close(), g.Close())
}

func (c *dnn) read(f format, p nv.Ptr, n int) ([]float64, error) {
	raw, err := download[byte](c.bench, p, n*f.bytes)
	return f.unpack(raw), err
}

func (c *dnn) conv(f format, fused bool) (string, error) {
	s := shape{n: 2, c: 16, h: 9, w: 11, k: 24, r: 3, s: 3, stride: 2, pad: 1, dilation: 1, groups: 1}
	oh, ow := s.out()
	r := rand.New(rand.NewPCG(21, 22))
	x, w := quarters(r, s.n*s.h*s.w*s.c, f), quarters(r, s.k*s.r*s.s*s.c, f)
	for i := range w {
		w[i] /= 4
	}
	bias, residual := quarters(r, s.k, f), quarters(r, s.n*oh*ow*s.k, f)
	want := make([]float64, s.n*oh*ow*s.k)
	s.each(func(i, j, o int) { want[o] += x[i] * w[j] })

	g, k := c.h.NewGraph(), &nv.Pack{}
	out := dims(s.n, s.k, oh, ow)
	tx, tw, ty := g.Tensor(nhwc(f, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f, dims(s.k, s.c, s.r, s.s))), g.Tensor(nhwc(f, out))
	if fused {
		virtual := func() nv.Tensor {
			t := nhwc(f32, out)
			t.Virtual = true
			return g.Tensor(t)
		}
		tb, tr := g.Tensor(nhwc(f, dims(1, s.k, 1, 1))), g.Tensor(nhwc(f, out))
		conv, added, biased := virtual(), virtual(), virtual()
		g.Conv(s.spec(), tx, tw, conv)
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwAdd, Compute: nv.DNNF32}, added, conv, tr)
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwAdd, Compute: nv.DNNF32}, biased, added, tb)
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwRelu, Compute: nv.DNNF32}, ty, biased)
		for i := range want {
			want[i] = max(want[i]+residual[i]+bias[i%s.k], 0)
		}
		for t, v := range map[*nv.Tensor][]float64{&tb: bias, &tr: residual} {
			p, err := upload(c.bench, f.pack(v))
			if err != nil {
				return "", err
			}
			k.Set(*t, p)
		}
	} else {
		g.Conv(s.spec(), tx, tw, ty)
	}
	y, err := c.bind(k, f, len(want), tx, x, tw, w, ty)
	if err != nil {
		return "", err
	}
	text, err := c.execute(g, exact(f), k)
	if err != nil {
		return text, err
	}
	got, err := c.read(f, y, len(want))
	if err != nil {
		return text, err
	}
	t, err := near(got, want, f.eps)
	return t + ", " + text, err
}

// bind uploads two inputs and allocates an output of count elements.
func (c *dnn) bind(k *nv.Pack, f format, count int, t1 nv.Tensor, v1 []float64, t2 nv.Tensor, v2 []float64, out nv.Tensor) (nv.Ptr, error) {
	p1, err := upload(c.bench, f.pack(v1))
	if err != nil {
		return 0, err
	}
	p2, err := upload(c.bench, f.pack(v2))
	if err != nil {
		return 0, err
	}
	y, err := c.alloc(count * f.bytes)
	k.Set(t1, p1)
	k.Set(t2, p2)
	k.Set(out, y)
	return y, err
}

// precision compares an f32 convolution of values with full mantissas, with and without tensor cores.
func (c *dnn) precision() (string, error) {
	s := shape{n: 1, c: 64, h: 8, w: 8, k: 64, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
	r := rand.New(rand.NewPCG(23, 24))
	x, w := normal(r, s.n*s.h*s.w*s.c), normal(r, s.k*s.r*s.s*s.c)
	want := make([]float64, s.n*s.h*s.w*s.k)
	s.each(func(i, j, o int) { want[o] += x[i] * w[j] })
	var errs [2]float64
	text := ""
	for i, o := range []nv.PlanOptions{exact(f32), {}} {
		g, k := c.h.NewGraph(), &nv.Pack{}
		tx, tw, ty := g.Tensor(nhwc(f32, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f32, dims(s.k, s.c, s.r, s.s))), g.Tensor(nhwc(f32, dims(s.n, s.k, s.h, s.w)))
		g.Conv(s.spec(), tx, tw, ty)
		y, err := c.bind(k, f32, len(want), tx, x, tw, w, ty)
		if err != nil {
			return "", err
		}
		t, err := c.execute(g, o, k)
		if err != nil {
			return text, err
		}
		text += t + "; "
		got, err := c.read(f32, y, len(want))
		if err != nil {
			return text, err
		}
		errs[i], _ = apart(got, want)
	}
	if errs[0] > 3e-6 {
		return text, fmt.Errorf("errors with tensor cores forbidden and allowed: %.2g, %.2g", errs[0], errs[1])
	}
	return fmt.Sprintf("errors %.2g and %.2g; %s", errs[0], errs[1], text), nil
}

func (c *dnn) groups() (string, error) {
	f := bf16
	s := shape{n: 2, c: 32, h: 7, w: 6, k: 64, r: 3, s: 2, stride: 1, pad: 1, dilation: 2, groups: 4}
	oh, ow := s.out()
	r := rand.New(rand.NewPCG(25, 26))
	x, w := quarters(r, s.n*s.h*s.w*s.c, f), quarters(r, s.k*s.r*s.s*s.c/s.groups, f)
	want := make([]float64, s.n*oh*ow*s.k)
	s.each(func(i, j, o int) { want[o] += x[i] * w[j] })
	g, k := c.h.NewGraph(), &nv.Pack{}
	tx, tw, ty := g.Tensor(nhwc(f, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f, dims(s.k, s.c/s.groups, s.r, s.s))), g.Tensor(nhwc(f, dims(s.n, s.k, oh, ow)))
	g.Conv(s.spec(), tx, tw, ty)
	y, err := c.bind(k, f, len(want), tx, x, tw, w, ty)
	if err != nil {
		return "", err
	}
	text, err := c.execute(g, exact(f), k)
	if err != nil {
		return text, err
	}
	got, err := c.read(f, y, len(want))
	if err != nil {
		return text, err
	}
	t, err := near(got, want, f.eps)
	return t + ", " + text, err
}

func (c *dnn) backward(f format, data bool) (string, error) {
	s := shape{n: 2, c: 16, h: 8, w: 10, k: 32, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
	oh, ow := s.out()
	r := rand.New(rand.NewPCG(27, 28))
	x, w, y := quarters(r, s.n*s.h*s.w*s.c, f), quarters(r, s.k*s.r*s.s*s.c, f), quarters(r, s.n*oh*ow*s.k, f)
	g, k := c.h.NewGraph(), &nv.Pack{}
	tx, tw, ty := g.Tensor(nhwc(f, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f, dims(s.k, s.c, s.r, s.s))), g.Tensor(nhwc(f, dims(s.n, s.k, oh, ow)))
	var want []float64
	var out nv.Ptr
	var err error
	if data {
		want = make([]float64, len(x))
		s.each(func(i, j, o int) { want[i] += y[o] * w[j] })
		g.ConvData(s.spec(), ty, tw, tx)
		out, err = c.bind(k, f, len(want), ty, y, tw, w, tx)
	} else {
		want = make([]float64, len(w))
		s.each(func(i, j, o int) { want[j] += y[o] * x[i] })
		g.ConvFilter(s.spec(), tx, ty, tw)
		out, err = c.bind(k, f, len(want), tx, x, ty, y, tw)
	}
	if err != nil {
		return "", err
	}
	text, err := c.execute(g, exact(f), k)
	if err != nil {
		return text, err
	}
	got, err := c.read(f, out, len(want))
	if err != nil {
		return text, err
	}
	t, err := near(got, want, f.eps)
	return t + ", " + text, err
}

// inGraph writes a plan into a CUDA graph, by cuDNN itself if the engine can do that, and by capture.
func (c *dnn) inGraph() (string, error) {
	f, d := bf16, c.d
	s := shape{n: 1, c: 16, h: 8, w: 8, k: 16, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
	r := rand.New(rand.NewPCG(31, 32))
	x, w := quarters(r, s.h*s.w*s.c, f), quarters(r, s.k*s.r*s.s*s.c, f)
	want := make([]float64, s.h*s.w*s.k)
	s.each(func(i, j, o int) { want[o] += x[i] * w[j] })
	g, k := c.h.NewGraph(), &nv.Pack{}
	tx, tw, ty := g.Tensor(nhwc(f, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f, dims(s.k, s.c, s.r, s.s))), g.Tensor(nhwc(f, dims(s.n, s.k, s.h, s.w)))
	g.Conv(s.spec(), tx, tw, ty)
	y, err := c.bind(k, f, len(want), tx, x, tw, w, ty)
	if err != nil {
		return "", err
	}
	p, err := g.Build(exact(f))
	if err != nil {
		return "", err
	}
	ws, err := c.alloc(int(p.Workspace))
	if err != nil {
		return "", err
	}
	if err := errors.Join(p.Execute(k, ws), d.SynchronizeStream(c.s)); err != nil {
		return "", err
	}
	run := func(child nv.Graph) (string, error) {
		if err := d.Set8(y, 0, uint64(len(want)*2), c.s); err != nil {
			return "", err
		}
		g, err := d.NewGraph()
		if err != nil {
			return "", err
		}
		if _, err := d.AddChild(g, nil, child); err != nil {
			return "", err
		}
		e, err := d.Instantiate(g)
		if err != nil {
			return "", err
		}
		if err := d.LaunchGraph(e, c.s); err != nil {
			return "", err
		}
		got, err := c.read(f, y, len(want))
		if err != nil {
			return "", err
		}
		nodes, err := d.Nodes(child)
		if err != nil {
			return "", err
		}
		t, err := near(got, want, f.eps)
		return fmt.Sprintf("%d nodes, %s", len(nodes), t), errors.Join(err, d.DestroyExec(e), d.DestroyGraph(g), d.DestroyGraph(child))
	}
	if err := d.BeginCapture(c.s); err != nil {
		return "", err
	}
	runErr := p.Execute(k, ws)
	child, err := d.EndCapture(c.s)
	if err := errors.Join(runErr, err); err != nil {
		return "capture", err
	}
	text, err := run(child)
	if err != nil {
		return "capture", err
	}
	text = "captured: " + text
	if !p.NativeGraph {
		return text + "; the engine has no native graph", errors.Join(p.Close(), g.Close())
	}
	if child, err = d.NewGraph(); err != nil {
		return text, err
	}
	if err := p.Populate(k, ws, child); err != nil {
		return text, err
	}
	if err := p.Update(k, ws, child); err != nil {
		return text, fmt.Errorf("update: %w", err)
	}
	t, err := run(child)
	return text + "; native: " + t, errors.Join(err, p.Close(), g.Close())
}

// convSpeed times a layer of ResNet-50 in each type, with bias and relu fused.
func (c *dnn) convSpeed() (string, error) {
	s := shape{n: 64, c: 128, h: 28, w: 28, k: 128, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
	text := ""
	for _, f := range []format{f32, f16, bf16} {
		g, k := c.h.NewGraph(), &nv.Pack{}
		out := dims(s.n, s.k, s.h, s.w)
		tx, tw, tb, ty := g.Tensor(nhwc(f, dims(s.n, s.c, s.h, s.w))), g.Tensor(nhwc(f, dims(s.k, s.c, s.r, s.s))), g.Tensor(nhwc(f, dims(1, s.k, 1, 1))), g.Tensor(nhwc(f, out))
		virtual := nhwc(f32, out)
		virtual.Virtual = true
		conv, biased := g.Tensor(virtual), g.Tensor(virtual)
		g.Conv(s.spec(), tx, tw, conv)
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwAdd, Compute: nv.DNNF32}, biased, conv, tb)
		g.Pointwise(nv.PointwiseSpec{Op: nv.PwRelu, Compute: nv.DNNF32}, ty, biased)
		for _, t := range []nv.Tensor{tx, tw, tb, ty} {
			n := 1
			for _, d := range t.Spec.Dims {
				n *= int(d)
			}
			p, err := c.alloc(n * f.bytes)
			if err != nil {
				return text, err
			}
			if err := c.d.Set8(p, 0, uint64(n*f.bytes), c.s); err != nil {
				return text, err
			}
			k.Set(t, p)
		}
		// The first engines of mode A are timed, to compare the first engine with the other engines.
		var ws nv.Ptr
		var times []string
		o := exact(f)
		o.MaxWorkspace = 1 << 30
		o.Modes = []nv.HeuristicMode{nv.HeuristicA}
		o.Accept = func(p *nv.Plan) error {
			if len(times) == 4 {
				return errors.New("enough")
			}
			var err error
			if ws, err = c.alloc(int(p.Workspace)); err != nil {
				return err
			}
			ms, err := c.timed(10, func() error { return p.Execute(k, ws) })
			if err != nil {
				return err
			}
			times = append(times, fmt.Sprintf("%d: %.3f ms", p.Engine, ms))
			return errors.New("the next")
		}
		start := time.Now()
		if _, err := g.Build(o); !errors.Is(err, nv.ErrUnsupported) {
			return text, fmt.Errorf("every plan was passed over, and Build said %v", err)
		}
		text += fmt.Sprintf("%s engine %v (all in %v); ", f.name, times, time.Since(start).Round(time.Millisecond))
		if err := g.Close(); err != nil {
			return text, err
		}
	}
	return text, nil
}
