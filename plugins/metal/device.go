package metal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/commands"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device implements gpu.Device.
type device struct {
	*commands.Device
	calls   calls.Device
	facts   calls.Facts
	target  template.Target
	dialect *dialect.Dialect

	mu        sync.Mutex // guards the fields below
	libraries map[string]calls.Library
}

var _ gpu.Device = (*device)(nil)

func newDevice(c calls.Device, m []ir.MMA, patience time.Duration) (*device, error) {
	d := &device{calls: c, facts: c.Facts(), libraries: map[string]calls.Library{}}
	moves, err := newMoves(c)
	if err != nil {
		return nil, err
	}
	d.Device = commands.New(commands.Options{Calls: c, Backend: Name, Memory: d.facts.Memory, Largest: d.facts.Largest, Moves: moves, Patience: patience})
	d.target = targetOf(d.facts, moves[0].Width())
	d.target.MMA = m
	own := *dialect.Metal
	own.Threads, own.Static = d.target.Threads, d.facts.Shared
	d.dialect = &own
	return d, nil
}

// targetOf returns the target that templates build for. Simdgroups are used if they have 32 threads, as on all Apple GPUs.
func targetOf(f calls.Facts, width int) template.Target {
	words := dtype.SetOf(dtype.F32, dtype.I32, dtype.U32)
	t := template.Target{Subgroup: 1, Threads: 1024, Units: 16, Blocks: 4, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Shared: min(f.Shared, 32<<10),
		Types: dtype.Any &^ dtype.SetOf(dtype.F64), Math: words | dtype.SetOf(dtype.I64, dtype.U64, dtype.Bool), Atomics: words, Buffers: 16, Bytes: f.Largest}
	if width == 32 {
		t.Subgroup = width
	}
	return t
}

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.target }

// Dialect implements gpu.Device.
func (d *device) Dialect() *dialect.Dialect { return d.dialect }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.facts.System + ", " + d.facts.Name + ", " + Version }

// Compile implements gpu.Device. It returns the text, since the system caches compiled kernels itself, and keeps the library for Load.
func (d *device) Compile(_ context.Context, text string) ([]byte, error) {
	text = exact + text
	l, err := d.calls.NewLibrary(text)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	old := d.libraries[text]
	d.libraries[text] = l
	d.mu.Unlock()
	if old != nil {
		old.Release()
	}
	return []byte(text), nil
}

// exact forbids optimizations that change results, as far as the language can express that; the compiler's options forbid the rest.
const exact = "#if __METAL_VERSION__ >= 320\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n#endif\n"

// Load implements gpu.Device.
func (d *device) Load(code []byte, kernels []*ir.Kernel) (fs []gpu.Function, err error) {
	text := string(code)
	d.mu.Lock()
	l := d.libraries[text]
	delete(d.libraries, text)
	d.mu.Unlock()
	if l == nil {
		if l, err = d.calls.NewLibrary(text); err != nil {
			return nil, err
		}
	}
	defer l.Release()
	fs = make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k == nil {
			continue
		}
		f, err := d.load(l, i, k)
		if err != nil {
			for _, f := range fs[:i] {
				if f != nil {
					f.Unload()
				}
			}
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		fs[i] = f
	}
	return fs, nil
}

func (d *device) load(l calls.Library, i int, k *ir.Kernel) (*commands.Function, error) {
	return d.NewFunction(k, func() (calls.Pipeline, error) {
		p, err := l.Pipeline(dialect.Symbol(i, k))
		if err != nil {
			return nil, err
		}
		switch {
		case p.Threads() < k.Threads:
			err = fmt.Errorf("threadgroups of %d threads, the device takes %d: %w", k.Threads, p.Threads(), core.ErrUnsupported)
		case d.target.Subgroup > 1 && p.Width() != d.target.Subgroup:
			err = fmt.Errorf("simdgroups of %d threads, want %d: %w", p.Width(), d.target.Subgroup, core.ErrUnsupported)
		}
		if err != nil {
			p.Release()
			return nil, err
		}
		return p, nil
	})
}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library {
	if hidden("mps") {
		return nil
	}
	return []gpu.Library{shaders{d}}
}

// Close implements gpu.Device.
func (d *device) Close() {
	d.Device.Close()
	for _, l := range d.libraries {
		l.Release()
	}
}
