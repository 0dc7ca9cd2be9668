package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// hooks is a driver whose device calls functions of the test.
type hooks struct {
	*driver
	upload      func() error                         // before an upload; an error fails it
	plan        func(consts []engine.Const[*buffer]) // while a program is compiled
	closeDevice func()
	closeDriver func()
}

func (h *hooks) Open(ctx context.Context, i int) (engine.Device[*buffer], error) {
	d, err := h.driver.Open(ctx, i)
	return hooked{d.(*device), h}, err
}

func (h *hooks) Close() error {
	if h.closeDriver != nil {
		h.closeDriver()
	}
	return nil
}

type hooked struct {
	*device
	h *hooks
}

func (d hooked) Upload(desc op.Desc, data []byte) (*buffer, error) {
	if d.h.upload != nil {
		if err := d.h.upload(); err != nil {
			return nil, err
		}
	}
	return d.device.Upload(desc, data)
}

func (d hooked) Close() {
	if d.h.closeDevice != nil {
		d.h.closeDevice()
	}
	d.device.Close()
}

// Plan keeps the constants, as a compiled program does.
func (d hooked) Plan(_ context.Context, _ engine.Queue[*buffer], _ *program.Program, consts []engine.Const[*buffer]) (engine.Plan[*buffer], error) {
	if d.h.plan == nil {
		return nil, core.ErrUnsupported
	}
	var p keeping
	for _, c := range consts {
		p = append(p, c.Retain())
	}
	d.h.plan(consts)
	return p, nil
}

type keeping []func()

func (keeping) Run(engine.Queue[*buffer], []*buffer, []bool, []*buffer) error { return core.ErrKernel }

func (k keeping) Close() {
	for _, release := range k {
		release()
	}
}

func openHooked(t *testing.T, h *hooks) *rig {
	b := engine.New[*buffer](h)
	dev, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := dev.OpenStream(t.Context())
	require.NoError(t, err)
	return &rig{t, h.driver, b, dev, s}
}

// within fails the test if f does not return.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		buf := make([]byte, 1<<16)
		t.Fatalf("%s does not return\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}

// TestCloseFreesWhatABatchDrops closes a stream while the first node of a batch computes. The nodes that will not run would have
// dropped tensors, which nobody can free afterwards.
func TestCloseFreesWhatABatchDrops(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	r := open(t, &driver{execute: func(c *engine.Call[*buffer]) {
		if c.Node.Op == op.Abs {
			close(begun)
			<-release
		}
	}})
	stats, _ := core.Extension[core.MemoryStats](r.dev)
	x, y, z := r.put(1, 2), r.put(3, 4), r.put(5, 6)
	require.NoError(t, core.Sync(t.Context(), r.stream))
	s, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Submit([]op.Node{r.node(op.Abs, 1, x), r.node(op.Neg, 1, y), r.node(op.Add, 1, z, z)}, nil))
	<-begun
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for s.Submit(nil, nil) == nil { // until the stream is being closed
		runtime.Gosched()
	}
	close(release)
	require.NoError(t, <-closed)
	require.EqualValues(t, 1, stats.Memory().Tensors, "the result of the node that ran")
	r.closed()
}

// TestWriteOnAClosingStream closes the stream of a write for which there is no memory at first.
func TestWriteOnAClosingStream(t *testing.T) {
	h := &hooks{driver: new(driver)}
	r := openHooked(t, h)
	h.upload = func() error {
		require.NoError(t, r.stream.Close())
		return fmt.Errorf("full: %w", core.ErrOutOfMemory)
	}
	_, err := r.write(r.stream, 1, 2)
	require.ErrorIs(t, err, core.ErrClosed)
	h.upload = nil
	r.closed()
}

// TestDefineWhileClosing closes the device while it compiles a program that keeps a constant.
func TestDefineWhileClosing(t *testing.T) {
	h := &hooks{driver: new(driver)}
	r := openHooked(t, h)
	programs, _ := core.Extension[core.Programs](r.dev)
	k := r.put(1, 2)
	closed := make(chan error, 1)
	h.plan = func([]engine.Const[*buffer]) {
		go func() { closed <- r.dev.Close() }()
		for {
			if _, err := r.dev.OpenStream(context.Background()); errors.Is(err, core.ErrClosed) {
				return
			}
			runtime.Gosched()
		}
	}
	c := vector(2, 2)
	p := &program.Program{Name: "constant", Consts: []op.Desc{c}, Outputs: []op.TensorID{c.ID}}
	within(t, "Define or Close", func() {
		_, err := programs.Define(context.Background(), r.stream, p, []op.TensorID{k.ID})
		require.ErrorIs(t, err, core.ErrClosed)
		require.NoError(t, <-closed)
	})
	r.closed()
}

// TestBackendWaitsForDevices closes a backend while another goroutine closes its device: the driver is closed last.
func TestBackendWaitsForDevices(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	var open, early atomic.Bool
	open.Store(true)
	h := &hooks{driver: new(driver)}
	h.closeDevice = func() {
		close(begun)
		<-release
		open.Store(false)
	}
	h.closeDriver = func() { early.Store(open.Load()) }
	r := openHooked(t, h)
	device, backend := make(chan error, 1), make(chan error, 1)
	go func() { device <- r.dev.Close() }()
	<-begun
	go func() { backend <- r.back.Close() }()
	time.Sleep(20 * time.Millisecond)
	close(release)
	require.NoError(t, <-device)
	require.NoError(t, <-backend)
	require.False(t, early.Load(), "the driver was closed before its device")
	r.closed()
}

// groupOfTwo opens two devices of a backend and joins them in a group.
func groupOfTwo(t *testing.T, d *driver) (rigs [2]*rig, groups [2]core.Group) {
	b := engineOf(d)
	for i := range rigs {
		dev, err := b.Open(t.Context(), 0)
		require.NoError(t, err)
		s, err := dev.OpenStream(t.Context())
		require.NoError(t, err)
		rigs[i] = &rig{t, d, b, dev, s}
	}
	parallel(t, 2, func(i int) (err error) {
		c, _ := core.Extension[core.Collectives](rigs[i].dev)
		groups[i], err = c.Join(context.Background(), t.Name(), i, 2)
		return err
	})
	return rigs, groups
}

// TestGroupOfAClosedStream checks that a rank whose stream is closed before its round ends the group, so that the other rank does not wait
// for it.
func TestGroupOfAClosedStream(t *testing.T) {
	for _, when := range []string{"before the round is asked for", "before the round begins"} {
		t.Run(when, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			d := &driver{execute: func(c *engine.Call[*buffer]) {
				if c.Node.Op == op.Abs {
					close(begun)
					<-release
				}
			}}
			rigs, groups := groupOfTwo(t, d)
			x := [2]op.Desc{rigs[0].put(1), rigs[1].put(2)}
			sum := [2]op.Desc{vector(rigs[0].dev.NewIDs(1), 1), vector(rigs[1].dev.NewIDs(1), 1)}
			gone := rigs[0].stream
			if when == "before the round is asked for" {
				require.NoError(t, gone.Close())
				require.ErrorIs(t, groups[0].AllReduce(gone, core.ReduceSum, x[0].ID, sum[0]), core.ErrClosed)
				require.NoError(t, groups[0].Close())
			} else {
				rigs[0].do(op.Abs, 0, x[0])
				<-begun
				require.NoError(t, groups[0].AllReduce(gone, core.ReduceSum, x[0].ID, sum[0]))
				closed := make(chan error)
				go func() { closed <- gone.Close() }()
				for gone.Submit(nil, nil) == nil {
					runtime.Gosched()
				}
				close(release)
				require.NoError(t, <-closed)
			}
			require.NoError(t, groups[1].AllReduce(rigs[1].stream, core.ReduceSum, x[1].ID, sum[1]))
			within(t, "the read of the other rank", func() {
				_, err := values(rigs[1].stream, sum[1])
				require.ErrorIs(t, err, core.ErrClosed)
			})
			require.NoError(t, rigs[0].back.Close())
			require.Zero(t, d.live.Load())
		})
	}
}
