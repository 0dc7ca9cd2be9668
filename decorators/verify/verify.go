// Package verify is a decorator that checks every command on its way to a backend, and reports violations of the contract of package core.
// It can wrap any backend or decorator: above a decorator it checks the calls of the program, below it the calls of the decorator. It
// changes no results. Burn's tests of models use it, and burn run --verify checks a user's model.
//
// # What it finds
//
// A Fault has a Kind, the command at fault and the command that it conflicts with, by name and number, and wraps a sentinel of core:
//
//   - uses without order: a tensor that one stream creates and another uses, without an event between them (Order);
//   - tensors that were freed, donated or never created, and programs that are not defined (Unknown);
//   - ids that NewIDs did not return, or that were used before (Identity);
//   - nodes whose outputs differ from the inferred ones, or that the device does not claim; wrong sizes (Invalid);
//   - a stream that two goroutines call at once, a ticket that is waited for twice (Usage);
//   - with NotFinite, the first node of a chain that computes a NaN or an infinity from finite operands (Value);
//   - with Against or Audit, results that differ from those of a second backend (Difference);
//   - answers of the backend that cannot be right (Answer).
//
// If tensors or programs are alive when a device is closed, verify calls OnLeak with a Leak. By default, a command with a fault is refused:
// it returns the *Fault and has no effect. With PassOn, the command is passed to the backend nevertheless, and faults are only reported to
// OnFault.
//
// # How
//
// Types, shapes and lifetimes are checked against a table of the live tensors and programs of each device. A command changes the table
// before the backend sees it, and the change is undone if the command is refused.
//
// Order is found with vector clocks, one entry for each stream (decorators/internal/order): Signal captures the clock of its stream,
// Stream.Wait joins it, and all streams are ordered after what the host has waited for. So a missing event is found even if the commands
// happened to run in the right order.
//
// NotFinite and Against read the results of each node back, and run programs node by node, so every command waits for the device.
// Against computes every node on a second device too and compares within the tolerance of the op's row. Audit does so for a share of
// the work, picked at random, and passes the rest on unchanged, which suits production.
//
// Without those three options, verify only costs the checks against the table. Its memory grows with the number of live tensors, and slowly
// with ids that are never used (decorators/internal/idset).
//
// # Files, in the order of the data
//
//	verify.go, device.go, extension.go  Wrap, options, and the wrapped device with its extensions
//	stream.go, programs.go              commands, and what is checked of each
//	table.go                            tensors, programs, and changes that can be undone
//	notfinite.go                        results read back, programs run node by node
//	against.go                          every node on a second backend
//	audit.go, audit_compare.go          a share of the work on a second backend
//	fault.go                            faults, leaks and logs of them
package verify

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/internal/order"
)

// Option sets what is checked and how it is reported.
type Option func(*config)

type config struct {
	onFault   func(*Fault)
	onLeak    func(Leak)
	passOn    bool
	notFinite bool
	second    *second // nil: results are not compared
	audit     *audit  // nil: no share of the work is compared
}

// each reports whether nodes are submitted one by one, and their results read.
func (c *config) each() bool { return c.notFinite || c.second != nil }

// OnFault calls f with every fault, in the order in which they are found. f is called from the goroutine that issued the command or that
// waits, and must be safe for concurrent use. It may call the backend. Log.Add is such a function.
func OnFault(f func(*Fault)) Option { return func(c *config) { c.onFault = f } }

// OnLeak calls f if tensors or programs are alive when a device is closed, by itself or with its backend. That is not a fault: Close frees
// them.
func OnLeak(f func(Leak)) Option { return func(c *config) { c.onLeak = f } }

// PassOn submits commands with a fault to the backend nevertheless; faults are only reported to OnFault. By default a command with a fault
// is refused: it returns the *Fault and has no effect.
func PassOn() Option { return func(c *config) { c.passOn = true } }

// NotFinite reads the results of each node back, and reports nodes that compute a NaN or an infinity from operands and attributes without
// such values. So it reports the first node of a chain. The next event of the stream that the host waits for returns the fault, unless
// PassOn is set.
//
// If the device supports the op copy, which constants and outputs need, programs run node by node, so that the fault names
// the node; errors of nodes then do not name the program. Otherwise programs run as a whole, and the fault names the program.
// Results of collectives are not read, because other ranks may not have sent theirs yet, nor are results of more than a
// gibibyte: nodes that use them are not reported. Every command waits for the device, so each rank of a group needs a
// separate goroutine.
func NotFinite() Option { return func(c *config) { c.notFinite = true } }

// Wrap checks the commands of all devices of b. Closing the result closes b.
//
// A wrapped device has each of the extensions Programs, MemoryStats, HostMemory, PeerCopy, Pinning, Collectives, Selective and Profiling if
// the device below has it. It has no other extension, in particular not Gradients: wrap with verify first, then with autodiff. Streams,
// devices and events that are passed to its methods must come from the same call of Wrap; a copy from a device of another call returns
// core.ErrUnsupported.
//
// If a stream is closed before the host knows that its commands are done, its tensors may never have been created; uses of them are not
// reported. Memory grows with the number of live tensors, and slowly with ids that are never used.
func Wrap(b core.Backend, options ...Option) core.Backend {
	w := &world{inner: b, devices: map[*device]struct{}{}}
	for _, o := range options {
		o(&w.config)
	}
	return w
}

// Device returns p with its backend wrapped.
func Device(p *core.Place, options ...Option) *core.Place {
	return p.With(func(b core.Backend) core.Backend { return Wrap(b, options...) })
}

// world is a wrapped backend, and the state that its devices and streams share.
type world struct {
	inner core.Backend
	config

	mu      sync.Mutex // guards what follows, and the state of all devices and streams; never held while the backend is called
	streams order.Streams
	devices map[*device]struct{}
}

// Info names the decorator: "verify<cpu>".
func (w *world) Info() core.Info {
	i := w.inner.Info()
	i.Name = "verify<" + i.Name + ">"
	return i
}

// Open opens the device below.
func (w *world) Open(ctx context.Context, index int) (core.Device, error) {
	inner, err := w.inner.Open(ctx, index)
	if err != nil {
		return nil, w.answer("open", err)
	}
	d := &device{world: w, inner: inner, index: index, target: core.TargetOf(w.inner.Info().Name, inner), table: newTable(),
		open: map[*stream]struct{}{}, lent: map[*lent]struct{}{}}
	w.mu.Lock()
	w.devices[d] = struct{}{}
	w.mu.Unlock()
	return d, nil
}

// Close reports live tensors and programs, and closes the backend below.
func (w *world) Close() error {
	w.mu.Lock()
	open := slices.SortedFunc(maps.Keys(w.devices), func(a, b *device) int { return a.index - b.index })
	w.mu.Unlock()
	for _, d := range open {
		d.end()
	}
	err := w.inner.Close()
	for _, d := range open {
		d.returned()
	}
	return w.answer("close", err)
}

// saw records that the host has waited for clock c.
func (w *world) saw(c order.Clock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams.Saw(c)
}
