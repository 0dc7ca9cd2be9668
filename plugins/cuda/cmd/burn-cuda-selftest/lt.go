package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

const ltWorkspace = 32 << 20

// lt is a bench with a handle of cuBLASLt and a workspace.
type lt struct {
	*bench
	h         *nv.LtHandle
	workspace nv.Ptr
}

func (b *bench) ltChecks() {
	if b.libs.Lt == nil {
		b.check("lt", func() (string, error) { return "", skip("no cuBLASLt") })
		return
	}
	l := &lt{bench: b}
	b.check("lt/open", func() (string, error) {
		var err error
		if l.h, err = b.libs.Lt.NewHandle(); err != nil {
			return "", err
		}
		l.workspace, err = b.d.Alloc(ltWorkspace)
		return fmt.Sprint(b.libs.Lt.Version), err
	})
	if l.h == nil {
		return
	}
	for _, c := range []struct {
		name           string
		compute        nv.Compute
		scale          nv.DataType
		in, out        format
		transA, transB bool
		only8, fast    bool
	}{
		{name: "f32", compute: nv.ComputeF32, scale: nv.F32, in: f32, out: f32},
		{name: "f32 a^T", compute: nv.ComputeF32, scale: nv.F32, in: f32, out: f32, transA: true},
		{name: "f32 b^T", compute: nv.ComputeF32, scale: nv.F32, in: f32, out: f32, transB: true},
		{name: "f32 a^T b^T", compute: nv.ComputeF32, scale: nv.F32, in: f32, out: f32, transA: true, transB: true},
		{name: "tf32", compute: nv.ComputeTF32, scale: nv.F32, in: f32, out: f32},
		{name: "bf16", compute: nv.ComputeF32, scale: nv.F32, in: bf16, out: bf16},
		{name: "bf16 to f32", compute: nv.ComputeF32, scale: nv.F32, in: bf16, out: f32, transB: true},
		{name: "f16", compute: nv.ComputeF32, scale: nv.F32, in: f16, out: f16},
		{name: "f16 in f16", compute: nv.ComputeF16, scale: nv.F16, in: f16, out: f16},
		{name: "int8", compute: nv.ComputeI32, scale: nv.I32, in: i8, out: i32, transB: true},
		{name: "e4m3 to bf16", compute: nv.ComputeF32, scale: nv.F32, in: e4m3, out: bf16, transB: true},
		{name: "e4m3 to f32, fast", compute: nv.ComputeF32, scale: nv.F32, in: e4m3, out: f32, transB: true, fast: true},
	} {
		b.check("lt/"+c.name, func() (string, error) {
			if c.in.name == "e4m3" && b.sm < 89 {
				return "", skip("needs compute capability 8.9")
			}
			const m, n, k = 96, 80, 64
			r := rand.New(rand.NewPCG(3, 4))
			x, y := quarters(r, m*k, c.in), quarters(r, k*n, c.in)
			spec := l.spec(m, n, k, c.in, c.out, c.transA, c.transB)
			spec.Compute, spec.Scale, spec.FastAccumulate, spec.Scales = c.compute, c.scale, c.fast, c.in.name == "e4m3"
			got, err := l.run(spec, c.in, c.out, x, y, m*n, nil)
			if err != nil {
				return "", err
			}
			return near(got, product(x, y, m, n, k, c.transA, c.transB), c.out.eps)
		})
	}
	b.check("lt/f32 is not tf32", l.precision)
	for _, e := range []struct {
		name string
		e    nv.Epilogue
		f    func(v float64) float64
		bias bool
	}{
		{"bias", nv.EpilogueBias, func(v float64) float64 { return v }, true},
		{"relu", nv.EpilogueRelu, func(v float64) float64 { return max(v, 0) }, false},
		{"relu bias", nv.EpilogueReluBias, func(v float64) float64 { return max(v, 0) }, true},
		{"gelu", nv.EpilogueGelu, gelu, false},
		{"gelu bias", nv.EpilogueGeluBias, gelu, true},
	} {
		for _, f := range []format{f32, bf16} {
			b.check("lt/epilogue "+e.name+" "+f.name, func() (string, error) {
				return l.epilogue(e.e, f, e.f, e.bias)
			})
		}
	}
	b.check("lt/epilogue relu aux, drelu bgrad", func() (string, error) { return l.gradient(true) })
	b.check("lt/epilogue gelu aux, dgelu bgrad", func() (string, error) { return l.gradient(false) })
	b.check("lt/epilogue bgrad a, b", l.biasGradients)
	b.check("lt/residual and batch", l.batch)
	b.check("lt/offsets of 0 to 12 bytes", l.offsets)
	b.check("lt/capture as a child", l.capture)
	b.check("lt/refusal", func() (string, error) {
		spec := l.spec(8, 8, 8, i8, bf16, false, false)
		spec.Compute, spec.Scale = nv.ComputeI32, nv.I32
		m, err := l.h.NewMatmul(spec)
		if err != nil {
			return expect(err, nv.ErrUnsupported)
		}
		_, err = m.Heuristic(nv.Preference{Workspace: ltWorkspace}, nil, 4)
		text, err := expect(err, nv.ErrUnsupported)
		return text, errors.Join(err, m.Close())
	})
	b.check("lt/host time and speed at 4096", l.speed)
	b.check("lt/close", func() (string, error) { return "", errors.Join(b.d.Free(l.workspace), l.h.Close()) })
}

// spec returns a product [m, k] by [k, n] of contiguous row-major matrices. transA and transB say that an operand is stored transposed.
func (l *lt) spec(m, n, k int64, in, out format, transA, transB bool) nv.MatmulSpec {
	lda, ldb := k, n
	if transA {
		lda = m
	}
	if transB {
		ldb = k
	}
	s := nv.RowMajor(m, n, k, in.lt, in.lt, transA, transB, lda, ldb, out.lt, n)
	s.Compute, s.Scale = nv.ComputeF32, nv.F32
	return s
}

// run uploads the operands of a row-major product, computes it and downloads the result. change edits the run.
func (l *lt) run(spec nv.MatmulSpec, in, out format, x, y []float64, count int, change func(r *nv.MatmulRun) error) ([]float64, error) {
	r := &nv.MatmulRun{Alpha: 1, Workspace: l.workspace, WorkspaceSize: ltWorkspace}
	var err error
	if r.B, err = upload(l.bench, in.pack(x)); err != nil {
		return nil, err
	}
	if r.A, err = upload(l.bench, in.pack(y)); err != nil {
		return nil, err
	}
	if r.D, err = l.alloc(count * out.bytes); err != nil {
		return nil, err
	}
	if spec.Scales {
		one, err := upload(l.bench, []float32{1})
		if err != nil {
			return nil, err
		}
		r.ScaleA, r.ScaleB = one, one
	}
	if change != nil {
		if err := change(r); err != nil {
			return nil, err
		}
	}
	m, err := l.h.NewMatmul(spec)
	if err != nil {
		return nil, err
	}
	algos, err := m.Heuristic(nv.Preference{Workspace: ltWorkspace, AlignA: 16, AlignB: 16, AlignC: 16, AlignD: 16}, r, 4)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if err := m.Run(l.s, r, &algos[0]); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	bytes, err := download[byte](l.bench, r.D, count*out.bytes)
	return out.unpack(bytes), errors.Join(err, m.Close())
}

// precision checks that f32 keeps 23 bits of mantissa, and tf32 does not.
func (l *lt) precision() (string, error) {
	const n = 128
	r := rand.New(rand.NewPCG(5, 6))
	x, y := normal(r, n*n), normal(r, n*n)
	want := product(x, y, n, n, n, false, false)
	var errs [2]float64
	for i, compute := range []nv.Compute{nv.ComputeF32, nv.ComputeTF32} {
		spec := l.spec(n, n, n, f32, f32, false, false)
		spec.Compute = compute
		got, err := l.run(spec, f32, f32, x, y, n*n, nil)
		if err != nil {
			return "", err
		}
		errs[i], _ = apart(got, want)
	}
	if errs[0] > 2e-6 || errs[1] < 1e-5 || errs[1] > 2e-3 {
		return "", fmt.Errorf("errors of f32 and tf32: %.2g, %.2g", errs[0], errs[1])
	}
	return fmt.Sprintf("errors %.2g and %.2g", errs[0], errs[1]), nil
}

// batch computes 0.5 a b + 2 c for a batch of matrices a and c and a single matrix b.
func (l *lt) batch() (string, error) {
	const m, n, k, count = 32, 48, 16, 5
	r := rand.New(rand.NewPCG(13, 14))
	x, y, c := quarters(r, count*m*k, f32), quarters(r, k*n, f32), quarters(r, count*m*n, f32)
	spec := l.spec(m, n, k, f32, f32, false, false)
	spec.A.Batch, spec.B.Batch, spec.C.Batch, spec.D.Batch = count, count, count, count
	spec.A.Stride, spec.B.Stride, spec.C.Stride, spec.D.Stride = 0, m*k, m*n, m*n
	got, err := l.run(spec, f32, f32, x, y, count*m*n, func(r *nv.MatmulRun) (err error) {
		r.Alpha, r.Beta = 0.5, 2
		r.C, err = upload(l.bench, f32.pack(c))
		return err
	})
	if err != nil {
		return "", err
	}
	var want []float64
	for i := range count {
		for j, v := range product(x[i*m*k:(i+1)*m*k], y, m, n, k, false, false) {
			want = append(want, 0.5*v+2*c[i*m*n+j])
		}
	}
	return near(got, want, f32.eps)
}

// offsets moves each operand away from its alignment of 256 bytes, and passes the new alignment to the heuristic.
func (l *lt) offsets() (string, error) {
	const m, n, k = 64, 64, 64
	r := rand.New(rand.NewPCG(15, 16))
	x, y, bias := quarters(r, m*k, bf16), quarters(r, k*n, bf16), quarters(r, n, bf16)
	want := product(x, y, m, n, k, false, false)
	for i := range want {
		want[i] += bias[i%n]
	}
	place := func(v []float64, offset int) (nv.Ptr, error) {
		p, err := upload(l.bench, append(make([]byte, offset), bf16.pack(v)...))
		return p + nv.Ptr(offset), err
	}
	refused := 0
	for _, offset := range []int{0, 2, 4, 8} {
		for which := range 4 {
			var o [4]int
			o[which] = offset
			run := &nv.MatmulRun{Alpha: 1, Workspace: l.workspace, WorkspaceSize: ltWorkspace}
			var err error
			if run.B, err = place(x, o[0]); err != nil {
				return "", err
			}
			if run.A, err = place(y, o[1]); err != nil {
				return "", err
			}
			d, err := l.alloc(m*n*2 + 16)
			if err != nil {
				return "", err
			}
			run.D = d + nv.Ptr(o[2])
			biasOffset := 0
			if which == 3 && offset >= 8 { // the heuristic does not cover smaller alignments: callers demand 16
				biasOffset = 16
			}
			if run.Bias, err = place(bias, biasOffset); err != nil {
				return "", err
			}
			spec := l.spec(m, n, k, bf16, bf16, false, false)
			spec.Epilogue = nv.EpilogueBias
			p, err := l.h.NewMatmul(spec)
			if err != nil {
				return "", err
			}
			align := func(p nv.Ptr) int { return int(p & -p & 255) }
			al := func(p nv.Ptr) int {
				if a := align(p); a != 0 {
					return min(a, 16)
				}
				return 16
			}
			algos, err := p.Heuristic(nv.Preference{Workspace: ltWorkspace, AlignA: al(run.A), AlignB: al(run.B), AlignC: al(run.D), AlignD: al(run.D)}, run, 4)
			if errors.Is(err, nv.ErrUnsupported) {
				refused++
				if err := p.Close(); err != nil {
					return "", err
				}
				continue
			}
			if err != nil {
				return "", err
			}
			if err := p.Run(l.s, run, &algos[0]); err != nil {
				return "", fmt.Errorf("operand %d, offset %d: %w", which, offset, err)
			}
			raw, err := download[byte](l.bench, run.D, m*n*2)
			if err != nil {
				return "", fmt.Errorf("operand %d, offset %d: %w", which, offset, err)
			}
			if _, err := near(bf16.unpack(raw), want, bf16.eps); err != nil {
				return "", fmt.Errorf("operand %d, offset %d: %w", which, offset, err)
			}
			if err := p.Close(); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%d of 16 refused", refused), nil
}

// capture records a product on a stream of its own, and runs it as a child node of a graph, followed by a copy of the result.
func (l *lt) capture() (string, error) {
	const n = 256
	d := l.d
	x := make([]float64, n*n)
	for i := range x {
		x[i] = float64(i%7) / 4
	}
	r := &nv.MatmulRun{Alpha: 1, Workspace: l.workspace, WorkspaceSize: ltWorkspace}
	var err error
	if r.A, err = upload(l.bench, bf16.pack(x)); err != nil {
		return "", err
	}
	r.B = r.A
	if r.D, err = l.alloc(n * n * 2); err != nil {
		return "", err
	}
	m, err := l.h.NewMatmul(l.spec(n, n, n, bf16, bf16, false, false))
	if err != nil {
		return "", err
	}
	algos, err := m.Heuristic(nv.Preference{Workspace: ltWorkspace}, r, 1)
	if err != nil {
		return "", err
	}
	s, err := d.NewStream(0)
	if err != nil {
		return "", err
	}
	if err := errors.Join(m.Run(s, r, &algos[0]), d.SynchronizeStream(s), d.Set8(r.D, 0, n*n*2, s), d.SynchronizeStream(s), d.BeginCapture(s)); err != nil {
		return "", err
	}
	runErr := m.Run(s, r, &algos[0])
	child, err := d.EndCapture(s)
	if err := errors.Join(runErr, err); err != nil {
		return "", err
	}
	nodes, err := d.Nodes(child)
	if err != nil {
		return "", err
	}
	raw, err := download[byte](l.bench, r.D, n*n*2)
	if err != nil {
		return "", err
	}
	if v := bf16.unpack(raw); v[0] != 0 || v[n*n-1] != 0 {
		return "", errors.New("the product ran while it was captured")
	}
	g, err := d.NewGraph()
	if err != nil {
		return "", err
	}
	first, err := d.AddChild(g, nil, child)
	if err != nil {
		return "", err
	}
	copied, err := l.alloc(n * n * 2)
	if err != nil {
		return "", err
	}
	if _, err := d.AddCopy(g, []nv.Node{first}, copied, r.D, n*n*2, l.ctx); err != nil {
		return "", err
	}
	e, err := d.Instantiate(g)
	if err != nil {
		return "", err
	}
	if err := d.LaunchGraph(e, l.s); err != nil {
		return "", err
	}
	if raw, err = download[byte](l.bench, copied, n*n*2); err != nil {
		return "", err
	}
	text, err := near(bf16.unpack(raw), product(x, x, n, n, n, false, false), bf16.eps)
	return fmt.Sprintf("%d nodes, %s", len(nodes), text), errors.Join(err, d.DestroyExec(e), d.DestroyGraph(g), d.DestroyGraph(child), d.DestroyStream(s), m.Close())
}

func (l *lt) speed() (string, error) {
	const n = 4096
	p, err := l.alloc(3 * n * n * 4)
	if err != nil {
		return "", err
	}
	if err := l.d.Set32(p, 0x3f003f00, 3*n*n, l.s); err != nil { // 0.5 in bf16, about 0.5 in f32
		return "", err
	}
	text := ""
	for _, c := range []struct {
		compute nv.Compute
		f       format
		out     format
		transB  bool
	}{{nv.ComputeF32, f32, f32, false}, {nv.ComputeTF32, f32, f32, false}, {nv.ComputeF32, bf16, bf16, false}, {nv.ComputeF32, e4m3, bf16, true}} {
		if c.f.name == "e4m3" && l.sm < 89 {
			continue
		}
		spec := l.spec(n, n, n, c.f, c.out, false, c.transB)
		spec.Compute = c.compute
		m, err := l.h.NewMatmul(spec)
		if err != nil {
			return text, err
		}
		start := time.Now()
		r := &nv.MatmulRun{Alpha: 1, A: p, B: p + n*n*4, D: p + 2*n*n*4, Workspace: l.workspace, WorkspaceSize: ltWorkspace}
		algos, err := m.Heuristic(nv.Preference{Workspace: ltWorkspace}, r, 4)
		if err != nil {
			return text, err
		}
		asked := time.Since(start)
		ms, err := l.timed(20, func() error { return m.Run(l.s, r, &algos[0]) })
		if err != nil {
			return text, err
		}
		start = time.Now()
		if err := m.Run(l.s, r, &algos[0]); err != nil {
			return text, err
		}
		host := time.Since(start)
		text += fmt.Sprintf("%s/%d %.1f TFLOP/s (heuristic %v, host %v), ", c.f.name, c.compute, 2*n*n*n/ms/1e9, asked.Round(time.Microsecond), host)
		if err := errors.Join(l.d.SynchronizeStream(l.s), m.Close()); err != nil {
			return text, err
		}
	}
	return text, nil
}
