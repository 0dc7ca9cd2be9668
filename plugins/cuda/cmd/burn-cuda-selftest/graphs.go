package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

func (b *bench) graphChecks() {
	b.check("graph/all kinds of nodes", b.graph)
	b.check("graph/1000 kernels", b.longGraph)
	b.check("graph/capture", b.capture)
}

// ints returns an error unless got begins with want.
func ints(got []int32, want ...int32) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("got %v, want %v", got[:len(want)], want)
		}
	}
	return nil
}

func (b *bench) graph() (string, error) {
	d := b.d
	f, err := b.function("add_one")
	if err != nil {
		return "", err
	}
	p, err := b.alloc(1024)
	if err != nil {
		return "", err
	}
	if err := d.Set8(p, 0, 1024, b.s); err != nil {
		return "", err
	}
	one, a := nv.Dim{X: 1, Y: 1, Z: 1}, nv.NewArgs(1)
	inner, err := d.NewGraph()
	if err != nil {
		return "", err
	}
	a.SetPtr(0, p+8)
	if _, err = d.AddKernel(inner, nil, f, one, one, 0, a); err != nil {
		return "", err
	}
	g, err := d.NewGraph()
	if err != nil {
		return "", err
	}
	set, err := d.AddSet(g, nil, p, 5, 4, 2, b.ctx) // p[0], p[1] = 5
	if err != nil {
		return "", fmt.Errorf("set: %w", err)
	}
	a.SetPtr(0, p)
	kernel, err := d.AddKernel(g, []nv.Node{set}, f, one, one, 0, a) // p[0]++
	if err != nil {
		return "", fmt.Errorf("kernel: %w", err)
	}
	cp, err := d.AddCopy(g, []nv.Node{kernel}, p+16, p, 8, b.ctx) // p[4], p[5] = p[0], p[1]
	if err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	empty, err := d.AddEmpty(g, []nv.Node{kernel, cp})
	if err != nil {
		return "", fmt.Errorf("empty: %w", err)
	}
	child, err := d.AddChild(g, []nv.Node{empty}, inner) // p[2]++
	if err != nil {
		return "", fmt.Errorf("child: %w", err)
	}
	nodes, err := d.Nodes(g)
	if err != nil || len(nodes) != 5 {
		return "", fmt.Errorf("%d nodes, want 5: %v", len(nodes), err)
	}
	for n, want := range map[nv.Node]nv.NodeKind{set: nv.SetNode, kernel: nv.KernelNode, cp: nv.CopyNode, empty: nv.EmptyNode, child: nv.ChildNode} {
		if k, err := d.NodeKind(n); err != nil || k != want {
			return "", fmt.Errorf("kind %d, want %d: %v", k, want, err)
		}
	}
	e, err := d.Instantiate(g)
	if err != nil {
		return "", err
	}
	if err := errors.Join(d.Upload(e, b.s), d.LaunchGraph(e, b.s)); err != nil {
		return "", err
	}
	v, err := download[int32](b, p, 64)
	if err = errors.Join(err, ints(v, 6, 5, 1, 0, 6, 5)); err != nil {
		return "", err
	}
	a.SetPtr(0, p+4)
	if err := d.SetKernel(e, kernel, f, one, one, 0, a); err != nil { // p[1]++
		return "", fmt.Errorf("set kernel: %w", err)
	}
	if err := d.SetCopy(e, cp, p+32, p, 8, b.ctx); err != nil {
		return "", fmt.Errorf("set copy: %w", err)
	}
	if err := d.SetSet(e, set, p, 9, 4, 2, b.ctx); err != nil {
		return "", fmt.Errorf("set set: %w", err)
	}
	other, err := d.NewGraph()
	if err != nil {
		return "", err
	}
	a.SetPtr(0, p+12)
	if _, err = d.AddKernel(other, nil, f, one, one, 0, a); err != nil { // p[3]++
		return "", err
	}
	if err := d.SetChild(e, child, other); err != nil {
		return "", fmt.Errorf("set child: %w", err)
	}
	if err := d.LaunchGraph(e, b.s); err != nil {
		return "", err
	}
	if v, err = download[int32](b, p, 64); err != nil {
		return "", err
	}
	return "", errors.Join(ints(v, 9, 10, 1, 1, 6, 5, 0, 0, 9, 10), d.DestroyExec(e), d.DestroyGraph(g), d.DestroyGraph(inner), d.DestroyGraph(other))
}

func (b *bench) longGraph() (string, error) {
	d := b.d
	f, err := b.function("add_one")
	if err != nil {
		return "", err
	}
	p, err := b.alloc(8192)
	if err != nil {
		return "", err
	}
	if err := d.Set8(p, 0, 8192, b.s); err != nil {
		return "", err
	}
	const n = 1000
	g, err := d.NewGraph()
	if err != nil {
		return "", err
	}
	one, block, a := nv.Dim{X: 1, Y: 1, Z: 1}, nv.Dim{X: 32, Y: 1, Z: 1}, nv.NewArgs(1)
	a.SetPtr(0, p)
	var deps, nodes []nv.Node
	start := time.Now()
	for range n {
		node, err := d.AddKernel(g, deps, f, one, block, 0, a)
		if err != nil {
			return "", err
		}
		nodes, deps = append(nodes, node), []nv.Node{node}
	}
	build := time.Since(start)
	start = time.Now()
	e, err := d.Instantiate(g)
	if err != nil {
		return "", err
	}
	instantiate := time.Since(start)
	ms, err := b.timed(10, func() error { return d.LaunchGraph(e, b.s) })
	if err != nil {
		return "", err
	}
	v, err := download[int32](b, p, 32)
	if err = errors.Join(err, ints(v, 11*n)); err != nil {
		return "", err
	}
	a.SetPtr(0, p+4096)
	start = time.Now()
	for _, node := range nodes {
		if err := d.SetKernel(e, node, f, one, block, 0, a); err != nil {
			return "", err
		}
	}
	patch := time.Since(start) / n
	start = time.Now()
	if err := d.LaunchGraph(e, b.s); err != nil {
		return "", err
	}
	host := time.Since(start)
	if v, err = download[int32](b, p+4096, 32); err != nil {
		return "", err
	}
	return fmt.Sprintf("built in %v, instantiated in %v, %.2f us a kernel, patch %v a node, host time of a launch %v", build.Round(time.Microsecond),
		instantiate.Round(time.Microsecond), ms, patch, host), errors.Join(ints(v, n), d.DestroyExec(e), d.DestroyGraph(g))
}

func (b *bench) capture() (string, error) {
	d := b.d
	f, err := b.function("add_one")
	if err != nil {
		return "", err
	}
	p, err := b.alloc(1024)
	if err != nil {
		return "", err
	}
	if err := errors.Join(d.Set8(p, 0, 1024, b.s), d.SynchronizeStream(b.s)); err != nil {
		return "", err
	}
	s, err := d.NewStream(0)
	if err != nil {
		return "", err
	}
	a := nv.NewArgs(1)
	a.SetPtr(0, p)
	one := nv.Dim{X: 1, Y: 1, Z: 1}
	if err := d.BeginCapture(s); err != nil {
		return "", err
	}
	if on, err := d.Capturing(s); err != nil || !on {
		return "", fmt.Errorf("capturing: %v, %v", on, err)
	}
	put := errors.Join(d.Launch(s, f, one, one, 0, a), d.Set32(p+4, 3, 1, s), d.Copy(p+8, p, 8, s))
	g, err := d.EndCapture(s)
	if err := errors.Join(put, err); err != nil {
		return "", err
	}
	nodes, err := d.Nodes(g)
	if err != nil || len(nodes) != 3 {
		return "", fmt.Errorf("%d nodes, want 3: %v", len(nodes), err)
	}
	v, err := download[int32](b, p, 4)
	if err = errors.Join(err, ints(v, 0, 0, 0, 0)); err != nil {
		return "", fmt.Errorf("capture ran: %w", err)
	}
	e, err := d.Instantiate(g)
	if err != nil {
		return "", err
	}
	if err := d.LaunchGraph(e, b.s); err != nil {
		return "", err
	}
	if v, err = download[int32](b, p, 4); err != nil {
		return "", err
	}
	return "", errors.Join(ints(v, 1, 3, 1, 3), d.DestroyExec(e), d.DestroyGraph(g), d.DestroyStream(s))
}

// overheadChecks measures the host time of calls and checks that they do not allocate Go memory.
func (b *bench) overheadChecks() {
	d := b.d
	b.check("overhead", func() (string, error) {
		f, err := b.function("nothing")
		if err != nil {
			return "", err
		}
		add, err := b.function("add_one")
		if err != nil {
			return "", err
		}
		p, err := b.alloc(4096)
		if err != nil {
			return "", err
		}
		event, err := d.NewEvent(false, false)
		if err != nil {
			return "", err
		}
		one, none, a := nv.Dim{X: 1, Y: 1, Z: 1}, nv.NewArgs(0), nv.NewArgs(1)
		a.SetPtr(0, p)
		text := ""
		for _, c := range []struct {
			name string
			call func() error
		}{
			{"launch", func() error { return d.Launch(b.s, f, one, one, 0, none) }},
			{"launch with argument", func() error { return d.Launch(b.s, add, one, one, 0, a) }},
			{"launch ex", func() error { return d.LaunchEx(b.s, f, one, one, 0, none, nv.LaunchOptions{}) }},
			{"fill", func() error { return d.Set32(p, 0, 16, b.s) }},
			{"copy", func() error { return d.Copy(p, p+2048, 64, b.s) }},
			{"record", func() error { return d.Record(event, b.s) }},
			{"query", func() error { _, err := d.EventDone(event); return err }},
			{"set current", func() error { return d.SetCurrent(b.ctx) }},
		} {
			const n = 5000
			var before, after runtime.MemStats
			if err := errors.Join(c.call(), d.SynchronizeStream(b.s)); err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			runtime.ReadMemStats(&before)
			var busy time.Duration
			for i := range n {
				if i%500 == 0 { // keeps the queue of the device from filling up
					if err := d.SynchronizeStream(b.s); err != nil {
						return "", err
					}
				}
				start := time.Now()
				if err := c.call(); err != nil {
					return "", err
				}
				busy += time.Since(start)
			}
			runtime.ReadMemStats(&after)
			text += fmt.Sprintf("%s %v, ", c.name, (busy / n))
			if c.name != "launch ex" && after.Mallocs-before.Mallocs > n/2 {
				return text, fmt.Errorf("%s: %d allocations in %d calls", c.name, after.Mallocs-before.Mallocs, n)
			}
		}
		start := time.Now()
		for range 200 {
			if err := errors.Join(d.Launch(b.s, f, one, one, 0, none), d.SynchronizeStream(b.s)); err != nil {
				return "", err
			}
		}
		return text + fmt.Sprintf("launch and wait %v", time.Since(start)/200), d.DestroyEvent(event)
	})
	b.check("overhead/bandwidth of a copy kernel", func() (string, error) {
		f, err := b.function("copy4")
		if err != nil {
			return "", err
		}
		const n = 256 << 20
		p, err := b.alloc(2 * n)
		if err != nil {
			return "", err
		}
		a := nv.NewArgs(3)
		a.SetPtr(0, p)
		a.SetPtr(1, p+n)
		a.SetInt(2, n/16)
		ms, err := b.timed(20, func() error {
			return d.Launch(b.s, f, nv.Dim{X: n / 16 / 256, Y: 1, Z: 1}, nv.Dim{X: 256, Y: 1, Z: 1}, 0, a)
		})
		return fmt.Sprintf("%.0f GB/s", 2*n/ms/1e6), err
	})
}

// faultCheck runs a kernel that destroys the context.
func (b *bench) faultCheck() {
	b.check("fault", func() (string, error) {
		f, err := b.function("bad")
		if err != nil {
			return "", err
		}
		a := nv.NewArgs(1)
		a.SetPtr(0, 64)
		one := nv.Dim{X: 1, Y: 1, Z: 1}
		if err := b.d.Launch(b.s, f, one, one, 0, a); err != nil {
			return "", err
		}
		text, err := expect(b.d.SynchronizeStream(b.s), nv.ErrFault)
		if err != nil {
			return "", err
		}
		_, err = b.d.Alloc(1024)
		again, err := expect(err, nv.ErrFault)
		return text + "; then " + again, err
	})
}
