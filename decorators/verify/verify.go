// Package verify is a decorator that checks every command on its way to a backend, and reports what breaks the contract of
// package core. It goes over any backend or other decorator, wherever the question is: above a decorator it checks what the program
// does, below it what the decorator does. It changes no results. Burn's own tests of models run behind it, and burn run --verify
// checks a model of a user's.
//
// # What it finds
//
// A Fault has a Kind, the command at fault and the command that it conflicts with, by name and number, and wraps a sentinel of core:
//
//   - uses without order: a tensor that one stream makes and another uses, without an event between them (Order);
//   - tensors that were freed, given away or never made, and programs that are not defined (Unknown);
//   - ids that no allocator gave out, or that were used before (Identity);
//   - nodes whose outputs differ from the inferred ones, or that the device does not claim; wrong sizes (Invalid);
//   - a stream that two goroutines call at once, a ticket that is waited for twice (Usage);
//   - with NotFinite, the first node of a chain that makes a NaN or an infinity of finite operands (Value);
//   - with Against or Audit, results that are not those of a second backend (Difference);
//   - answers of the backend that cannot be right (Answer).
//
// What is alive when a device is closed is a Leak, and verify calls OnLeak with it. A command with a fault is refused by default: it
// returns the *Fault, and nothing of it takes effect. With PassOn it goes to the backend nevertheless, and verify calls OnFault alone.
//
// # How
//
// Types, shapes and lifetimes are checked against a table of the live tensors and programs of each device. A command changes the table
// before the backend sees it, and the change is taken back where the command is refused.
//
// Order is found with vector clocks, one entry for each stream (decorators/internal/order): Signal captures the clock of its stream,
// Stream.Wait joins it, and what the host has waited for is known to all streams from then on. So a missing event is found whether or
// not the commands met this time.
//
// NotFinite and Against read the results of each node back, and run programs node by node, so every command waits for the device.
// Against computes every node on a second device too and compares within the tolerance of the op's row. Audit does so for a share of
// the work, picked at random, and lets the rest run as it is: that is for production.
//
// Without those three options, verify costs the checks of the table alone. What is
// remembered grows with the number of live tensors, and slowly with ids that are never used (decorators/internal/idset).
//
// # Files, in the order of the data
//
//	verify.go, device.go, extension.go  Wrap, options, and the wrapped device with its extensions
//	stream.go, programs.go              commands, and what is checked of each
//	table.go                            tensors, programs, and changes that can be taken back
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

// each reports whether nodes are submitted one by one, and their results looked at.
func (c *config) each() bool { return c.notFinite || c.second != nil }

// OnFault calls f with every fault, in the order in which they are found. f is called from the goroutine whose command it
// was, or that waits, and must be safe for concurrent use. It may call the backend. Log.Add is such a function.
func OnFault(f func(*Fault)) Option { return func(c *config) { c.onFault = f } }

// OnLeak calls f when a device is closed, by itself or with its backend, on which tensors or programs are alive. That is no
// fault: Close frees them.
func OnLeak(f func(Leak)) Option { return func(c *config) { c.onLeak = f } }

// PassOn submits commands with a fault to the backend nevertheless; faults are only reported to OnFault. By default a command
// with a fault is refused: it returns the *Fault, and nothing of it takes effect.
func PassOn() Option { return func(c *config) { c.passOn = true } }

// NotFinite reads the results of each node back, and reports nodes that make a NaN or an infinity of operands and
// attributes that have none: the first of each chain, as what follows has such operands. The next event of the stream
// that the host waits for returns the fault, unless PassOn is given.
//
// Programs run node by node, so that the node is found, where the device has the op copy for their constants and outputs;
// a node that fails is then reported without its program. Else they run as they are, and the program is named. Results of
// collectives are not read, as other ranks may be behind, nor results of more than a gibibyte: nodes that use them are not
// reported. Every command waits for the device, so each rank of a group needs a goroutine of its own.
func NotFinite() Option { return func(c *config) { c.notFinite = true } }

// Wrap checks the commands of all devices of b. Closing the result closes b.
//
// A wrapped device has those of the extensions Programs, MemoryStats, HostMemory, PeerCopy, Pinning, Collectives,
// Selective and Profiling that the device below has, and no other. Gradients is not among them: wrap with verify first, then with
// autodiff. Streams, devices and events that its methods are given must be those of the same Wrap; a copy from a device of
// another one is ErrUnsupported.
//
// Tensors of a stream that is closed before the host knows its work done may never have been made; what uses them is not
// reported. What is remembered grows with the number of live tensors, and slowly with ids that are never used.
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

// world is a wrapped backend: what its devices and streams have in common.
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

// Close reports what is alive and closes the backend below.
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

// saw records in all streams what the host has waited for.
func (w *world) saw(c order.Clock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams.Saw(c)
}
