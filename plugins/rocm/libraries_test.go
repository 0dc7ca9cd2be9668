package rocm

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// computed returns a function that reports how many calls of an optional library have computed something.
func computed(t *testing.T, root string) (runs func(library string) int64) {
	all := map[string]func() int64{}
	for library := range optional {
		handle, err := purego.Dlopen(filepath.Join(root, "lib", library), purego.RTLD_NOW|purego.RTLD_LOCAL)
		require.NoError(t, err)
		var f func() int64
		purego.RegisterLibFunc(&f, handle, "shim_runs")
		all[library] = f
	}
	return func(library string) int64 { return all[library]() }
}

// products matches cases that libraries compute.
const products = `^(matmul|linear|conv|conv_transpose)/(f32|f16|bf16|f64)/`

// TestLibraryCases compares the backend with the reference while replacements of hipBLASLt, rocBLAS and MIOpen compute products and
// convolutions on the processor and check all arguments.
func TestLibraryCases(t *testing.T) {
	root := shims(t, "libraries", optional)
	compiles(t)
	left, wrong := counts(t, root)
	runs := computed(t, root)
	o := conformance.Options{Run: cmp.Or(os.Getenv("BURN_ROCM_RUN"), products), Sample: 40, Shrink: -1}
	conformance.Run(t, func() (core.Backend, error) { return open(t) }, o)
	require.Zero(t, wrong(), "the libraries say on standard error which calls were wrong")
	require.Eventually(t, func() bool { return left() == 0 }, 10*time.Second, 10*time.Millisecond, "objects are left")
	for library := range optional {
		t.Logf("%s: %d calls", library, runs(library))
		require.Positive(t, runs(library), library)
	}
}

// TestLibraryFaults plants faults in libraries and checks that the next library or burn's own kernels compute products and convolutions
// correctly, and that the report says which library is not used and why.
func TestLibraryFaults(t *testing.T) {
	const lt, blas, dnn = "libhipblaslt.so.0", "librocblas.so.4", "libMIOpen.so.1"
	for _, c := range []struct {
		fault string
		by    []string // the libraries that compute
		row   string   // of the report that tells
		says  string
	}{
		{"", []string{lt, dnn}, "", ""},
		{"ltversion", []string{blas, dnn}, "hipblaslt", "it is hipBLASLt 0.3.0, whose types and algorithms have another layout; want 0.6 or newer"},
		{"ltcreate", []string{blas, dnn}, "hipblaslt", "hipBLASLt: hipblasLtCreate: HIPBLAS_STATUS_NOT_INITIALIZED (1)"},
		{"ltabort", []string{blas, dnn}, "hipblaslt", "it ended the process that tried it: exit status 2: SIGABRT: abort"},
		{"ltnone", []string{blas, dnn}, "", ""},
		{"ltstate", []string{blas, dnn}, "", ""},
		{"ltrun", []string{blas, dnn}, "", ""},
		{"ltrun,blasrun,dnnrun", nil, "", ""},
		{"blasversion", []string{lt, dnn}, "rocblas", "it is rocBLAS 1.9.0, want 2.44 to 5"},
		{"ltnone,blascreate", []string{dnn}, "rocblas", "rocBLAS: rocblas_create_handle: rocblas_status_memory_error (5)"},
		{"blasabort", []string{lt, dnn}, "rocblas", "it ended the process that tried it: exit status 2: SIGABRT: abort"},
		{"dnnversion", []string{lt}, "miopen", "it is MIOpen 1.2.0, want 2.17 to 3"},
		{"dnncreate", []string{lt}, "miopen", "MIOpen: miopenCreate: miopenStatusOther (4)"},
		{"dnnnone", []string{lt}, "", ""},
		{"dnnnaive", []string{lt}, "", ""},
		{"dnncompile", []string{lt, dnn}, "", ""},
		{"dnnrun", []string{lt}, "", ""},
		{"dnnattribute", []string{lt, dnn}, "", ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			root := shims(t, "libraries", optional, "BURN_HIPSHIM_LIBRARY_FAULT="+c.fault)
			compiles(t)
			_, wrong := counts(t, root)
			runs := computed(t, root)
			before := map[string]int64{}
			for library := range optional {
				before[library] = runs(library)
			}
			wrongs := wrong()
			b, err := open(t)
			require.NoError(t, err)
			defer b.Close()
			d, err := b.Open(t.Context(), 0)
			require.NoError(t, err)
			s, err := d.OpenStream(t.Context())
			require.NoError(t, err)
			multiplyAndConvolve(t, d, s)
			for library := range optional {
				require.Equal(t, slices.Contains(c.by, library), runs(library) > before[library], library)
			}
			require.Equal(t, wrongs, wrong())
			detail := b.Info().Devices[0].Detail
			if c.row == "" {
				require.NotContains(t, detail, "no hipBLASLt")
				require.NotContains(t, detail, "no rocBLAS")
				require.NotContains(t, detail, "no MIOpen")
				return
			}
			require.Contains(t, detail, c.says)
			require.Contains(t, detail, "to get it: AMD's package")
		})
	}
}

// TestMissingFunction checks that a library that lacks a function is not used, and that the report names the function.
func TestMissingFunction(t *testing.T) {
	more := maps.Clone(optional)
	more["libhipblaslt.so.0"] += " -DLACKS"
	shims(t, "lacks", more)
	compiles(t)
	b, err := open(t)
	require.NoError(t, err)
	defer b.Close()
	require.Contains(t, b.Info().Devices[0].Detail, "no hipBLASLt: library is missing: 1 found and none usable; without it matrix products run on rocBLAS")
	require.Contains(t, b.Info().Devices[0].Detail, "it does not export hipblasLtMatmulDescSetAttribute")
}

// TestWithoutLibraries checks that, without the optional libraries, burn's own kernels compute and the device says what is slower and what to install.
func TestWithoutLibraries(t *testing.T) {
	shim(t)
	compiles(t)
	b, err := open(t)
	require.NoError(t, err)
	defer b.Close()
	detail := b.Info().Devices[0].Detail
	for _, k := range []vendor.Library{amd.LtLibrary, amd.BLASLibrary, amd.DNNLibrary} {
		require.Contains(t, detail, "no "+k.Name)
		require.Contains(t, detail, "without it "+k.Lost)
		require.Contains(t, detail, "to get it: "+k.Install)
	}
	d, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := d.OpenStream(t.Context())
	require.NoError(t, err)
	multiplyAndConvolve(t, d, s)
}

// TestHiddenLibraries checks that only the libraries in BURN_ROCM_HIDE are reported as hidden.
func TestHiddenLibraries(t *testing.T) {
	shims(t, "libraries", optional, "BURN_ROCM_HIDE=hipblaslt,MIOpen")
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{})
	require.NoError(t, err)
	require.ErrorContains(t, found.Row("hipblaslt").Err, "hidden by BURN_ROCM_HIDE")
	require.ErrorContains(t, found.Row("miopen").Err, "hidden by BURN_ROCM_HIDE")
	require.NoError(t, found.Row("rocblas").Err)
}

// multiplyAndConvolve compares a product and a convolution with sums in float64.
func multiplyAndConvolve(t *testing.T, d core.Device, s core.Stream) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	tensor := func(shape ...int) (op.Desc, []float32) {
		x := op.Desc{ID: d.NewIDs(1), DType: dtype.F32, Shape: shape}
		v := make([]float32, x.Shape.Size())
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		require.NoError(t, s.Write(t.Context(), x, dtype.Bytes(v)))
		return x, v
	}
	run := func(name string, in []op.Desc, attrs ...op.Attr) []float32 {
		code, ok := op.ByName(name)
		require.True(t, ok)
		n, err := op.New(code, in, attrs...)
		require.NoError(t, err)
		n.Outputs[0].ID = d.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{n}, nil))
		v := make([]float32, n.Outputs[0].Shape.Size())
		require.NoError(t, core.Read(t.Context(), s, n.Outputs[0].ID, dtype.Bytes(v)))
		return v
	}
	a, va := tensor(5, 33)
	b, vb := tensor(33, 7)
	for i, got := range run("matmul", []op.Desc{a, b}) {
		sum := 0.0
		for k := range 33 {
			sum += float64(va[i/7*33+k]) * float64(vb[k*7+i%7])
		}
		require.InDelta(t, sum, got, 1e-4)
	}
	x, vx := tensor(2, 3, 6, 5)
	w, vw := tensor(4, 3, 3, 3)
	got := run("conv", []op.Desc{x, w}, op.Ints("strides", 1, 1), op.Ints("pad_lo", 1, 1), op.Ints("pad_hi", 1, 1),
		op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1))
	require.Len(t, got, 2*4*6*5)
	for i, got := range got {
		n, o, y, z := i/120, i/30%4, i/5%6, i%5
		sum := 0.0
		for c := range 3 {
			for k := range 9 {
				if p, q := y+k/3-1, z+k%3-1; p >= 0 && p < 6 && q >= 0 && q < 5 {
					sum += float64(vx[((n*3+c)*6+p)*5+q]) * float64(vw[(o*3+c)*9+k])
				}
			}
		}
		require.InDelta(t, sum, got, 1e-4)
	}
}

// rig is a device with the libraries, and a queue.
type rig struct {
	*device
	queue gpu.Queue
}

func newRig(t *testing.T) rig {
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{})
	require.NoError(t, err)
	dr, err := newDriver(program, found)
	require.NoError(t, err)
	d, err := dr.open(0)
	require.NoError(t, err)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	return rig{d, q}
}

func (r rig) close(*testing.T) {
	r.queue.Close()
	r.Close()
}

// upload copies floats to new memory.
func (r rig) upload(t *testing.T, v []float32) gpu.Ref {
	m, err := r.Alloc(int64(4 * len(v)))
	require.NoError(t, err)
	require.NoError(t, r.queue.Upload(gpu.Ref{Memory: m}, dtype.Bytes(v)))
	return gpu.Ref{Memory: m}
}

func (r rig) download(t *testing.T, x gpu.Ref, n int) []float32 {
	v := make([]float32, n)
	require.NoError(t, r.queue.Download(dtype.Bytes(v), x))
	require.NoError(t, r.queue.Synchronize())
	return v
}

// library returns the library with the given name.
func (r rig) library(t *testing.T, name string) gpu.Library {
	i := slices.IndexFunc(r.Libraries(), func(l gpu.Library) bool { return l.Name() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return r.Libraries()[i]
}

// TestMIOpenGradients compares the three convolutions with each other: result, image and filter have the same inner product with their
// gradients. TestLibraryCases compares the forward convolution with the reference. The test also checks the first element that a graph
// computes, before and after an update of its operands.
func TestMIOpenGradients(t *testing.T) {
	root := shims(t, "libraries", optional)
	compiles(t)
	left, wrong := counts(t, root)
	alive := left()
	r := newRig(t)
	random := rand.New(rand.NewPCG(3, 4))
	floats := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(random.IntN(9) - 4) // sums are exact
		}
		return v
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for _, c := range []gpu.Convolution{
		{Image: []int{2, 4, 7, 6}, Filter: []int{6, 2, 3, 2}, Result: []int{2, 6, 4, 7}, Stride: []int{2, 1}, Dilation: []int{1, 1}, PadBefore: []int{1, 1}, PadAfter: []int{1, 1}, Groups: 2},
		{Image: []int{1, 3, 9}, Filter: []int{2, 3, 3}, Result: []int{1, 2, 5}, Stride: []int{1}, Dilation: []int{2}, PadBefore: []int{0}, PadAfter: []int{0}, Groups: 1},
		{Image: []int{1, 2, 4, 5, 3}, Filter: []int{3, 2, 2, 2, 2}, Result: []int{1, 3, 3, 4, 2}, Stride: []int{1, 1, 1}, Dilation: []int{1, 1, 1}, PadBefore: []int{0, 0, 0},
			PadAfter: []int{0, 0, 0}, Groups: 1},
	} {
		c.Type, c.Compute = dtype.F32, dtype.F32
		size := func(dims []int) (n int, strides []int) {
			n, strides = 1, make([]int, len(dims))
			for i := len(dims) - 1; i >= 0; i-- {
				strides[i] = n
				n *= dims[i]
			}
			return n, strides
		}
		var nx, nw, ny int
		nx, c.ImageStrides = size(c.Image)
		nw, c.FilterStrides = size(c.Filter)
		ny, c.OutStrides = size(c.Result)
		x, w, g := floats(nx), floats(nw), floats(ny)
		rx, rw, rg := r.upload(t, x), r.upload(t, w), r.upload(t, g)
		y, dx, dw := r.upload(t, make([]float32, ny)), r.upload(t, make([]float32, nx)), r.upload(t, make([]float32, nw))
		for kind, args := range map[gpu.ConvolutionKind][]gpu.Ref{gpu.Forward: {rx, rw, y}, gpu.BackwardImage: {rg, rw, dx}, gpu.BackwardFilter: {rx, rg, dw}} {
			c.Kind = kind
			found, err := r.library(t, "MIOpen").Convolution(c)
			require.NoError(t, err)
			require.Len(t, found, 2)
			require.NoError(t, found[1].Ready(args))
			workspace, err := r.Alloc(found[1].Workspace())
			require.NoError(t, err)
			require.NoError(t, found[0].Call(r.queue, args, gpu.Ref{Memory: workspace}))
			plain := r.download(t, args[2], 1)
			graph, err := r.NewGraph([]gpu.Step{{Call: &gpu.Call{Candidate: found[1], Args: args, Workspace: gpu.Ref{Memory: workspace}}}})
			require.NoError(t, err)
			require.NoError(t, r.queue.Fill(args[2], 4, 0, 4))
			require.NoError(t, graph.Launch(r.queue))
			require.Equal(t, plain, r.download(t, args[2], 1))
			other := r.upload(t, make([]float32, nx+nw+ny))
			require.NoError(t, graph.Update(0, gpu.Step{Call: &gpu.Call{Candidate: found[1], Args: []gpu.Ref{args[0], args[1], other}, Workspace: gpu.Ref{Memory: workspace}}}))
			require.NoError(t, graph.Launch(r.queue))
			require.Equal(t, plain, r.download(t, other, 1))
			graph.Close()
			r.Free(other.Memory)
			r.Free(workspace)
			for _, f := range found {
				f.Close()
			}
		}
		inner := dot(r.download(t, y, ny), g)
		require.NotZero(t, inner)
		require.Equal(t, inner, dot(r.download(t, dx, nx), x))
		require.Equal(t, inner, dot(r.download(t, dw, nw), w))
		for _, m := range []gpu.Ref{rx, rw, rg, y, dx, dw} {
			r.Free(m.Memory)
		}
	}
	r.close(t)
	require.Zero(t, wrong())
	require.Equal(t, alive, left())
}

// TestConvolutionRefusals checks that convolutions that MIOpen does not support, and solutions that are not exact enough, are refused.
func TestConvolutionRefusals(t *testing.T) {
	good := func() gpu.Convolution {
		return gpu.Convolution{Type: dtype.F16, Compute: dtype.F32, Image: []int{1, 2, 4, 4}, Filter: []int{3, 2, 2, 2}, Result: []int{1, 3, 3, 3}, ImageStrides: []int{32, 16, 4, 1},
			FilterStrides: []int{8, 4, 2, 1}, OutStrides: []int{27, 9, 3, 1}, Stride: []int{1, 1}, Dilation: []int{1, 1}, PadBefore: []int{0, 0}, PadAfter: []int{0, 0}, Groups: 1}
	}
	c := good()
	s, err := dnnSpec(&c)
	require.NoError(t, err)
	require.Equal(t, amd.DNNF16, s.Type)
	for says, change := range map[string]func(c *gpu.Convolution){
		"f64":        func(c *gpu.Convolution) { c.Type, c.Compute = dtype.F64, dtype.F64 },
		"an epilog":  func(c *gpu.Convolution) { c.Bias = dtype.F16 },
		"padding of": func(c *gpu.Convolution) { c.PadAfter = []int{0, 1} },
		"strides":    func(c *gpu.Convolution) { c.ImageStrides[2] = 0 },
	} {
		c := good()
		change(&c)
		_, err := dnnSpec(&c)
		require.ErrorIs(t, err, vendor.ErrUnsupported)
		require.ErrorContains(t, err, says)
	}
	for _, c := range []struct {
		t    dtype.DType
		s    amd.Solution
		want bool
	}{
		{dtype.F32, amd.Solution{ID: 21}, false}, {dtype.F32, amd.Solution{ID: 84}, false}, {dtype.F32, amd.Solution{ID: 85}, true}, {dtype.F16, amd.Solution{ID: 87}, true},
		{dtype.F32, amd.Solution{ID: 88, Algorithm: amd.AlgorithmFFT}, true}, {dtype.F32, amd.Solution{Algorithm: amd.AlgorithmWinograd}, false},
		{dtype.BF16, amd.Solution{Algorithm: amd.AlgorithmWinograd}, true}, {dtype.F32, amd.Solution{Workspace: maxWorkspace + 1}, true},
	} {
		require.Equal(t, c.want, forbidden(c.t, &c.s), "%+v", c)
	}
}

// TestHipBLASLtEpilogues compares products with bias and residual (hipBLASLt) and with a residual alone (rocBLAS) with exact sums. hipBLASLt
// refuses activations of f32.
func TestHipBLASLtEpilogues(t *testing.T) {
	shims(t, "libraries", optional)
	compiles(t)
	r := newRig(t)
	defer r.close(t)
	const m, n, k = 3, 5, 4
	a, b, bias, residual := make([]float32, m*k), make([]float32, k*n), make([]float32, n), make([]float32, m*n)
	for _, v := range [][]float32{a, b, bias, residual} {
		for i := range v {
			v[i] = float32(i%7) - 3
		}
	}
	p := gpu.Product{Batch: 1, M: m, N: n, K: k, A: gpu.Matrix{Type: dtype.F32, Row: k, Col: 1}, B: gpu.Matrix{Type: dtype.F32, Row: n, Col: 1},
		D: gpu.Matrix{Type: dtype.F32, Row: n, Col: 1}, Bias: dtype.F32, Residual: true}
	for name, bias := range map[string][]float32{"hipBLASLt": bias, "rocBLAS": nil} {
		p := p
		args := []gpu.Ref{r.upload(t, a), r.upload(t, b), r.upload(t, make([]float32, m*n))}
		if bias == nil {
			_, err := r.library(t, name).Product(p)
			require.ErrorIs(t, err, core.ErrUnsupported)
			p.Bias = dtype.Invalid
		} else {
			args = append(args, r.upload(t, bias))
		}
		args = append(args, r.upload(t, residual))
		found, err := r.library(t, name).Product(p)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		workspace, err := r.Alloc(found[0].Workspace())
		require.NoError(t, err)
		require.NoError(t, found[0].Ready(args))
		require.NoError(t, found[0].Call(r.queue, args, gpu.Ref{Memory: workspace}))
		got := r.download(t, args[2], m*n)
		for i := range got {
			want := residual[i]
			if bias != nil {
				want += bias[i%n]
			}
			for l := range k {
				want += a[i/n*k+l] * b[l*n+i%n]
			}
			require.Equal(t, want, got[i])
		}
		for _, f := range found {
			f.Close()
		}
		r.Free(workspace)
		for _, x := range args {
			r.Free(x.Memory)
		}
	}
	for _, x := range []gpu.Activation{gpu.ReLU, gpu.GELU, gpu.GELUTanh} { // gelu of f32 is not exact enough
		p.Activation = x
		_, err := r.library(t, "hipBLASLt").Product(p)
		require.ErrorIs(t, err, core.ErrUnsupported)
	}
}
