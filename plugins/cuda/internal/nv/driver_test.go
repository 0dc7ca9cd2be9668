package nv

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestDriverDevice(t *testing.T) {
	d, _ := driverStub(t)
	require.Equal(t, 13000, d.Version)
	require.Equal(t, 2, d.Devices)
	dev, err := d.Device(1)
	require.NoError(t, err)
	name, err := d.Name(dev)
	require.NoError(t, err)
	require.Equal(t, "Stub 1 of 255", name)
	n, err := d.Attribute(dev, Multiprocessors)
	require.NoError(t, err)
	require.Equal(t, 1601, n)
	total, err := d.TotalMemory(dev)
	require.NoError(t, err)
	require.Equal(t, uint64(0x123456789a), total)
	ctx, err := d.RetainPrimary(dev)
	require.NoError(t, err)
	require.Equal(t, Context(0xc001), ctx)
	_, err = d.Device(7)
	require.ErrorIs(t, err, ErrNoDevice)
	require.NoError(t, d.EnablePeer(1), "enabled already")
	require.NoError(t, d.EnablePeer(3))
	require.Error(t, d.EnablePeer(2))
}

func TestDriverErrors(t *testing.T) {
	d, s := driverStub(t)
	_, err := d.Alloc(1 << 50)
	require.ErrorIs(t, err, ErrOutOfMemory)
	require.EqualError(t, err, "CUDA driver: cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)")
	err = d.SynchronizeStream(1)
	require.ErrorIs(t, err, ErrFault)
	require.NotErrorIs(t, err, ErrOutOfMemory)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 700, e.Code)
	s.set(2, 700)
	require.ErrorIs(t, d.Launch(0, 0, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, NewArgs(0)), ErrFault)
	done, err := d.EventDone(1)
	require.NoError(t, err)
	require.True(t, done)
	done, err = d.EventDone(2)
	require.NoError(t, err)
	require.False(t, done)
	_, err = d.EventDone(3)
	require.ErrorIs(t, err, ErrFault)
	done, err = d.StreamDone(2)
	require.NoError(t, err)
	require.False(t, done)
}

func TestDriverModule(t *testing.T) {
	d, s := driverStub(t)
	m, err := d.LoadModule([]byte("good"))
	require.NoError(t, err)
	require.Equal(t, Module(0x3000), m)
	_, err = d.LoadModule([]byte("bad"))
	require.ErrorContains(t, err, "ptxas: line 1, room 8191")
	_, err = d.LoadModule(nil)
	require.Error(t, err)
	_, err = d.Function(m, "absent")
	require.ErrorContains(t, err, ": absent")
	require.Equal(t, "function absent\n", s.record())
}

func TestDriverMemory(t *testing.T) {
	d, s := driverStub(t)
	p, err := d.Alloc(256)
	require.NoError(t, err)
	require.Equal(t, Ptr(0x7f0000000100), p)
	up, down := []byte{9, 8}, []byte{0, 0}
	require.NoError(t, errors.Join(d.CopyToDevice(p, unsafe.Pointer(&up[0]), 2, 7), d.CopyToHost(unsafe.Pointer(&down[0]), p, 1<<33, 7), d.Copy(p, p+16, 5, 7), d.CopyPeer(1, 2, 3, 4, 5, 6),
		d.Set8(p, 200, 1<<33, 7), d.Set16(p, 60000, 3, 7), d.Set32(p, 1<<31, 4, 7)))
	require.Equal(t, byte(42), down[0])
	require.Equal(t, `up 7f0000000100 first=9 n=2 stream=7
down 7f0000000100 n=8589934592 stream=7
copy 7f0000000100 from 7f0000000110 n=5 stream=7
peer 1 ctx 2 from 3 ctx 4 n=5 stream=6
set8 7f0000000100=200 n=8589934592 stream=7
set16 7f0000000100=60000 n=3 stream=7
set32 7f0000000100=2147483648 n=4 stream=7
`, s.record())
	info, err := d.Pointer(0x1005)
	require.NoError(t, err)
	require.Equal(t, PointerInfo{Kind: MemoryDevice, Ordinal: 1, Start: 0x1000, Size: 4096}, info)
}

func TestDriverPools(t *testing.T) {
	d, s := driverStub(t)
	pool, err := d.NewPool(1, 1<<34)
	require.NoError(t, err)
	p, err := d.AllocAsync(100, pool, 7)
	require.NoError(t, err)
	require.Equal(t, Ptr(0xa0), p)
	require.NoError(t, errors.Join(d.SetPool(pool, PoolThreshold, 1<<40), d.SharePool(pool, 3, true), d.SharePool(pool, 3, false)))
	require.Equal(t, `pool alloc=1 handles=0 location=1 id=1 max=17179869184 usage=0 zero=1
alloc 100 pool=b000 stream=7
pool set 4=1099511627776
pool access location=1 id=3 flags=3 n=1
pool access location=1 id=3 flags=0 n=1
`, s.record())
}

func TestDriverStreams(t *testing.T) {
	d, s := driverStub(t)
	_, err := d.NewStream(-5)
	require.NoError(t, err)
	for _, f := range [][2]bool{{true, false}, {false, false}, {false, true}} {
		_, err = d.NewEvent(f[0], f[1])
		require.NoError(t, err)
	}
	require.NoError(t, d.BeginCapture(7))
	require.Equal(t, "stream flags=1 priority=-5\nevent flags=0\nevent flags=2\nevent flags=3\ncapture 7 mode=1\n", s.record())
}

func TestLaunch(t *testing.T) {
	d, s := driverStub(t)
	a := NewArgs(5)
	a.SetPtr(0, 0x7f0000000100)
	a.SetInt(1, -2)
	a.SetFloat32(2, 1)
	a.SetFloat64(3, 1)
	a.SetStruct(4, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	require.NoError(t, d.Launch(0x55, 5, Dim{X: 4e9, Y: 2, Z: 3}, Dim{X: 4, Y: 5, Z: 6}, 1<<16, a))
	require.Equal(t, "launch 4000000000 2 3, 4 5 6, shared=65536 stream=55 extra=0: 7f0000000100 fffffffffffffffe 3f800000 3ff0000000000000 807060504030201\n", s.record())
	require.NoError(t, d.Launch(0x55, 0, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, NewArgs(0)))
	require.Equal(t, "launch 1 1 1, 1 1 1, shared=0 stream=55 extra=0:\n", s.record())
	b := NewArgs(1)
	b.SetBits(0, 0xfeed)
	require.NoError(t, d.LaunchEx(0x55, 1, Dim{X: 8, Y: 2, Z: 3}, Dim{X: 4, Y: 5, Z: 6}, 70, b, LaunchOptions{Cluster: Dim{X: 4}, Overlap: true, Cooperative: true}))
	require.NoError(t, d.LaunchEx(0x55, 1, Dim{X: 8, Y: 2, Z: 3}, Dim{X: 4, Y: 5, Z: 6}, 70, b, LaunchOptions{}))
	require.Equal(t, `launch ex 8 2 3, 4 5 6, shared=70 stream=55 [4: 4 1 1] [6: 1 0 0] [2: 1 0 0]: feed
launch ex 8 2 3, 4 5 6, shared=70 stream=55: feed
`, s.record())
}

func TestGraph(t *testing.T) {
	d, s := driverStub(t)
	g, err := d.NewGraph()
	require.NoError(t, err)
	a := NewArgs(2)
	a.SetPtr(0, 0xabc)
	a.SetInt(1, 5)
	n, err := d.AddKernel(g, []Node{1, 2, 3}, 2, Dim{X: 1, Y: 2, Z: 3}, Dim{X: 4, Y: 5, Z: 6}, 99, a)
	require.NoError(t, err)
	require.Equal(t, Node(0x6103), n)
	_, err = d.AddKernel(g, nil, 2, Dim{X: 1, Y: 2, Z: 3}, Dim{X: 4, Y: 5, Z: 6}, 99, a)
	require.NoError(t, err)
	c, err := d.AddCopy(g, []Node{n}, 0x100, 0x200, 1<<33, 0xc0)
	require.NoError(t, err)
	f, err := d.AddSet(g, []Node{n, c}, 0x300, 77, 2, 1<<20, 0xc0)
	require.NoError(t, err)
	_, err = d.AddChild(g, nil, 0x6001)
	require.NoError(t, err)
	e, err := d.Instantiate(g)
	require.NoError(t, err)
	a.SetPtr(0, 0xdef)
	require.NoError(t, errors.Join(d.SetKernel(e, n, 2, Dim{X: 6, Y: 5, Z: 4}, Dim{X: 3, Y: 2, Z: 1}, 98, a), d.SetCopy(e, c, 0x400, 0x500, 6, 0xc0), d.SetSet(e, f, 0x600, 7, 4, 8, 0xc0)))
	nodes, err := d.Nodes(g)
	require.NoError(t, err)
	require.Equal(t, []Node{0x70, 0x71, 0x72}, nodes)
	require.Equal(t, `graph 0
kernel node in 6000 after 1 2 3 1 2 3, 4 5 6, shared=99 extra=0 kern=0 ctx=0: abc 5
kernel node in 6000 after 1 2 3, 4 5 6, shared=99 extra=0 kern=0 ctx=0: abc 5
copy node after 6103 kinds 2 2, 100 from 200, 8589934592 x 1 x 1, ctx=c0
set node after 6103 6200 300=77 pitch=0 size=2, 1048576 x 1, ctx=c0
child node after 6001
instantiate 6000 flags=0
set kernel 6103 in 8000 6 5 4, 3 2 1, shared=98 extra=0 kern=0 ctx=0: def 5
set copy 6200 kinds 2 2, 400 from 500, 6 x 1 x 1, ctx=c0
set set 6300 600=7 pitch=0 size=4, 8 x 1, ctx=c0
`, s.record())
}

// TestCallsDoNotAllocate checks that the calls of every launch allocate no Go memory.
func TestCallsDoNotAllocate(t *testing.T) {
	d, s := driverStub(t)
	s.set(3, 1)
	a := NewArgs(3)
	b := make([]byte, 8)
	for name, call := range map[string]func() error{
		"launch": func() error { return d.Launch(1, 3, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, a) },
		"launch ex": func() error {
			return d.LaunchEx(1, 3, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, a, LaunchOptions{Cluster: Dim{X: 2, Y: 1, Z: 1}})
		},
		"copy":       func() error { return d.Copy(1, 2, 3, 4) },
		"upload":     func() error { return d.CopyToDevice(1, unsafe.Pointer(&b[0]), 8, 2) },
		"fill":       func() error { return d.Set32(1, 2, 3, 4) },
		"record":     func() error { return d.Record(1, 2) },
		"query":      func() error { _, err := d.EventDone(2); return err },
		"wait":       func() error { return d.WaitEvent(1, 2) },
		"set kernel": func() error { return d.SetKernel(1, 2, 3, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, a) },
		"graph":      func() error { return d.LaunchGraph(1, 2) },
		"current":    func() error { return d.SetCurrent(1) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				panic(err)
			}
		}), name)
		s.record()
	}
}
