package router

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
	"github.com/goburn/burn/decorators/internal/lane"
)

// Option configures a router.
type Option func(*config)

type config struct {
	strict     bool
	onFallback func(Fallback)
	onError    func(error)
	split      bool
	planted    Costs
	timed      func(p *program.Program, units []*place.Unit, members []int) time.Duration // replaces the clock in tests: duration of a run
	file       string
	limits     []int64
	held       int64
}

// Strict makes nodes fail with core.ErrUnsupported if their preferred member does not claim them, instead of running them on another one.
// The capabilities of the device are then those of the main member.
func Strict() Option { return func(c *config) { c.strict = true } }

// HeldBytes bounds the bytes of elements in transfer to a member that a stream keeps on the host, 256 MiB by default. A stream
// that would keep more waits for earlier transfers; a single tensor may be larger.
func HeldBytes(n int64) Option { return func(c *config) { c.held = n } }

// For each op and class of shapes, OnFallback calls f for the first node that does not run on its preferred member. f is called from the
// goroutine that submits the node, and must be safe for concurrent use and quick.
func OnFallback(f func(Fallback)) Option { return func(c *config) { c.onFallback = f } }

// Fallback says which nodes run on another member than their preferred one.
type Fallback struct {
	Op       string
	Class    string // types of the operands, with sizes rounded up to powers of two: "f32 2^10, i64 2^0"
	From, To string // specs of the members
	Reason   error  // why the preferred member does not run it
}

// String prints "sort of f32 2^10 runs on builtin:cpu:0, as cuda:0 does not claim it: REASON".
func (f Fallback) String() string {
	return fmt.Sprintf("%s of %s runs on %s, as %s does not claim it: %v", f.Op, f.Class, f.To, f.From, f.Reason)
}

// Router joins several devices into a core.Backend with one device.
type Router struct {
	config
	places []*core.Place

	mu      sync.Mutex
	devices map[*device]struct{}
}

var _ core.Backend = (*Router)(nil)

// New returns a router over the devices of places. The first is the main member. Places may share a backend. The router then owns the
// backends and closes each of them once. New returns core.ErrNotFound if there are no places, and core.ErrUnsupported if there are more
// than 64.
func New(places []*core.Place, options ...Option) (*Router, error) {
	if len(places) == 0 {
		return nil, fmt.Errorf("router: no places, want one at least: %w", core.ErrNotFound)
	}
	if len(places) > place.MaxMembers {
		return nil, fmt.Errorf("router: %d places, at most %d: %w", len(places), place.MaxMembers, core.ErrUnsupported)
	}
	r := &Router{places: places, devices: map[*device]struct{}{}, config: config{held: 256 << 20}}
	for _, o := range options {
		o(&r.config)
	}
	return r, nil
}

// Info describes the one device: "router<cuda,cpu>".
func (r *Router) Info() core.Info {
	var names, versions, devices, specs []string
	info := core.Info{Vendor: "burn"}
	dev := core.DeviceInfo{Kind: "router"}
	for _, p := range r.places {
		i := p.Backend.Info()
		names, versions, specs = append(names, i.Name), append(versions, i.Version), append(specs, p.Spec)
		if p.Index < len(i.Devices) {
			devices = append(devices, i.Devices[p.Index].Name)
			dev.Memory += i.Devices[p.Index].Memory
		}
	}
	info.Name, info.Version = "router<"+strings.Join(names, ",")+">", versions[0]
	dev.Name, dev.Detail = strings.Join(devices, " + "), strings.Join(specs, " + ")
	info.Devices = []core.DeviceInfo{dev}
	return info
}

// Open opens all members.
func (r *Router) Open(ctx context.Context, index int) (core.Device, error) {
	if index != 0 {
		return nil, fmt.Errorf("router: device %d, want 0: %w", index, core.ErrNotFound)
	}
	d, err := open(ctx, r)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.devices[d] = struct{}{}
	r.mu.Unlock()
	return d, nil
}

// Close closes all devices and then the backends of the members.
func (r *Router) Close() error {
	r.mu.Lock()
	open := r.devices
	r.devices = map[*device]struct{}{}
	r.mu.Unlock()
	for d := range open {
		d.end()
	}
	var err error
	for i, p := range r.places {
		if !r.shared(i) {
			err = errors.Join(err, lane.IgnoreLost(p.Backend.Close()))
		}
	}
	return err
}

// shared reports whether place i has the same backend as an earlier one.
func (r *Router) shared(i int) bool {
	for _, q := range r.places[:i] {
		if same(q.Backend, r.places[i].Backend) {
			return true
		}
	}
	return false
}

// same reports whether a and b are the same backend.
func same(a, b core.Backend) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// On returns a view of stream s of a router with the given preferred member, an index: tensors that are written and nodes that are
// submitted through the view prefer that member, so that op.Copy copies a tensor to that member. The view and s are the same queue, and the
// concurrency rule of core.Stream holds for both together. If s is not a stream of a router, or the member does not exist, On returns
// core.ErrAttr.
func On(s core.Stream, member int) (core.Stream, error) {
	own, ok := s.(*stream)
	if !ok || member < 0 || member >= len(own.dev.members) {
		return nil, fmt.Errorf("router: on member %d: not a stream or member of a router: %w", member, core.ErrAttr)
	}
	return &stream{own.queue, member}, nil
}
