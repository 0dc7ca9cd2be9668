package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// last returns the last adapter of the library BURN_WGPU_LIBRARY, which is the processor if it has such a driver. Without a library it skips the test.
func last(t *testing.T) webgpu.Adapter {
	t.Helper()
	path := os.Getenv("BURN_WGPU_LIBRARY")
	if path == "" {
		t.Skip("needs wgpu-native in BURN_WGPU_LIBRARY, run make wgpu")
	}
	api, err := Open([]string{path})
	require.NoError(t, err)
	all, err := api.Adapters(context.Background())
	require.NoError(t, err)
	return all[len(all)-1]
}

// opened returns a device, which is closed after the test.
func opened(t *testing.T) *device {
	t.Helper()
	d, err := last(t).Open(context.Background())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d.(*device)
}

// text returns a kernel that adds n to the words of a buffer; more is the rest of its body.
func text(n int, more string) string {
	return fmt.Sprintf(`@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) at: vec3<u32>) { words[at.x] = words[at.x] + %du; %s }
`, n, more)
}

// ended polls until done was called.
func ended(t *testing.T, d *device, begin func(done func(error)) error) {
	t.Helper()
	done := make(chan error, 1)
	require.NoError(t, begin(func(err error) { done <- err }))
	for limit := time.Now().Add(time.Minute); ; d.Poll() {
		select {
		case err := <-done:
			require.NoError(t, err)
			return
		default:
			require.True(t, time.Now().Before(limit), "nothing is done in a minute")
		}
	}
}

// words returns the contents of a buffer of 64 words.
func words(t *testing.T, d *device, b webgpu.Buffer) []uint32 {
	t.Helper()
	back, err := d.NewBuffer(256, webgpu.Readback)
	require.NoError(t, err)
	defer back.Destroy()
	e, err := d.NewEncoder()
	require.NoError(t, err)
	e.Copy(back, 0, b, 0, 256)
	ended(t, d, func(done func(error)) error { return d.Submit(e, done) })
	ended(t, d, func(done func(error)) error { return d.Map(back, done) })
	bytes := make([]byte, 256)
	require.NoError(t, back.Read(bytes, 0))
	out := make([]uint32, 64)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	return out
}

// TestPipelinesTogether creates kernels from several goroutines at once. Each caller gets its own kernel, and a text that the compiler refuses
// is an error of its own caller alone.
func TestPipelinesTogether(t *testing.T) {
	d := opened(t)
	const n = 24
	var all [n]webgpu.Pipeline
	var errs [n]error
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			more := ""
			if i%5 == 3 {
				more = "let x: u32 = 1.5;"
			}
			all[i], errs[i] = d.NewPipeline(text(i+1, more), "add", 1, 0)
		})
	}
	wait.Wait()
	b, err := d.NewBuffer(256, webgpu.Storage)
	require.NoError(t, err)
	defer b.Destroy()
	require.NoError(t, d.Write(b, 0, make([]byte, 256)))
	e, err := d.NewEncoder()
	require.NoError(t, err)
	sum := uint32(0)
	for i, p := range all {
		if i%5 == 3 {
			require.ErrorIs(t, errs[i], core.ErrKernel)
			require.Nil(t, p)
			continue
		}
		require.NoError(t, errs[i])
		g, err := d.NewGroup(p, []webgpu.Binding{{Buffer: b, Size: 256}})
		require.NoError(t, err)
		defer p.Release()
		defer g.Release()
		e.Dispatch(p, g, 0, false, [3]uint32{1, 1, 1})
		sum += uint32(i + 1)
	}
	ended(t, d, func(done func(error)) error { return d.Submit(e, done) })
	for _, w := range words(t, d, b) {
		require.Equal(t, sum, w)
	}
}

// TestFaults checks that an error of the library is returned by the call that caused it, and that the device remains usable.
func TestFaults(t *testing.T) {
	d := opened(t)
	_, err := d.NewPipeline("fn add() { nonsense }", "add", 1, 0)
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "kernel add")
	_, err = d.NewPipeline(text(1, ""), "other", 1, 0)
	require.ErrorIs(t, err, core.ErrKernel, "an entry point that is not there")
	_, err = d.NewBuffer(1<<50, webgpu.Storage)
	require.Error(t, err)
	p, err := d.NewPipeline(text(1, ""), "add", 1, 0)
	require.NoError(t, err)
	b, err := d.NewBuffer(256, webgpu.Storage)
	require.NoError(t, err)
	_, err = d.NewGroup(p, []webgpu.Binding{{Buffer: b, Offset: 4, Size: 64}})
	require.ErrorIs(t, err, core.ErrKernel, "an offset that is not aligned")
	e, err := d.NewEncoder()
	require.NoError(t, err)
	e.Copy(b, 0, b, 0, 1024)
	require.ErrorIs(t, d.Submit(e, func(error) { t.Error("a submission that was refused is done") }), core.ErrKernel)
	e, err = d.NewEncoder()
	require.NoError(t, err)
	e.Drop()
	require.NoError(t, d.Lost())
	require.NoError(t, d.Write(b, 0, make([]byte, 256)))
	require.Equal(t, make([]uint32, 64), words(t, d, b))
}

// TestCloseAndOpen checks that a closed device may be polled, and that another can be opened.
func TestCloseAndOpen(t *testing.T) {
	a := last(t)
	for range 3 {
		d, err := a.Open(context.Background())
		require.NoError(t, err)
		d.Close()
		d.Poll()
		require.NoError(t, d.Lost())
	}
}

// TestFacts checks that an adapter has a name, a backend, the version of the library and consistent limits.
func TestFacts(t *testing.T) {
	d := opened(t)
	require.NotEmpty(t, d.version)
	all, err := d.Adapters(context.Background())
	require.NoError(t, err)
	for _, a := range all {
		f := a.Facts()
		require.NotEmpty(t, f.Name)
		require.NotEmpty(t, f.Backend)
		require.Contains(t, f.Version, fmt.Sprintf("wgpu-native %d.", Version))
		l := f.Limits
		require.GreaterOrEqual(t, l.StorageBuffers, 8)
		require.GreaterOrEqual(t, l.WorkgroupStorage, 16<<10)
		require.Zero(t, l.StorageAlignment&(l.StorageAlignment-1))
		require.LessOrEqual(t, l.StorageBinding, l.BufferSize)
	}
}
