package shared_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/shared"
	"github.com/goburn/burn/sdk/client"
)

const envCarry = "BURN_TEST_CARRY" // this binary serves the shared object that its argument names

func TestMain(m *testing.M) {
	if os.Getenv(envCarry) != "" {
		_ = os.Unsetenv(envCarry)
		if err := shared.Serve(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// object compiles a backend of testdata into a new folder.
func object(t testing.TB, file string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("needs a C compiler named cc")
	}
	ext := ".so"
	if runtime.GOOS == "darwin" {
		ext = ".dylib"
	}
	out := filepath.Join(t.TempDir(), "burn-backend-"+strings.TrimSuffix(file, ".c")+ext)
	args := append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fPIC", "-shared", "-I../../sdk/c", "-o", out, "testdata/" + file}, flags...)
	text, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

func vector(id op.TensorID, n int) op.Desc {
	d := op.DescOf(dtype.F32, n)
	d.ID = id
	return d
}

func node(t testing.TB, c op.Code, out op.TensorID, in []op.Desc, attrs ...op.Attr) op.Node {
	t.Helper()
	n, err := op.New(c, in, attrs...)
	require.NoError(t, err)
	n.Outputs[0].ID = out
	return n
}

// What the C side sees of a node is what the host said: the backend of the test writes it into its result.
func TestNodesArriveWhole(t *testing.T) {
	ctx := context.Background()
	b, err := shared.Open(object(t, "echo.c"), core.Config{Threads: 3, Options: map[string]string{"k": "v"}})
	require.NoError(t, err)
	require.Equal(t, "echo", b.Info().Name)
	require.Equal(t, "threads 3, k=v", b.Info().Devices[0].Detail)
	s, err := b.OpenStream(ctx, 0)
	require.NoError(t, err)
	x := vector(op.NewTensorID(2, 7), 3)
	require.NoError(t, s.Write(ctx, x, make([]byte, 12)))
	for i, c := range []struct {
		node op.Node
		want string
	}{
		{node(t, op.Slice, op.NewTensorID(2, 20), []op.Desc{x}, op.Ints("start", 2), op.Ints("size", 2), op.Ints("step", -2)),
			"slice in 7/2 out 20/2 f[2] start=[2] size=[2] step=[-2]"},
		{node(t, op.ArgMax, op.NewTensorID(2, 21), []op.Desc{x}, op.Int("axis", 0)), "argmax in 7/2 out 21/2 f[0] axis=0 keep_dims=0"},
		{node(t, op.Sum, op.NewTensorID(2, 22), []op.Desc{x}, op.Ints("axes"), op.Flag("keep_dims", true)),
			"sum in 7/2 out 22/2 f[3] axes=[] keep_dims=1"},
		{node(t, op.Pad, op.NewTensorID(2, 23), []op.Desc{x}, op.Ints("lo", 1), op.Ints("hi", 0), op.ScalarFloat("value", -1.5)),
			"pad in 7/2 out 23/2 f[4] lo=[1] hi=[0] value=-1.5(f)"},
		{node(t, op.Pad, op.NewTensorID(2, 24), []op.Desc{x}, op.Ints("lo", 0), op.Ints("hi", 0), op.ScalarInt("value", -9)),
			"pad in 7/2 out 24/2 f[3] lo=[0] hi=[0] value=-9(i)"},
	} {
		if i == 1 {
			c.node.Drop = 0
		}
		require.NoError(t, s.Submit([]op.Node{c.node}))
		// The backend fails every node, with what it saw as the text.
		err := s.Read(ctx, c.node.Outputs[0].ID, make([]byte, c.node.Outputs[0].Bytes()))
		var ne *core.NodeError
		require.ErrorAs(t, err, &ne)
		require.ErrorIs(t, err, core.ErrOutOfMemory)
		require.Equal(t, c.node.Op.String(), ne.Op)
		require.Equal(t, c.node.Outputs, ne.Outputs)
		require.Equal(t, c.want+": out of memory", ne.Err.Error())
	}
	require.ErrorIs(t, s.Submit([]op.Node{node(t, op.Exp, op.NewTensorID(2, 30), []op.Desc{x})}), core.ErrUnsupported)
	require.NoError(t, s.Close())
	require.NoError(t, b.Close())
}

func TestOpenRefuses(t *testing.T) {
	_, err := shared.Open(filepath.Join(t.TempDir(), "none.so"), core.Config{})
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = shared.Open(object(t, "bad.c", "-DNO_ENTRY"), core.Config{})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "burn_backend_main")
	_, err = shared.Open(object(t, "bad.c", "-DOTHER_ABI"), core.Config{})
	require.ErrorIs(t, err, core.ErrProtocol)
	_, err = shared.Open(object(t, "bad.c", "-DSHORT_TABLE"), core.Config{})
	require.ErrorIs(t, err, core.ErrProtocol)
	_, err = shared.Open(object(t, "bad.c", "-DNO_FUNCTION"), core.Config{})
	require.ErrorContains(t, err, "submit")
	_, err = shared.Open(object(t, "bad.c", "-DNO_DEVICE"), core.Config{})
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorContains(t, err, "no such card")
}

// A shared object that crashes is a failed plugin of burn devices, and a lost backend where it runs as a process.
func TestCrashStaysOutside(t *testing.T) {
	path := object(t, "bad.c", "-DCRASH")
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(envCarry, "1")
	o := host.Options{Dirs: []string{filepath.Dir(path)}, Carrier: []string{self}}
	for _, s := range host.Devices(context.Background(), o) {
		if s.Name == "bad" {
			require.Equal(t, host.Failed, s.State)
			require.Equal(t, host.Shared, s.Transport)
			require.ErrorIs(t, s.Failure, core.ErrBackendLost)
		}
	}
	_, err = host.Open(context.Background(), "process:bad", o)
	var start *client.StartError
	require.ErrorAs(t, err, &start)
	o.Carrier = nil
	_, err = host.Open(context.Background(), "process:bad", o)
	require.ErrorIs(t, err, core.ErrUnsupported)
	for _, s := range host.Devices(context.Background(), o) {
		if s.Name == "bad" {
			require.Equal(t, host.Found, s.State, "without a carrier nothing is opened")
		}
	}
}

// A program without this package, and one with the built-in backend alone, do not link the loader.
func TestOthersDoNotLinkTheLoader(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH")
	}
	deps := func(packages ...string) string {
		out, err := exec.Command(goTool, append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return string(out)
	}
	const module, purego = "github.com/goburn/burn", "github.com/ebitengine/purego"
	require.NotContains(t, deps(module+"/tensor", module+"/plugins/cpu"), purego)
	require.NotContains(t, deps(module+"/host"), purego)
	require.Contains(t, deps(module+"/host/shared"), purego)
}

// One node on one element, submitted in batches: what the way to C costs.
func BenchmarkSubmit(b *testing.B) {
	ctx := context.Background()
	be, err := shared.Open(object(b, "echo.c", "-O2"), core.Config{})
	require.NoError(b, err)
	defer be.Close()
	s, err := be.OpenStream(ctx, 0)
	require.NoError(b, err)
	x := vector(1, 1)
	require.NoError(b, s.Write(ctx, x, make([]byte, 4)))
	const batch = 64
	nodes := make([]op.Node, batch)
	for i := range nodes {
		nodes[i] = node(b, op.Copy, op.TensorID(2+i), []op.Desc{x})
	}
	for i := 1; i < batch; i++ {
		nodes[i].Inputs, nodes[i].Drop = []op.TensorID{op.TensorID(1 + i)}, 1
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		require.NoError(b, s.Submit(nodes))
		require.NoError(b, s.Free([]op.TensorID{batch + 1}))
		require.NoError(b, s.Sync(ctx))
	}
}
