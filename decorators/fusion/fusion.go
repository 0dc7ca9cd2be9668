package fusion

import (
	"context"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/program/window"
)

// Option changes a limit, or adds a Report.
type Option func(*config)

type config struct {
	programs int           // greatest number of programs in the cache of a device
	bytes    int64         // greatest size of the structures of these programs in bytes
	memory   int64         // greatest number of bytes of live results in a window; 0: depends on the memory of the device
	idle     time.Duration // how long nodes are held while the stream is not called
	report   *Report
	hooks
}

// hooks plant faults, so that tests can show that the differential test finds them. Outside tests all are off.
type hooks struct {
	compile func()        // is called before a program is compiled
	donate  func([]bool)  // changes the donation mask
	hash    window.Faults // parts of the structure that hashes omit
	trust   bool          // windows with equal hashes count as equal
	always  bool          // every window becomes a program at its first occurrence, even one of a single node
}

// Default limits.
const (
	DefaultPrograms = 256
	DefaultBytes    = 64 << 20
	DefaultMemory   = 256 << 20             // or half of the device's memory, if that is more
	DefaultIdle     = 10 * time.Millisecond // delays no waiting caller, because a wait ends the window
)

// Cache bounds the number of programs that are kept for each device, and the bytes of their structures. Windows are compared with these
// structures.
func Cache(programs int, bytes int64) Option {
	return func(c *config) { c.programs, c.bytes = max(1, programs), max(0, bytes) }
}

// Memory ends a window when its results take more than the given number of bytes.
func Memory(bytes int64) Option { return func(c *config) { c.memory = max(1, bytes) } }

// Idle bounds how long nodes are held while their stream is not called. The bound is d, or 50 times d if the nodes are the beginning of a
// program that the stream usually completes.
func Idle(d time.Duration) Option { return func(c *config) { c.idle = max(time.Microsecond, d) } }

// With adds the devices of the decorator to r. Each begins with the programs that r has loaded.
func With(r *Report) Option { return func(c *config) { c.report = r } }

// Wrap returns b with a decorator that turns repeated windows of its streams into programs; see the comment of the package.
// Closing the result closes b.
//
// A wrapped device has each of the extensions Programs, MemoryStats, HostMemory, PeerCopy, Pinning, Collectives, Selective and Profiling if
// the device below has it. It has no other extension, in particular not Gradients: wrap with fusion first, then with autodiff. Streams,
// devices and events that are passed to its methods must come from the same call of Wrap.
func Wrap(b core.Backend, options ...Option) core.Backend {
	w := &backend{inner: b, devices: map[*device]struct{}{}}
	w.config = config{programs: DefaultPrograms, bytes: DefaultBytes, idle: DefaultIdle}
	for _, o := range options {
		o(&w.config)
	}
	return w
}

// Device returns p with its backend wrapped.
func Device(p *core.Place, options ...Option) *core.Place {
	return p.With(func(b core.Backend) core.Backend { return Wrap(b, options...) })
}

type backend struct {
	inner core.Backend
	config
	mu      sync.Mutex // guards devices
	devices map[*device]struct{}
}

// Info names the decorator: "fusion<cpu>".
func (b *backend) Info() core.Info {
	i := b.inner.Info()
	i.Name = "fusion<" + i.Name + ">"
	return i
}

// Open opens the device below.
func (b *backend) Open(ctx context.Context, index int) (core.Device, error) {
	inner, err := b.inner.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	d := newDevice(b, inner, index)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.devices[d] = struct{}{}
	return d, nil
}

// Close closes the backend below, and all devices with it.
func (b *backend) Close() error {
	b.mu.Lock()
	open := b.devices
	b.devices = map[*device]struct{}{}
	b.mu.Unlock()
	err := b.inner.Close()
	for d := range open {
		d.end()
	}
	return err
}
