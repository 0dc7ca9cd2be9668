package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unsafe"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

func (b *bench) driverChecks() {
	d := b.d
	b.check("device", func() (string, error) {
		name, err := d.Name(b.dev)
		if err != nil {
			return "", err
		}
		id, err := d.UUID(b.dev)
		if err != nil {
			return "", err
		}
		total, err := d.TotalMemory(b.dev)
		if err != nil {
			return "", err
		}
		var n [5]int
		for i, a := range []nv.Attribute{nv.Multiprocessors, nv.MaxSharedPerBlockOptin, nv.L2CacheSize, nv.WarpSize, nv.MemoryPoolsSupported} {
			if n[i], err = d.Attribute(b.dev, a); err != nil {
				return "", err
			}
		}
		if n[3] != 32 || n[0] < 1 || total < 1<<30 {
			return "", fmt.Errorf("attributes %v, memory %d", n, total)
		}
		return fmt.Sprintf("%s, %x, sm_%d, %d SMs, %.1f GiB, shared %d, L2 %d, pools %d", name, id[:4], b.sm, n[0], float64(total)/(1<<30), n[1], n[2], n[4]), nil
	})
	b.check("device/ordinal out of range", func() (string, error) {
		_, err := d.Device(1000)
		return expect(err, nv.ErrNoDevice)
	})
	b.check("context", func() (string, error) {
		got, err := d.Current()
		if err != nil || got != b.ctx {
			return "", fmt.Errorf("current is %v, want %v: %v", got, b.ctx, err)
		}
		stack, err := d.Limit(nv.StackSize)
		if err != nil {
			return "", err
		}
		if err := d.SetLimit(nv.StackSize, 2048); err != nil {
			return "", err
		}
		if now, err := d.Limit(nv.StackSize); err != nil || now < 2048 {
			return "", fmt.Errorf("stack %d after 2048 was set: %v", now, err)
		}
		free, total, err := d.MemoryInfo()
		if err == nil && (free == 0 || free > total) {
			err = fmt.Errorf("memory %d of %d", free, total)
		}
		return fmt.Sprintf("stack %d, free %.1f of %.1f GiB", stack, float64(free)/(1<<30), float64(total)/(1<<30)), errors.Join(err, d.SetLimit(nv.StackSize, stack))
	})
	b.check("nvrtc", func() (string, error) {
		n := b.libs.NVRTC
		if n == nil {
			return "", skip("no NVRTC")
		}
		archs, err := n.Architectures()
		if err != nil {
			return "", err
		}
		_, _, err = n.Compile("wrong.cu", "extern \"C\" __global__ void f() { undeclared(); }", b.arch())
		var c *nv.CompileError
		if !errors.As(err, &c) || !strings.Contains(c.Log, "undeclared") {
			return "", fmt.Errorf("a wrong program: %v", err)
		}
		ptx, _, err := n.Compile("right.cu", "extern \"C\" __global__ void f() {}", "compute_80")
		if err != nil {
			return "", err
		}
		m, err := d.LoadModule(ptx)
		if err != nil {
			return "", fmt.Errorf("PTX: %w", err)
		}
		start := time.Now()
		if _, _, err := n.Compile("again.cu", kernels, b.arch()); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d.%d, %v, %v for %d lines", n.Major, n.Minor, archs, time.Since(start).Round(time.Millisecond), strings.Count(kernels, "\n")), d.UnloadModule(m)
	})
	b.check("module", func() (string, error) {
		f, err := b.function("reverse")
		if err != nil {
			return "", err
		}
		regs, err := d.FuncAttribute(f, nv.FuncRegisters)
		if err != nil {
			return "", err
		}
		blocks, err := d.Occupancy(f, 256, 1024)
		if err != nil {
			return "", err
		}
		if _, err := d.Function(b.module, "absent"); err == nil || !strings.Contains(err.Error(), "absent") {
			return "", fmt.Errorf("a kernel that is absent: %v", err)
		}
		if _, err := d.LoadModule([]byte(".version 8.0 this is no PTX")); err == nil {
			return "", errors.New("bad PTX was loaded")
		}
		at, size, err := d.Global(b.module, "counter")
		if err != nil {
			return "", err
		}
		v, err := download[int32](b, at, 1)
		if err == nil && (size != 4 || v[0] != 7) {
			err = fmt.Errorf("counter has %d bytes and is %d", size, v[0])
		}
		return fmt.Sprintf("%d registers, %d blocks an SM", regs, blocks), err
	})
	b.check("launch/saxpy", func() (string, error) { return b.saxpy(1_000_003) })
	b.check("launch/argument types", func() (string, error) {
		f, err := b.function("mixed")
		if err != nil {
			return "", err
		}
		out, err := b.alloc(48)
		if err != nil {
			return "", err
		}
		a := nv.NewArgs(7)
		a.SetInt(0, 200)
		a.SetInt(1, -300)
		a.SetInt(2, -70000)
		a.SetInt(3, 1<<40)
		a.SetFloat32(4, 0.5)
		a.SetFloat64(5, -0.25)
		a.SetPtr(6, out)
		if err := d.Launch(b.s, f, nv.Dim{X: 1, Y: 1, Z: 1}, nv.Dim{X: 1, Y: 1, Z: 1}, 0, a); err != nil {
			return "", err
		}
		got, err := download[float64](b, out, 6)
		if err != nil {
			return "", err
		}
		if _, err := near(got, []float64{200, -300, -70000, 1 << 40, 0.5, -0.25}, 0); err != nil {
			return "", err
		}
		if f, err = b.function("by_value"); err != nil {
			return "", err
		}
		w := &struct {
			n [12]int32
			d float64
		}{d: 0.5}
		for i := range w.n {
			w.n[i] = int32(i)
		}
		a = nv.NewArgs(2)
		a.SetStruct(0, unsafe.Slice((*byte)(unsafe.Pointer(w)), unsafe.Sizeof(*w)))
		a.SetPtr(1, out)
		if err := d.Launch(b.s, f, nv.Dim{X: 1, Y: 1, Z: 1}, nv.Dim{X: 1, Y: 1, Z: 1}, 0, a); err != nil {
			return "", err
		}
		if got, err = download[float64](b, out, 1); err != nil {
			return "", err
		}
		return near(got, []float64{66.5}, 0)
	})
	b.check("launch/large shared memory", func() (string, error) {
		f, err := b.function("reverse")
		if err != nil {
			return "", err
		}
		const n = 24_000 // 96,000 bytes
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(i)
		}
		from, err := upload(b, x)
		if err != nil {
			return "", err
		}
		to, err := b.alloc(4 * n)
		if err != nil {
			return "", err
		}
		a := nv.NewArgs(3)
		a.SetPtr(0, from)
		a.SetPtr(1, to)
		a.SetInt(2, n)
		one, block := nv.Dim{X: 1, Y: 1, Z: 1}, nv.Dim{X: 256, Y: 1, Z: 1}
		if err := d.Launch(b.s, f, one, block, 4*n, a); err == nil {
			return "", errors.New("96,000 bytes were given without the attribute")
		}
		if err := d.SetFuncAttribute(f, nv.FuncMaxDynamicShared, 4*n); err != nil {
			return "", err
		}
		if err := d.Launch(b.s, f, one, block, 4*n, a); err != nil {
			return "", err
		}
		y, err := download[int32](b, to, n)
		if err != nil {
			return "", err
		}
		for i := range y {
			if y[i] != int32(n-1-i) {
				return "", fmt.Errorf("element %d is %d", i, y[i])
			}
		}
		return "96,000 bytes", nil
	})
	b.check("launch/cluster, overlap, cooperative", b.launchEx)
	b.check("streams and events", b.streams)
}

// expect returns the text of err if err wraps kind, and an error otherwise.
func expect(err, kind error) (string, error) {
	if !errors.Is(err, kind) {
		return "", fmt.Errorf("got %v, want %v", err, kind)
	}
	return err.Error(), nil
}

func (b *bench) saxpy(n int) (string, error) {
	f, err := b.function("saxpy")
	if err != nil {
		return "", err
	}
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float32, n), make([]float32, n)
	want := make([]float64, n)
	for i := range x {
		x[i], y[i] = float32(r.IntN(1000)), float32(r.IntN(1000))
		want[i] = 2.5*float64(x[i]) + float64(y[i])
	}
	px, err := upload(b, x)
	if err != nil {
		return "", err
	}
	py, err := upload(b, y)
	if err != nil {
		return "", err
	}
	pz, err := b.alloc(4 * n)
	if err != nil {
		return "", err
	}
	a := nv.NewArgs(5)
	a.SetFloat32(0, 2.5)
	a.SetPtr(1, px)
	a.SetPtr(2, py)
	a.SetPtr(3, pz)
	a.SetInt(4, int64(n))
	if err := b.d.Launch(b.s, f, nv.Dim{X: uint32(n+255) / 256, Y: 1, Z: 1}, nv.Dim{X: 256, Y: 1, Z: 1}, 0, a); err != nil {
		return "", err
	}
	z, err := download[uint32](b, pz, n)
	if err != nil {
		return "", err
	}
	got := make([]float64, n)
	for i, u := range z {
		got[i] = f32.decode(u)
	}
	return near(got, want, 0)
}

func (b *bench) launchEx() (string, error) {
	d := b.d
	f, err := b.function("cluster_size")
	if err != nil {
		return "", err
	}
	if b.sm < 90 {
		return "", skip("clusters need compute capability 9.0")
	}
	out, err := b.alloc(4 * 64)
	if err != nil {
		return "", err
	}
	a := nv.NewArgs(1)
	a.SetPtr(0, out)
	block := nv.Dim{X: 32, Y: 1, Z: 1}
	if err := d.LaunchEx(b.s, f, nv.Dim{X: 16, Y: 1, Z: 1}, block, 0, a, nv.LaunchOptions{Cluster: nv.Dim{X: 4, Y: 1, Z: 1}}); err != nil {
		return "", err
	}
	got, err := download[uint32](b, out, 16)
	if err != nil {
		return "", err
	}
	for i, v := range got {
		if v != 400+uint32(i%4) {
			return "", fmt.Errorf("block %d sees %d, want %d", i, v, 400+i%4)
		}
	}
	if err := d.LaunchEx(b.s, f, nv.Dim{X: 8, Y: 1, Z: 1}, block, 0, a, nv.LaunchOptions{Cooperative: true}); err != nil {
		return "", fmt.Errorf("cooperative: %w", err)
	}
	if err := d.LaunchEx(b.s, f, nv.Dim{X: 8, Y: 1, Z: 1}, block, 0, a, nv.LaunchOptions{}); err != nil {
		return "", fmt.Errorf("no option: %w", err)
	}
	one, err := b.function("add_one")
	if err != nil {
		return "", err
	}
	after, err := b.function("after")
	if err != nil {
		return "", err
	}
	if err := d.Set32(out, 20, 64, b.s); err != nil {
		return "", err
	}
	b2 := nv.NewArgs(2)
	b2.SetPtr(0, out)
	b2.SetPtr(1, out+128)
	for range 3 {
		if err := d.Launch(b.s, one, nv.Dim{X: 1, Y: 1, Z: 1}, block, 0, a); err != nil {
			return "", err
		}
		if err := d.LaunchEx(b.s, after, nv.Dim{X: 1, Y: 1, Z: 1}, block, 0, b2, nv.LaunchOptions{Overlap: true}); err != nil {
			return "", fmt.Errorf("overlap: %w", err)
		}
	}
	v, err := download[int32](b, out, 64)
	if err == nil && (v[0] != 23 || v[32] != 46) {
		err = fmt.Errorf("overlap: got %d and %d, want 23 and 46", v[0], v[32])
	}
	return "", err
}

func (b *bench) streams() (string, error) {
	d := b.d
	least, greatest, err := d.StreamPriorities()
	if err != nil {
		return "", err
	}
	f, err := b.function("spin")
	if err != nil {
		return "", err
	}
	other, err := d.NewStream(greatest)
	if err != nil {
		return "", err
	}
	p, err := b.alloc(256)
	if err != nil {
		return "", err
	}
	first, err := d.NewEvent(true, false)
	if err != nil {
		return "", err
	}
	last, err := d.NewEvent(true, true)
	if err != nil {
		return "", err
	}
	plain, err := d.NewEvent(false, false)
	if err != nil {
		return "", err
	}
	if done, err := d.EventDone(plain); err != nil || !done {
		return "", fmt.Errorf("an event that was not recorded: %v, %v", done, err)
	}
	a := nv.NewArgs(1)
	a.SetInt(0, 50_000_000) // some 30 ms
	one := nv.Dim{X: 1, Y: 1, Z: 1}
	err = errors.Join(d.Set32(p, 1, 1, b.s), d.Record(first, b.s), d.Launch(b.s, f, one, one, 0, a), d.Set32(p, 2, 1, b.s), d.Record(last, b.s), d.Record(plain, b.s),
		d.WaitEvent(other, plain))
	if err != nil {
		return "", err
	}
	streamDone, err := d.StreamDone(b.s)
	if err != nil {
		return "", err
	}
	eventDone, err := d.EventDone(plain)
	if err != nil {
		return "", err
	}
	if streamDone || eventDone {
		return "", errors.New("30 ms of work were done at once")
	}
	var v uint32
	if err := d.CopyToHost(unsafe.Pointer(&v), p, 4, other); err != nil {
		return "", err
	}
	if err := errors.Join(d.SynchronizeStream(other), d.SynchronizeEvent(last)); err != nil {
		return "", err
	}
	if v != 2 {
		return "", fmt.Errorf("the other stream read %d before the event, want 2", v)
	}
	ms, err := d.Elapsed(first, last)
	if err == nil && (ms < 5 || ms > 500) {
		err = fmt.Errorf("elapsed %v ms", ms)
	}
	return fmt.Sprintf("priorities %d to %d, kernel %.1f ms", least, greatest, ms),
		errors.Join(err, d.DestroyEvent(first), d.DestroyEvent(last), d.DestroyEvent(plain), d.DestroyStream(other))
}
