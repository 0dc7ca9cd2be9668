package libtorch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Environment variables with which the test binary acts as another program instead of running tests.
const (
	plantVariable  = "BURN_LIBTORCH_PLANT" // the child of a probe in which exp of f32 ends the process and log of f64 fails
	stdoutVariable = "BURN_LIBTORCH_STDOUT"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(stdoutVariable) != "":
		if KeepStdout() != nil {
			os.Exit(1)
		}
		_, _ = syscall.Write(1, []byte("noise of a library")) // the test checks where it went
		fmt.Print("handshake")
		os.Exit(0)
	case len(os.Args) == 2 && os.Args[1] == ProbeFlag && os.Getenv(fakeVariable) != "":
		os.Exit(fakeChild(os.Getenv(fakeVariable)))
	case len(os.Args) == 2 && os.Args[1] == ProbeFlag:
		if os.Getenv(plantVariable) != "" {
			plant(op.Exp, func(w *worker) {
				if w.in[0].d == dtype.F32 {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			})
			plant(op.Log, func(w *worker) {
				if w.in[0].d == dtype.F64 {
					w.fail(fmt.Errorf("planted"))
				}
			})
		}
		os.Exit(ProbeMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// plant makes f run before the kernel of an op.
func plant(code op.Code, f kernel) {
	r := rules[code]
	run := r.run
	r.run = func(w *worker) { f(w); run(w) }
	rules[code] = r
}

func TestKeepStdout(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stdoutVariable+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run())
	require.Equal(t, "handshake", out.String())
	require.Contains(t, errs.String(), "noise of a library")
}

func TestProbe(t *testing.T) {
	lib, place := library(t)
	found, err := probe(os.Args[0], place, nil)
	require.NoError(t, err)
	for name, r := range found {
		if lib.Shim != "" && (name == "attention" || name == "rms_norm") {
			continue // operators of later torches
		}
		t.Errorf("%s of %v is refused: %s", name, r.Types, r.Why)
	}
	_, err = probe(os.Args[0], torch.Place{Folder: t.TempDir()}, nil)
	require.ErrorContains(t, err, "libtorch_cpu.so")
}

// TestProbeRefuses checks that a kernel that fails in the probe, or ends its process, is not claimed for that type, and that everything else is.
func TestProbeRefuses(t *testing.T) {
	lib, place := library(t)
	t.Setenv(plantVariable, "1")
	found, err := probe(os.Args[0], place, nil)
	require.NoError(t, err)
	exp := dtype.SetOf(dtype.F32)
	if lib.Shim == "" {
		require.Len(t, found, 2)
	} else { // computes floats of 16 bits in f32
		exp |= dtype.SetOf(dtype.F16, dtype.BF16)
	}
	require.Equal(t, exp, found["exp"].Types)
	require.Contains(t, found["exp"].Why, "it ended the process that tried it: signal: killed")
	require.Equal(t, dtype.SetOf(dtype.F64), found["log"].Types)
	d := newDriver(lib, place, found, false)
	require.Contains(t, d.info.Devices[0].Detail, "not claimed after the self-test: ")
	require.Contains(t, d.info.Devices[0].Detail, "exp of f32")
	ops := d.open(0).caps.Ops
	require.False(t, ops["exp"].Operands[0].Has(dtype.F32))
	require.True(t, ops["exp"].Operands[0].Has(dtype.F64))
	require.True(t, ops["log"].Operands[0].Has(dtype.F32))
}

// TestTable checks that every primitive has a kernel, and every kernel a sample for its self-test on each of its types.
func TestTable(t *testing.T) {
	for _, code := range op.All() {
		row := op.Lookup(code)
		if _, ok := rules[code]; row.Class == op.Primitive && !ok {
			t.Errorf("%s has no kernel", row.Name)
		}
	}
	for _, x := range trials() {
		code, ok := op.ByName(x.Op)
		require.True(t, ok)
		_, _, err := sample(code, x.Type)
		require.NoError(t, err, "%s of %v", x.Op, x.Type)
	}
}

// rig is an opened device with a stream.
type rig struct {
	t *testing.T
	b core.Backend
	d core.Device
	s core.Stream
}

func newRig(t *testing.T) *rig {
	library(t)
	b, err := New(core.Config{Threads: 1})
	require.NoError(t, err)
	d, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := d.OpenStream(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return &rig{t, b, d, s}
}

func (r *rig) node(code op.Code, in []op.Desc, attrs ...op.Attr) op.Desc {
	return r.nodes(code, in, attrs...)[0]
}

// nodes submits a node and returns all its results.
func (r *rig) nodes(code op.Code, in []op.Desc, attrs ...op.Attr) []op.Desc {
	n, err := op.New(code, in, attrs...)
	require.NoError(r.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = r.d.NewIDs(1)
	}
	require.NoError(r.t, r.s.Submit([]op.Node{n}, nil))
	return n.Outputs
}

func (r *rig) full(v float64, dims ...int) op.Desc {
	return r.node(op.Full, nil, op.ScalarFloat("value", v), op.Type("dtype", dtype.F32), op.Dims("shape", dims))
}

func (r *rig) read(d op.Desc) ([]float32, error) {
	data := make([]byte, d.Bytes())
	err := core.Read(context.Background(), r.s, d.ID, data)
	return dtype.Slice[float32](data), err
}

// TestOperatorThrows checks that an exception of an operator becomes the error of its node, with torch's message, and that later nodes work.
func TestOperatorThrows(t *testing.T) {
	saved := rules[op.Exp]
	defer func() { rules[op.Exp] = saved }()
	bad := aten("mm")
	rules[op.Exp] = rule{types: floats, run: func(w *worker) { w.out[0] = w.bin(bad, w.in[0], w.in[0], w.in[0].d) }}
	r := newRig(t)
	x := r.full(1, 3)
	y := r.node(op.Exp, []op.Desc{x})
	z := r.node(op.Neg, []op.Desc{y})
	_, err := r.read(z)
	var n *core.NodeError
	require.ErrorAs(t, err, &n)
	require.Equal(t, "exp", n.Op)
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "aten::mm: torch: ")
	require.ErrorContains(t, err, "self must be a matrix")
	v, err := r.read(r.node(op.Neg, []op.Desc{x}))
	require.NoError(t, err)
	require.Equal(t, []float32{-1, -1, -1}, v)
}

func TestOutOfMemory(t *testing.T) {
	r := newRig(t)
	_, err := r.read(op.Desc{ID: r.node(op.Copy, []op.Desc{r.full(1, 1<<20, 1<<20)}).ID, DType: dtype.F32, Shape: []int{1}})
	require.ErrorIs(t, err, core.ErrOutOfMemory)
}

func TestOptions(t *testing.T) {
	for _, o := range []map[string]string{{"check": "perhaps"}, {"folder": "/x"}} {
		_, err := New(core.Config{Options: o})
		require.ErrorIs(t, err, core.ErrAttr)
	}
	_, err := Opener(os.Args[0])(core.Config{Options: map[string]string{"torch": t.TempDir()}})
	require.ErrorIs(t, err, core.ErrNotFound)
}

// resident returns the resident memory of the process in bytes.
func resident(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("statm of linux is not there: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// TestFlat checks that many ops on small tensors leak neither handles, which are a few hundred bytes each, nor elements. The full run has a
// million ops.
func TestFlat(t *testing.T) {
	r := newRig(t)
	rounds := 4_000
	if long() {
		rounds = 200_000
	}
	x := r.full(1, 64, 64)
	round := func() {
		a := r.node(op.Add, []op.Desc{x, x})
		b := r.node(op.Permute, []op.Desc{a}, op.Ints("axes", 1, 0))
		c := r.node(op.Sum, []op.Desc{b}, op.Ints("axes", 0))
		d := r.node(op.Softmax, []op.Desc{c}, op.Int("axis", 0))
		e := r.node(op.Cast, []op.Desc{d}, op.Type("dtype", dtype.I32))
		for _, y := range []op.Desc{a, b, c, d, e} {
			require.NoError(t, r.s.Submit(nil, []op.TensorID{y.ID}))
		}
	}
	settle := func() int64 {
		_, err := r.read(x)
		require.NoError(t, err)
		return resident(t)
	}
	for range rounds / 4 {
		round()
	}
	before := settle()
	for i := range rounds {
		round()
		if i%256 == 0 {
			settle()
		}
	}
	grown := settle() - before
	t.Logf("%d ops: resident memory grew by %d KiB", 5*rounds, grown>>10)
	require.Less(t, grown, int64(24<<20))
}

// TestLentMemory checks that kernels read lent memory in place, and that it is released when its last view is freed.
func TestLentMemory(t *testing.T) {
	r := newRig(t)
	lib, _ := library(t)
	if !lib.Adopts() {
		t.Skip("lent memory is not on this machine: torch is older than 2.11")
	}
	host, ok := core.Extension[core.HostMemory](r.d)
	require.True(t, ok)
	data := dtype.Bytes(make([]float32, 1024))
	x := op.Desc{ID: r.d.NewIDs(1), DType: dtype.F32, Shape: []int{32, 32}}
	released := make(chan struct{})
	require.NoError(t, host.Adopt(r.s, x, data, func() { close(released) }))
	dtype.Slice[float32](data)[1] = 7 // seen, as nothing was copied
	y := r.node(op.Permute, []op.Desc{x}, op.Ints("axes", 1, 0))
	require.NoError(t, r.s.Submit(nil, []op.TensorID{x.ID}))
	v, err := r.read(y)
	require.NoError(t, err)
	require.Equal(t, float32(7), v[32])
	select {
	case <-released:
		t.Fatal("it is given back while a view of it is there")
	default:
	}
	require.NoError(t, r.s.Submit(nil, []op.TensorID{y.ID}))
	_, err = r.read(r.full(1, 1))
	require.NoError(t, err)
	select {
	case <-released:
	case <-time.After(10 * time.Second):
		t.Fatal("it is not given back")
	}
}

// TestDefinition checks that torch computes linear algebra if the result is finite, and that otherwise the definition of the op does. The
// definition of solve contains a triangular system, which fails here.
func TestDefinition(t *testing.T) {
	saved := rules[op.TriangularSolve]
	defer func() { rules[op.TriangularSolve] = saved }()
	plant(op.TriangularSolve, func(w *worker) { w.fail(fmt.Errorf("planted")) })
	r := newRig(t)
	matrix := func(v ...float64) op.Desc {
		rows := make([]op.Desc, len(v))
		for i, x := range v {
			rows[i] = r.full(x, 1)
		}
		return r.node(op.Reshape, []op.Desc{r.node(op.Concat, rows, op.Int("axis", 0))}, op.Ints("shape", 2, 2))
	}
	v, err := r.read(r.node(op.Solve, []op.Desc{matrix(2, 0, 1, 4), matrix(2, 4, 9, 6)}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{1, 2, 2, 1}, v, 1e-6)
	_, err = r.read(r.node(op.Solve, []op.Desc{matrix(1, 2, 2, 4), matrix(1, 0, 0, 1)}))
	require.ErrorContains(t, err, "planted")

	v, err = r.read(r.node(op.Cholesky, []op.Desc{matrix(4, 0, 2, -1)})) // not positive definite
	require.NoError(t, err)
	require.Equal(t, []float32{2, 0, 1}, v[:3])
	require.True(t, v[3] != v[3])
}
