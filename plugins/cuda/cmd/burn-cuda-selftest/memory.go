package main

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

func (b *bench) memoryChecks() {
	d := b.d
	b.check("memory/fill and copy", func() (string, error) {
		p, err := b.alloc(1024)
		if err != nil {
			return "", err
		}
		err = errors.Join(d.Set8(p, 0xab, 1024, b.s), d.Set16(p+2, 0x1234, 3, b.s), d.Set32(p+16, 0xdeadbeef, 2, b.s), d.Copy(p+512, p, 32, b.s))
		if err != nil {
			return "", err
		}
		v, err := download[byte](b, p, 1024)
		if err != nil {
			return "", err
		}
		want := "abab341234123412abababababababab" + "efbeaddeefbeaddeabababababababab"
		if got := fmt.Sprintf("%x", v[512:544]); got != want {
			return "", fmt.Errorf("got %s, want %s", got, want)
		}
		return "", nil
	})
	b.check("memory/exhausted", func() (string, error) {
		_, err := d.Alloc(1 << 46)
		text, err := expect(err, nv.ErrOutOfMemory)
		if err != nil {
			return "", err
		}
		_, err = b.alloc(1024)
		return text, err
	})
	b.check("memory/pool", b.pool)
	b.check("memory/pinned", b.pinned)
	b.check("memory/pointers", func() (string, error) {
		p, err := b.alloc(1 << 20)
		if err != nil {
			return "", err
		}
		in, err := d.Pointer(p + 4096)
		if err != nil {
			return "", err
		}
		if in.Kind != nv.MemoryDevice || in.Ordinal != int(b.dev) || in.Start != p || in.Size < 1<<20 {
			return "", fmt.Errorf("device memory at %#x: %+v", p, in)
		}
		h, err := d.HostAlloc(4096, false)
		if err != nil {
			return "", err
		}
		if in, err = d.Pointer(nv.Ptr(h)); err != nil || in.Kind != nv.MemoryHost {
			return "", fmt.Errorf("pinned memory: %+v: %v", in, err)
		}
		v := make([]byte, 4096)
		if in, err = d.Pointer(nv.Ptr(unsafe.Pointer(&v[0]))); err != nil || in.Kind == nv.MemoryDevice {
			return "", fmt.Errorf("pageable memory: %+v: %v", in, err)
		}
		return "", d.HostFree(h)
	})
	b.check("memory/flag in host memory", func() (string, error) {
		h, err := d.HostAlloc(4096, true)
		if err != nil {
			return "", err
		}
		at, err := d.HostDevicePointer(h)
		if err != nil {
			return "", err
		}
		flag := (*uint32)(h)
		*flag = 0
		start := time.Now()
		if err := d.WriteValue(b.s, at, 77); err != nil {
			return "", err
		}
		if err := d.SynchronizeStream(b.s); err != nil {
			return "", err
		}
		if *flag != 77 {
			return "", fmt.Errorf("the flag is %d after %v, want 77", *flag, time.Since(start))
		}
		return "", d.HostFree(h)
	})
}

func (b *bench) pool() (string, error) {
	d := b.d
	if n, err := d.Attribute(b.dev, nv.MemoryPoolsSupported); err != nil || n == 0 {
		return "", errors.Join(err, skip("no pools"))
	}
	if _, err := d.DefaultPool(b.dev); err != nil {
		return "", err
	}
	pool, err := d.NewPool(b.dev, 0)
	if err != nil {
		return "", err
	}
	if err := d.SetPool(pool, nv.PoolThreshold, 1<<40); err != nil {
		return "", err
	}
	if n, err := d.Pool(pool, nv.PoolThreshold); err != nil || n != 1<<40 {
		return "", fmt.Errorf("threshold %d: %v", n, err)
	}
	p, err := d.AllocAsync(8<<20, pool, b.s)
	if err != nil {
		return "", err
	}
	used, err := d.Pool(pool, nv.PoolUsed)
	if err != nil {
		return "", err
	}
	if err := errors.Join(d.Set8(p, 1, 8<<20, b.s), d.FreeAsync(p, b.s), d.SynchronizeStream(b.s)); err != nil {
		return "", err
	}
	const n = 2000
	start := time.Now()
	for range n {
		p, err := d.AllocAsync(1<<20, pool, b.s)
		if err != nil {
			return "", err
		}
		if err := d.FreeAsync(p, b.s); err != nil {
			return "", err
		}
	}
	each := time.Since(start) / n
	if err := d.SynchronizeStream(b.s); err != nil {
		return "", err
	}
	kept, err := d.Pool(pool, nv.PoolReserved)
	if err != nil {
		return "", err
	}
	if err := errors.Join(d.TrimPool(pool, 0)); err != nil {
		return "", err
	}
	trimmed, err := d.Pool(pool, nv.PoolReserved)
	if err == nil && (used < 8<<20 || kept < 8<<20 || trimmed != 0) {
		err = fmt.Errorf("used %d, kept %d, trimmed to %d", used, kept, trimmed)
	}
	return fmt.Sprintf("alloc and free %v", each), errors.Join(err, d.DestroyPool(pool))
}

func (b *bench) pinned() (string, error) {
	d := b.d
	const n = 256 << 20
	p, err := b.alloc(n)
	if err != nil {
		return "", err
	}
	h, err := d.HostAlloc(n, false)
	if err != nil {
		return "", err
	}
	own := make([]byte, n)
	for i := range own {
		own[i] = byte(i * 7 >> 3)
	}
	rate := func(f func() error) (float64, error) {
		ms, err := b.timed(4, f)
		return n / ms / 1e6, err
	}
	var rates [6]float64
	pinned := unsafe.Slice((*byte)(h), n)
	copy(pinned, own)
	host := unsafe.Pointer(&own[0])
	if rates[0], err = rate(func() error { return d.CopyToDevice(p, h, n, b.s) }); err != nil {
		return "", err
	}
	clear(pinned)
	if rates[1], err = rate(func() error { return d.CopyToHost(h, p, n, b.s) }); err != nil {
		return "", err
	}
	for i := 0; i < n; i += 4099 {
		if pinned[i] != own[i] {
			return "", fmt.Errorf("byte %d came back as %d, want %d", i, pinned[i], own[i])
		}
	}
	if rates[4], err = rate(func() error { return d.CopyToDevice(p, host, n, b.s) }); err != nil {
		return "", err
	}
	if rates[5], err = rate(func() error { return d.CopyToHost(host, p, n, b.s) }); err != nil {
		return "", err
	}
	start := time.Now()
	if err := d.HostRegister(host, n, false, false); err != nil {
		return "", err
	}
	took := time.Since(start)
	if rates[2], err = rate(func() error { return d.CopyToDevice(p, host, n, b.s) }); err != nil {
		return "", err
	}
	if rates[3], err = rate(func() error { return d.CopyToHost(host, p, n, b.s) }); err != nil {
		return "", err
	}
	if err := errors.Join(d.SynchronizeStream(b.s), d.HostUnregister(host), d.HostFree(h)); err != nil {
		return "", err
	}
	return fmt.Sprintf("up/down GB/s: pinned %.1f/%.1f, registered %.1f/%.1f (in %v), pageable %.1f/%.1f", rates[0], rates[1], rates[2], rates[3],
		took.Round(time.Millisecond), rates[4], rates[5]), nil
}

func (b *bench) peerChecks() {
	d := b.d
	b.check("peer", func() (string, error) {
		if d.Devices < 2 {
			return "", skip("one device")
		}
		peer, err := d.Device((int(b.dev) + 1) % d.Devices)
		if err != nil {
			return "", err
		}
		can, err := d.CanAccessPeer(b.dev, peer)
		if err != nil {
			return "", err
		}
		ctx, err := d.RetainPrimary(peer)
		if err != nil {
			return "", err
		}
		if can {
			if err := errors.Join(d.EnablePeer(ctx), d.EnablePeer(ctx)); err != nil {
				return "", err
			}
		}
		const n = 64 << 20
		from, err := b.alloc(n)
		if err != nil {
			return "", err
		}
		if err := d.Set32(from, 0x01020304, n/4, b.s); err != nil {
			return "", err
		}
		if err := d.SetCurrent(ctx); err != nil {
			return "", err
		}
		to, err := d.Alloc(n)
		if err := errors.Join(err, d.SetCurrent(b.ctx)); err != nil {
			return "", err
		}
		ms, err := b.timed(4, func() error { return d.CopyPeer(to, ctx, from, b.ctx, n, b.s) })
		if err != nil {
			return "", err
		}
		if err := d.CopyPeer(from, b.ctx, to, ctx, n, b.s); err != nil {
			return "", err
		}
		v, err := download[uint32](b, from+n-4, 1)
		if err == nil && v[0] != 0x01020304 {
			err = fmt.Errorf("got %#x", v[0])
		}
		if can {
			err = errors.Join(err, d.DisablePeer(ctx))
		}
		return fmt.Sprintf("access %v, %.1f GB/s", can, n/ms/1e6), errors.Join(err, d.SetCurrent(ctx), d.Free(to), d.SetCurrent(b.ctx), d.ReleasePrimary(peer))
	})
}
