package shared_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/shared"
)

// object compiles a backend of testdata into a new folder and returns the path of the shared object.
func object(t testing.TB, file string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("cc is not in PATH, or on Windows: this test compiles a library with it")
	}
	ext := ".so"
	if runtime.GOOS == "darwin" {
		ext = ".dylib"
	}
	out := filepath.Join(t.TempDir(), "burn-backend-"+strings.TrimSuffix(file, ".c")+ext)
	args := append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fPIC", "-shared", "-pthread",
		"-I../../sdk/c", "-o", out, "testdata/" + file}, flags...)
	text, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

// opened opens a backend of testdata, its first device and a stream.
func opened(t testing.TB, file string, c core.Config) (core.Backend, core.Device, core.Stream) {
	t.Helper()
	ctx := context.Background()
	b, err := shared.Open(object(t, file), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	return b, d, s
}

// vector returns an f32[n] description with a new id.
func vector(d core.Device, n int) op.Desc {
	v := op.DescOf(dtype.F32, n)
	v.ID = d.NewIDs(1)
	return v
}

// node returns a node with a new output id.
func node(t testing.TB, d core.Device, c op.Code, in []op.Desc, attrs ...op.Attr) op.Node {
	t.Helper()
	n, err := op.New(c, in, attrs...)
	require.NoError(t, err)
	n.Outputs[0].ID = d.NewIDs(1)
	return n
}

// The C side receives every node unchanged: the kernels of echo.c fail with a description of the node.
func TestNodesArriveWhole(t *testing.T) {
	ctx := context.Background()
	b, d, s := opened(t, "echo.c", core.Config{Threads: 3, Options: map[string]string{"k": "v"}})
	require.Equal(t, "echo", b.Info().Name)
	require.Equal(t, "threads 3, k=v", b.Info().Devices[0].Detail)
	x := vector(d, 3)
	require.NoError(t, s.Write(ctx, x, make([]byte, 12)))
	for _, c := range []struct {
		node op.Node
		want string
	}{
		{node(t, d, op.Slice, []op.Desc{x}, op.Ints("start", 2), op.Ints("size", 2), op.Ints("step", -2)),
			"slice of 12 bytes out 2 f[2] start=[2] size=[2] step=[-2]"},
		{node(t, d, op.ArgMax, []op.Desc{x}, op.Int("axis", 0)), "argmax of 12 bytes out 5 f[0] axis=0 keep_dims=0"},
		{node(t, d, op.Sum, []op.Desc{x}, op.Ints("axes"), op.Flag("keep_dims", true)), "sum of 12 bytes out 2 f[3] axes=[] keep_dims=1"},
		{node(t, d, op.Pad, []op.Desc{x}, op.Ints("lo", 1), op.Ints("hi", 0), op.ScalarFloat("value", -1.5)),
			"pad of 12 bytes out 2 f[4] lo=[1] hi=[0] value=-1.5(f)"},
		{node(t, d, op.Pad, []op.Desc{x}, op.Ints("lo", 0), op.Ints("hi", 0), op.ScalarInt("value", -9)),
			"pad of 12 bytes out 2 f[3] lo=[0] hi=[0] value=-9(i)"},
	} {
		require.NoError(t, s.Submit([]op.Node{c.node}, nil))
		err := core.Read(ctx, s, c.node.Outputs[0].ID, make([]byte, c.node.Outputs[0].Bytes()))
		var ne *core.NodeError
		require.ErrorAs(t, err, &ne)
		require.ErrorIs(t, err, core.ErrOutOfMemory)
		require.Equal(t, c.node.Op.String(), ne.Op)
		require.Equal(t, c.node.Outputs, ne.Outputs)
		require.Equal(t, c.want+": out of memory", ne.Err.Error())
	}
	exp := node(t, d, op.Exp, []op.Desc{x})
	require.NoError(t, s.Submit([]op.Node{exp}, nil))
	require.ErrorIs(t, core.Read(ctx, s, exp.Outputs[0].ID, make([]byte, 12)), core.ErrUnsupported)
}

// The capabilities contain the claims of the kernels in echo.c, for each operand.
func TestDocument(t *testing.T) {
	_, d, _ := opened(t, "echo.c", core.Config{})
	caps, all := d.Capabilities(), dtype.SetOf(dtype.F32, dtype.I64)
	require.Equal(t, all, caps.Types)
	require.Equal(t, core.Limits{Rank: 8}, caps.Limits)
	require.Equal(t, core.OpCapability{Version: 1, Operands: []dtype.Set{all, dtype.SetOf(dtype.I64)}}, caps.Ops["gather"])
	require.Equal(t, core.OpCapability{Version: 1, Operands: []dtype.Set{all}, Results: []dtype.Set{dtype.SetOf(dtype.I64)}}, caps.Ops["argmax"])
	x, at := op.DescOf(dtype.F32, 3), op.DescOf(dtype.I32, 2)
	gather := node(t, d, op.Gather, []op.Desc{x, at}, op.Int("axis", 0))
	require.ErrorIs(t, caps.Check(&gather, []op.Desc{x, at}), core.ErrUnsupported)
}

// Adopted memory is used in place, View passes the same memory, and it is released when the tensor is freed.
func TestLentMemory(t *testing.T) {
	ctx := context.Background()
	_, d, s := opened(t, "echo.c", core.Config{})
	host, ok := core.Extension[core.HostMemory](d)
	require.True(t, ok)
	stats, ok := core.Extension[core.MemoryStats](d)
	require.True(t, ok)
	x, back := vector(d, 2), make(chan struct{})
	data := []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1, 2
	require.NoError(t, host.Adopt(s, x, data, func() { close(back) }))
	y := node(t, d, op.Copy, []op.Desc{x})
	require.NoError(t, s.Submit([]op.Node{y}, nil))
	require.NoError(t, host.View(ctx, s, x.ID, func(seen []byte) error {
		require.Same(t, &data[0], &seen[0])
		return nil
	}))
	require.NoError(t, host.View(ctx, s, y.Outputs[0].ID, func(seen []byte) error {
		require.Equal(t, data, seen)
		return nil
	}))
	require.Equal(t, core.Memory{InUse: 8, Reserved: 8, Tensors: 2}, stats.Memory(), "adopted memory does not belong to the backend")
	select {
	case <-back:
		t.Fatal("the memory was released while the tensor is live")
	default:
	}
	require.NoError(t, s.Submit(nil, []op.TensorID{x.ID}))
	require.NoError(t, core.Sync(ctx, s))
	<-back
}

// A kernel that runs until it is canceled ends when its stream is closed.
func TestCancel(t *testing.T) {
	_, d, s := opened(t, "echo.c", core.Config{})
	x := vector(d, 1)
	require.NoError(t, s.Write(context.Background(), x, make([]byte, 4)))
	require.NoError(t, s.Submit([]op.Node{node(t, d, op.Neg, []op.Desc{x})}, nil))
	closed := make(chan error, 1)
	time.AfterFunc(10*time.Millisecond, func() { closed <- s.Close() })
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the stream is not closed")
	}
}

func TestOpenRefuses(t *testing.T) {
	_, err := shared.Open(filepath.Join(t.TempDir(), "none.so"), core.Config{})
	require.ErrorIs(t, err, core.ErrNotFound)
	for flag, want := range map[string][]string{
		"NO_ENTRY":      {"burn_backend_main"},
		"NO_ABI":        {"no version of the C ABI up to 2", "update burn"},
		"OLD_ABI":       {"version 1 of the C ABI", "this program version 2", "rebuild the backend with sdk/c"},
		"OLD_ABI_ONLY":  {"version 1 of the C ABI", "this program version 2", "rebuild the backend with sdk/c"},
		"NEW_ABI":       {"version 3 of the C ABI", "this program version 2", "update burn"},
		"SHORT_TABLE":   {"64 bytes"},
		"NO_FUNCTION":   {"execute is missing"},
		"PART_OF_GROUP": {"belong together"},
	} {
		_, err := shared.Open(object(t, "bad.c", "-D"+flag), core.Config{})
		require.ErrorIs(t, err, core.ErrProtocol, flag)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
	_, err = shared.Open(object(t, "bad.c", "-DNO_DEVICE"), core.Config{})
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorContains(t, err, "no such card")
}

// BenchmarkSubmit measures the overhead of a call to C: a node with one element, submitted in batches.
func BenchmarkSubmit(b *testing.B) {
	ctx := context.Background()
	_, d, s := opened(b, "echo.c", core.Config{})
	x := vector(d, 1)
	require.NoError(b, s.Write(ctx, x, make([]byte, 4)))
	const batch = 64
	first := d.NewIDs(batch)
	nodes := make([]op.Node, batch)
	for i := range nodes {
		n, err := op.New(op.Copy, []op.Desc{x})
		require.NoError(b, err)
		n.Outputs[0].ID = first + op.TensorID(i)
		if i > 0 {
			n.Inputs, n.Drop = []op.TensorID{first + op.TensorID(i-1)}, 1
		}
		nodes[i] = n
	}
	last := []op.TensorID{first + batch - 1}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		require.NoError(b, s.Submit(nodes, last))
		require.NoError(b, core.Sync(ctx, s))
	}
}
