package webgpu_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// counter is an adapter that opens a fake for each device, and counts the devices and their pipelines.
type counter struct {
	*fake
	opened, closed, made, released atomic.Int32
	together                       bool
	devices                        []*counted
	busy, most                     atomic.Int32 // pipelines that are made at this moment
}

type counted struct {
	*fake
	c *counter
}

func (c *counter) Facts() webgpu.Facts {
	f := c.facts
	f.Together = c.together
	return f
}

func (c *counter) Open(context.Context) (webgpu.Device, error) {
	c.opened.Add(1)
	d := &counted{newFake(), c}
	c.devices = append(c.devices, d)
	return d, nil
}

func (d *counted) Close() { d.c.closed.Add(1) }

type countedPipeline struct {
	*fakePipeline
	c *counter
}

func (p *countedPipeline) Release() { p.c.released.Add(1) }

func (d *counted) NewPipeline(text, entry string, storage, uniform int) (webgpu.Pipeline, error) {
	n := d.c.busy.Add(1)
	for most := d.c.most.Load(); n > most && !d.c.most.CompareAndSwap(most, n); most = d.c.most.Load() {
	}
	defer d.c.busy.Add(-1)
	p, err := d.fake.NewPipeline(text, entry, storage, uniform)
	if err != nil {
		return nil, err
	}
	d.c.made.Add(1)
	return &countedPipeline{p.(*fakePipeline), d.c}, nil
}

func (d *counted) NewEncoder() (webgpu.Encoder, error) {
	e, err := d.fake.NewEncoder()
	return countedEncoder{e.(*fakeEncoder)}, err
}

// countedEncoder dispatches counted pipelines.
type countedEncoder struct{ *fakeEncoder }

func (e countedEncoder) Dispatch(p webgpu.Pipeline, g webgpu.Group, offset uint32, uniform bool, grid [3]uint32) {
	e.fakeEncoder.Dispatch(p.(*countedPipeline).fakePipeline, g, offset, uniform, grid)
}

func (d *counted) Submit(e webgpu.Encoder, done func(error)) error {
	return d.fake.Submit(e.(countedEncoder).fakeEncoder, done)
}

func driverOf(t *testing.T, a webgpu.Adapter) gpu.Driver {
	t.Helper()
	d, err := webgpu.New(context.Background(), one{a}, webgpu.Options{})
	require.NoError(t, err)
	return d
}

// kernel returns a different kernel for each number.
func kernel(n int) *ir.Kernel {
	b := ir.New(fmt.Sprintf("kernel%d", n), 64)
	y := b.Buffer("y", dtype.I32, ir.Write)
	b.Store(y, b.Thread(), b.Int(n))
	return b.Kernel()
}

// TestIdleDevices checks that the driver keeps a device that was closed without a fault, returns it with its pipelines from the next
// Open, and closes it at the end.
func TestIdleDevices(t *testing.T) {
	c := &counter{fake: newFake()}
	d := driverOf(t, c)
	var made int32
	for round := range 3 {
		dev, err := d.Open(context.Background(), 0)
		require.NoError(t, err)
		if round == 0 {
			made = c.made.Load() // probes
		}
		fs, err := dev.Load(nil, []*ir.Kernel{kernel(1), kernel(2)})
		require.NoError(t, err)
		q := queueOf(t, dev)
		m, err := dev.Alloc(64)
		require.NoError(t, err)
		require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
		require.NoError(t, q.Copy(gpu.Ref{Memory: m, Offset: 1}, gpu.Ref{Memory: m, Offset: 32}, 7))
		got := make([]byte, 64)
		require.NoError(t, q.Download(got, gpu.Ref{Memory: m}))
		require.NoError(t, q.Synchronize())
		require.Equal(t, []byte{1, 1, 0, 0, 0, 1, 0, 0}, got[:8])
		dev.Free(m)
		fs[0].Unload()
		q.Close()
		dev.Close()
		_, err = dev.Alloc(64)
		require.ErrorIs(t, err, core.ErrClosed)
		require.Zero(t, c.devices[0].buffers, "buffers of a device that nobody has open")
	}
	require.EqualValues(t, 1, c.opened.Load())
	require.Zero(t, c.closed.Load())
	probes := c.made.Load() - 4 // two kernels, and those that copy and fill
	require.LessOrEqual(t, made, probes)
	require.NoError(t, d.Close())
	require.EqualValues(t, 1, c.closed.Load())
	require.Equal(t, c.made.Load(), c.released.Load())
	dev, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	dev.Close()
	require.EqualValues(t, 2, c.closed.Load(), "a driver that is closed keeps nothing")
}

// Goroutines that need the same new pipeline at the same time share one: what the others made is released at once, and the rest with the
// device.
func TestSamePipelineTogether(t *testing.T) {
	c := &counter{fake: newFake(), together: true}
	d := driverOf(t, c)
	dev, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	held := func() int { return int(c.made.Load() - c.released.Load()) }
	before := held()
	const rounds, users = 100, 8
	for n := range rounds {
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range users {
			wg.Go(func() {
				<-begin
				fs, err := dev.Load(nil, []*ir.Kernel{kernel(n)})
				if assert.NoError(t, err) {
					fs[0].Unload()
				}
			})
		}
		close(begin)
		wg.Wait()
	}
	require.Equal(t, rounds, held()-before, "pipelines that are held")
	dev.Close()
	require.NoError(t, d.Close())
	require.Equal(t, c.made.Load(), c.released.Load())
}

// TestIdleDevicesAreHealthy checks that a device that was lost, or has unfinished work, is closed and not returned again, and that at
// most two devices are kept.
func TestIdleDevicesAreHealthy(t *testing.T) {
	for name, break_ := range map[string]func(d *counted, q gpu.Queue, m gpu.Memory){
		"lost": func(d *counted, _ gpu.Queue, _ gpu.Memory) { d.lost = fmt.Errorf("gone: %w", core.ErrBackendLost) },
		"busy": func(d *counted, q gpu.Queue, m gpu.Memory) { _ = q.Fill(gpu.Ref{Memory: m}, 64, 1, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &counter{fake: newFake()}
			d := driverOf(t, c)
			dev, err := d.Open(context.Background(), 0)
			require.NoError(t, err)
			m, err := dev.Alloc(64)
			require.NoError(t, err)
			break_(c.devices[0], queueOf(t, dev), m)
			dev.Close()
			require.EqualValues(t, 1, c.closed.Load())
			_, err = d.Open(context.Background(), 0)
			require.NoError(t, err)
			require.EqualValues(t, 2, c.opened.Load())
		})
	}
	t.Run("lost while idle", func(t *testing.T) {
		c := &counter{fake: newFake()}
		d := driverOf(t, c)
		dev, err := d.Open(context.Background(), 0)
		require.NoError(t, err)
		dev.Close()
		c.devices[0].mu.Lock()
		c.devices[0].lost = core.ErrBackendLost
		c.devices[0].mu.Unlock()
		_, err = d.Open(context.Background(), 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, c.opened.Load())
		require.EqualValues(t, 1, c.closed.Load())
	})
	t.Run("many", func(t *testing.T) {
		c := &counter{fake: newFake()}
		d := driverOf(t, c)
		var all []gpu.Device
		for range 4 {
			dev, err := d.Open(context.Background(), 0)
			require.NoError(t, err)
			all = append(all, dev)
		}
		for _, dev := range all {
			dev.Close()
		}
		require.EqualValues(t, 2, c.closed.Load())
		require.NoError(t, d.Close())
		require.EqualValues(t, 4, c.closed.Load())
	})
}

// TestTogether checks that pipelines are created at the same time only if the implementation allows it. A kernel that several goroutines
// load results in one pipeline.
func TestTogether(t *testing.T) {
	for _, together := range []bool{false, true} {
		c := &counter{fake: newFake(), together: together}
		d := driverOf(t, c)
		dev, err := d.Open(context.Background(), 0)
		require.NoError(t, err)
		before := c.made.Load() - c.released.Load()
		var wait sync.WaitGroup
		for i := range 40 {
			wait.Go(func() {
				_, err := dev.Load(nil, []*ir.Kernel{kernel(i % 10)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 10, c.made.Load()-c.released.Load()-before)
		if !together {
			require.EqualValues(t, 1, c.most.Load())
		}
		dev.Close()
		require.NoError(t, d.Close())
		require.Equal(t, c.made.Load(), c.released.Load())
	}
}
