package fakeplugin_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/wire"
)

func TestMain(m *testing.M) {
	fakeplugin.Maybe()
	os.Exit(m.Run())
}

func options(pairs ...string) core.Config {
	c := core.Config{Options: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Options[pairs[i]] = pairs[i+1]
	}
	return c
}

// bed is a device and a stream of the fake backend. last is the id that was used last.
type bed struct {
	*testing.T
	core.Stream
	dev  core.Device
	last op.TensorID
}

func newBed(t *testing.T, c core.Config) *bed {
	b, err := fakeplugin.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	d, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := d.OpenStream(t.Context())
	require.NoError(t, err)
	return &bed{T: t, Stream: s, dev: d}
}

// put writes f32 elements to a new tensor.
func (b *bed) put(dims []int, v ...float32) op.Desc {
	b.last++
	d := op.DescOf(dtype.F32, dims...)
	d.ID = b.last
	var data []byte
	for _, f := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	require.NoError(b, b.Write(b.Context(), d, data))
	return d
}

func (b *bed) node(c op.Code, in []op.Desc, attrs ...op.Attr) op.Node {
	n, err := op.New(c, in, attrs...)
	require.NoError(b, err)
	b.last++
	n.Outputs[0].ID = b.last
	return n
}

func (b *bed) do(c op.Code, in []op.Desc, attrs ...op.Attr) []float32 {
	n := b.node(c, in, attrs...)
	require.NoError(b, b.Submit([]op.Node{n}, nil))
	data := make([]byte, n.Outputs[0].Bytes())
	require.NoError(b, core.Read(b.Context(), b.Stream, n.Outputs[0].ID, data))
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}

func TestComputes(t *testing.T) {
	b := newBed(t, options())
	x := b.put([]int{2, 2}, 1, -2, 3, 0.5)
	require.Equal(t, []float32{-1, 2, -3, -0.5}, b.do(op.Neg, []op.Desc{x}))
	require.Equal(t, []float32{1, -2, 3, 0.5}, b.do(op.Copy, []op.Desc{x}))
	require.Equal(t, []float32{2, -4, 6, 1}, b.do(op.Add, []op.Desc{x, x}))
	require.Equal(t, []float32{11, 8, 13, 10.5}, b.do(op.Add, []op.Desc{x, b.put(nil, 10)}))
	require.Equal(t, []float32{7, 7, 7}, b.do(op.Full, nil, op.ScalarFloat("value", 7), op.Type("dtype", dtype.F32), op.Ints("shape", 3)))
	require.Empty(t, b.do(op.Neg, []op.Desc{b.put([]int{0})}))
}

func TestInfo(t *testing.T) {
	b, err := fakeplugin.New(core.Config{Threads: 3})
	require.NoError(t, err)
	defer b.Close()
	info := b.Info()
	require.Equal(t, "fake", info.Name)
	require.Len(t, info.Devices, 2)
	require.Equal(t, "threads 3", info.Devices[0].Detail)
	d, err := b.Open(t.Context(), 1)
	require.NoError(t, err)
	var names []string
	for name := range d.Capabilities().Ops {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"add", "copy", "full", "neg"}, names)
	require.Equal(t, dtype.SetOf(dtype.F32), d.Capabilities().Types)
}

func TestOpenFaults(t *testing.T) {
	_, err := fakeplugin.New(options("open", "fail"))
	require.ErrorIs(t, err, core.ErrNotFound)
	require.PanicsWithValue(t, "driver fell over", func() { _, _ = fakeplugin.New(options("open", "panic")) })
	b, err := fakeplugin.New(options("hog", "65536"))
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

// The node that panics fails the stream; nodes before it have run.
func TestPanicAtANode(t *testing.T) {
	b := newBed(t, options("panic", "2"))
	x := b.put([]int{1}, 4)
	require.Equal(t, []float32{-4}, b.do(op.Neg, []op.Desc{x}))
	require.NoError(t, b.Submit([]op.Node{b.node(op.Neg, []op.Desc{x})}, nil))
	require.ErrorContains(t, core.Sync(t.Context(), b.Stream), "kernel fell over")
}

// A stream that hangs can be closed, and a wait on it ends with its context.
func TestHangAtANode(t *testing.T) {
	b := newBed(t, options("hang", "1"))
	x := b.put([]int{1}, 4)
	require.NoError(t, b.Submit([]op.Node{b.node(op.Neg, []op.Desc{x})}, nil))
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.ErrorIs(t, core.Sync(ctx, b.Stream), context.DeadlineExceeded)
	require.NoError(t, b.Close())
}

func TestSlow(t *testing.T) {
	const nap = 40 * time.Millisecond
	b := newBed(t, options("slow", nap.String(), "slow_write", nap.String()))
	start := time.Now()
	x := b.put([]int{1}, 4)
	require.GreaterOrEqual(t, time.Since(start), nap)
	start = time.Now()
	b.do(op.Neg, []op.Desc{x})
	b.do(op.Neg, []op.Desc{x})
	require.GreaterOrEqual(t, time.Since(start), 2*nap)
}

// Nodes and writes wait at their gates until they are opened.
func TestGate(t *testing.T) {
	nodes, writes := fakeplugin.NewGate(), fakeplugin.NewGate()
	b := newBed(t, options("gate", nodes.Name(), "gate_write", writes.Name()))
	written := make(chan op.Desc)
	go func() { written <- b.put([]int{1}, 4) }()
	<-writes.Reached()
	select {
	case <-written:
		t.Fatal("written through a gate that is closed")
	default:
	}
	writes.Open()
	x := <-written
	n := b.node(op.Neg, []op.Desc{x})
	require.NoError(t, b.Submit([]op.Node{n}, nil))
	got := make([]byte, 4)
	k := b.Read(n.Outputs[0].ID, got)
	<-nodes.Reached()
	ended, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, core.Sync(ended, b.Stream), core.ErrCanceled)
	nodes.Open()
	nodes.Open()
	require.NoError(t, k.Wait(t.Context()))
	require.EqualValues(t, -4, math.Float32frombits(binary.LittleEndian.Uint32(got)))
}

func TestWriteFails(t *testing.T) {
	b := newBed(t, options("write", "fail"))
	d := op.DescOf(dtype.F32, 1)
	d.ID = 1
	err := b.Write(t.Context(), d, make([]byte, 4))
	if err == nil { // a stream may report the failure later
		err = core.Sync(t.Context(), b.Stream)
	}
	require.ErrorIs(t, err, core.ErrOutOfMemory)
}

func TestExtensions(t *testing.T) {
	has := func(c core.Config) (programs, selective bool) {
		d := newBed(t, c).dev
		_, programs = core.Extension[core.Programs](d)
		_, selective = core.Extension[core.Selective](d)
		return programs, selective
	}
	for _, c := range []struct {
		options             core.Config
		programs, selective bool
	}{{options(), true, false}, {options("plain", "1"), false, false}, {options("selective", "1"), true, true}} {
		programs, selective := has(c.options)
		require.Equal(t, c.programs, programs, c.options.Options)
		require.Equal(t, c.selective, selective, c.options.Options)
	}
	d := newBed(t, options("selective", "1")).dev
	s, _ := core.Extension[core.Selective](d)
	for rank, want := range map[int]error{4: nil, 5: core.ErrUnsupported} {
		x := op.DescOf(dtype.F32, slices.Repeat([]int{1}, rank)...)
		n, err := op.New(op.Neg, []op.Desc{x})
		require.NoError(t, err)
		require.ErrorIs(t, s.Supports(&n, []op.Desc{x}), want, "rank %d", rank)
	}
}

func TestPanicAtASubmit(t *testing.T) {
	b := newBed(t, options("panic_submit", "2"))
	x := b.put([]int{1}, 4)
	b.do(op.Neg, []op.Desc{x})
	require.NoError(t, b.Submit(nil, []op.TensorID{99}), "a submit without nodes does not count")
	require.PanicsWithValue(t, "submit fell over", func() { _ = b.Submit([]op.Node{b.node(op.Neg, []op.Desc{x})}, nil) })
}

// start runs this test binary as a plugin in a mode of fakeplugin until it ends, and returns its outputs and exit code.
func start(t *testing.T, mode string, more ...string) (stdout, stderr string, code int) {
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), fakeplugin.Env+"="+mode, wire.CookieKey+"="+wire.CookieValue), more...)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%s did not end: %v", mode, err)
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// Plugins that exit by themselves leave the error text and the exit code that the host reports.
func TestProcessesThatEnd(t *testing.T) {
	for _, c := range []struct {
		mode, says string
		code       int
	}{
		{fakeplugin.CrashAtStart, "reading the firmware", 2},
		{fakeplugin.MissingLibrary, "libfake.so.9", 127},
		{fakeplugin.ExitQuietly, "", 0},
		{"a typing error", "unknown behaviour a typing error", 9},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := start(t, c.mode)
			require.Empty(t, stdout)
			require.Contains(t, stderr, c.says)
			require.Equal(t, c.code, code)
		})
	}
}

// In mode KilledOnce, the first process creates the mark and is killed; the next one serves.
func TestKilledOnce(t *testing.T) {
	mark := fakeplugin.EnvMark + "=" + t.TempDir() + "/mark"
	_, _, code := start(t, fakeplugin.KilledOnce, mark)
	require.NotZero(t, code)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), fakeplugin.Env+"="+fakeplugin.KilledOnce, wire.CookieKey+"="+wire.CookieValue, mark)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	first := make([]byte, 2)
	_, err = out.Read(first)
	require.NoError(t, err)
	require.Equal(t, "1|", string(first), "the handshake")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}
