package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// TestCallErrors checks that the driver calls of this build (see callsBy) return the errors of package nv, which callers distinguish.
func TestCallErrors(t *testing.T) {
	m := newMachine(t)
	for _, c := range []calls{m.driver.cuda, m.driver.libs.Driver} {
		s, err := c.NewStream(0)
		require.NoError(t, err)
		e, err := c.NewEvent(false, false)
		require.NoError(t, err)
		done, err := c.EventDone(e)
		require.NoError(t, err)
		require.True(t, done)
		require.NoError(t, c.Record(e, s))
		_, err = c.LoadModule(nil)
		require.ErrorContains(t, err, "no image")
		_, err = c.Alloc(1 << 62)
		require.ErrorIs(t, err, nv.ErrOutOfMemory)
		require.NoError(t, c.DestroyEvent(e))
		require.NoError(t, c.DestroyStream(s))
	}
}

// BenchmarkLaunch measures the host's time to launch an empty kernel on a real device. It synchronizes so often that the queue does not fill.
func BenchmarkLaunch(b *testing.B) {
	libs := libraries()
	d, err := newDriver(libs, "")
	if err != nil {
		b.Skipf("no device to launch on: %v", err)
	}
	x, err := d.open(0)
	require.NoError(b, err)
	code, err := x.compiler.compile("extern \"C\" __global__ void nothing(int *a, int *b, int *c, int n) {}")
	require.NoError(b, err)
	require.NoError(b, x.Enter())
	defer streams.Leave()
	m, err := d.cuda.LoadModule(code)
	require.NoError(b, err)
	f, err := d.cuda.Function(m, "nothing")
	require.NoError(b, err)
	s, err := d.cuda.NewStream(0)
	require.NoError(b, err)
	a, one := nv.NewArgs(4), nv.Dim{X: 1, Y: 1, Z: 1}
	b.Run(callsBy, func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := d.cuda.Launch(s, f, one, one, 0, a); err != nil {
				b.Fatal(err)
			}
			if n++; n%500 == 0 {
				b.StopTimer()
				require.NoError(b, libs.Driver.SynchronizeStream(s))
				b.StartTimer()
			}
		}
	})
}
