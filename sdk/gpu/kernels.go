package gpu

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// digest identifies a kernel by its text.
type digest [sha256.Size]byte

// kernels holds the functions of a device, each created once: loaded from the store, or compiled.
type kernels struct {
	device  Device
	dialect *dialect.Dialect
	store   *store        // nil: nothing is kept on disk
	slots   chan struct{} // bounds concurrent compilations
	begun   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	entries map[digest]*entry
	stats   KernelStats
}

// entry is a function, pending or complete, or the error that prevented it.
type entry struct {
	kernel *ir.Kernel
	key    digest
	ready  chan struct{} // closed when the other fields are set
	fn     Function
	err    error
}

// KernelStats counts kernels. In a loop that repeats the same work neither Compiled nor Loaded rises.
type KernelStats struct {
	Compiled int64 // by the compiler
	Loaded   int64 // from the store
	Compiles int64 // calls of the compiler that succeeded
	Stored   int64 // results of the compiler that were written to the store
	Refused  int64 // files of the store that were damaged or foreign
	Time     time.Duration
}

func newKernels(d Device, s *store) *kernels {
	return &kernels{device: d, dialect: d.Dialect(), store: s, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), entries: map[digest]*entry{}}
}

// get returns the functions of ks in order. Missing functions are compiled, with a few concurrent calls of the compiler.
func (x *kernels) get(ctx context.Context, ks []*ir.Kernel) ([]Function, error) {
	all := make([]*entry, len(ks))
	var missing []*entry
	x.mu.Lock()
	for i, k := range ks {
		key := digest(sha256.Sum256([]byte(k.String())))
		e := x.entries[key]
		if e == nil {
			e = &entry{kernel: k, key: key, ready: make(chan struct{})}
			x.entries[key] = e
			missing = append(missing, e)
		}
		all[i] = e
	}
	x.mu.Unlock()
	if len(missing) > 0 {
		x.make(ctx, missing)
	}
	fns := make([]Function, len(ks))
	for i, e := range all {
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
		}
		if e.err != nil {
			return nil, e.err
		}
		fns[i] = e.fn
	}
	return fns, nil
}

// begin starts to create the functions of ks. get waits for the functions and returns errors.
func (x *kernels) begin(ctx context.Context, ks []*ir.Kernel) {
	if len(ks) > 0 {
		x.begun.Go(func() { _, _ = x.get(ctx, ks) })
	}
}

// make completes entries. A failure is not cached, so that a later get tries again.
func (x *kernels) make(ctx context.Context, missing []*entry) {
	began := time.Now()
	if x.dialect == nil {
		x.load(nil, missing)
		x.count(func(s *KernelStats) { s.Compiled += int64(len(missing)); s.Time += time.Since(began) })
		return
	}
	left := missing
	if x.store != nil {
		left = x.stored(missing)
	}
	var done sync.WaitGroup
	for _, unit := range x.units(left) {
		done.Add(1)
		go func() {
			defer done.Done()
			x.slots <- struct{}{}
			defer func() { <-x.slots }()
			x.compile(ctx, unit)
		}()
	}
	done.Wait()
	x.count(func(s *KernelStats) { s.Time += time.Since(began) })
}

// units divides kernels into units, one for each concurrent call of the compiler.
func (x *kernels) units(es []*entry) [][]*entry {
	n := min(len(es), cap(x.slots))
	units, sizes := make([][]*entry, n), make([]int, n)
	es = slices.Clone(es)
	slices.SortStableFunc(es, func(a, b *entry) int { return len(b.kernel.Types) - len(a.kernel.Types) })
	for _, e := range es { // the largest first, each to the smallest unit
		least := slices.Index(sizes, slices.Min(sizes))
		units[least] = append(units[least], e)
		sizes[least] += len(e.kernel.Types) + kernelCost
	}
	return units
}

// kernelCost is the fixed cost of compiling a kernel, in units of IR values.
const kernelCost = 100

// compile compiles a unit with one call of the compiler. If that fails, it compiles each kernel of the unit by itself.
func (x *kernels) compile(ctx context.Context, unit []*entry) {
	ks := kernelsOf(unit)
	text, err := x.dialect.Print(ks)
	var code []byte
	if err == nil {
		code, err = x.device.Compile(ctx, text)
	}
	if err != nil && len(unit) > 1 && !errors.Is(err, core.ErrBackendLost) && ctx.Err() == nil {
		for _, e := range unit {
			x.compile(ctx, []*entry{e})
		}
		return
	}
	if err != nil {
		for _, e := range unit {
			x.settle(e, nil, fmt.Errorf("kernel %s: %w", e.kernel.Name, err))
		}
		return
	}
	x.count(func(s *KernelStats) { s.Compiled += int64(len(unit)); s.Compiles++ })
	if x.load(code, unit) && x.store != nil && x.store.put(x.names(unit), code) == nil {
		x.count(func(s *KernelStats) { s.Stored++ })
	}
}

func kernelsOf(es []*entry) []*ir.Kernel {
	ks := make([]*ir.Kernel, len(es))
	for i, e := range es {
		ks[i] = e.kernel
	}
	return ks
}

// load creates functions from code and reports whether it succeeded.
func (x *kernels) load(code []byte, es []*entry) bool {
	fns, err := x.device.Load(code, kernelsOf(es))
	if err == nil && len(fns) != len(es) {
		err = fmt.Errorf("%d functions of %d kernels: %w", len(fns), len(es), core.ErrKernel)
	}
	for i, e := range es {
		if err != nil {
			x.settle(e, nil, err)
			continue
		}
		x.settle(e, fns[i], nil)
	}
	return err == nil
}

func (x *kernels) settle(e *entry, fn Function, err error) {
	if err != nil {
		x.mu.Lock()
		delete(x.entries, e.key)
		x.mu.Unlock()
	}
	e.fn, e.err = fn, err
	close(e.ready)
}

// stored loads the kernels that the store contains, and returns the entries of all other kernels.
func (x *kernels) stored(missing []*entry) (left []*entry) {
	var done sync.WaitGroup
	for _, u := range x.store.find(x.names(missing)) {
		done.Go(func() { x.loadStored(u, missing) })
	}
	done.Wait()
	for _, e := range missing {
		if e != nil {
			left = append(left, e)
		}
	}
	return left
}

// loadStored loads a file of the store. It completes the entries of missing that the file contains, and sets them to nil in missing.
func (x *kernels) loadStored(u found, missing []*entry) {
	x.slots <- struct{}{}
	defer func() { <-x.slots }()
	code, err := x.store.read(u.file)
	if err != nil {
		x.count(func(s *KernelStats) { s.Refused++ })
		return
	}
	// The driver names functions by their places in the text.
	ks := make([]*ir.Kernel, u.kernels)
	for i, at := range u.places {
		ks[at] = missing[u.wanted[i]].kernel
	}
	fns, err := x.device.Load(code, ks)
	if err != nil || len(fns) != len(ks) {
		x.store.remove(u.file)
		x.count(func(s *KernelStats) { s.Refused++ })
		return
	}
	for i, at := range u.places {
		x.settle(missing[u.wanted[i]], fns[at], nil)
		missing[u.wanted[i]] = nil
	}
	x.count(func(s *KernelStats) { s.Loaded += int64(len(u.places)) })
}

// names returns the keys of kernels in the store: digests of their texts in the dialect. A kernel that cannot be printed gets the digest of
// its IR text, which no file contains.
func (x *kernels) names(es []*entry) []digest {
	names := make([]digest, len(es))
	for i, e := range es {
		text, err := x.dialect.Print([]*ir.Kernel{e.kernel})
		if err != nil {
			names[i] = e.key
			continue
		}
		names[i] = sha256.Sum256([]byte(text))
	}
	return names
}

func (x *kernels) count(f func(s *KernelStats)) {
	x.mu.Lock()
	f(&x.stats)
	x.mu.Unlock()
}

func (x *kernels) statistics() KernelStats {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stats
}

// close unloads all functions.
func (x *kernels) close() {
	x.begun.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.entries {
		select {
		case <-e.ready:
			if e.fn != nil {
				e.fn.Unload()
			}
		default:
		}
	}
	x.entries = nil
}
