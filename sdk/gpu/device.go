package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device is the engine's device: memory, kernels and queues of a device of the driver.
type device struct {
	name    string
	index   int
	driver  Device
	grapher Grapher // nil: device graphs are not available or not wanted
	options Options
	words   template.Target // the hardware
	target  template.Target // the target that templates build for
	policy  group.Policy
	claims  *core.Capabilities
	kernel  program.Target // the ops with kernels
	pool    *pool
	host    *host
	kernels *kernels
	nodes   *nodeCache

	selective selective

	libraries []Library
	asking    sync.Mutex // guards the fields below
	asked     map[any]*answer
	faulty    map[Candidate]bool

	lost atomic.Pointer[error]

	mu     sync.Mutex // guards the fields below
	queues []*queue
	idle   []Queue // queues of the driver whose streams were closed
	stats  Stats
}

// Stats counts what a device has done, for tests and reports.
type Stats struct {
	Pool    PoolStats
	Kernels KernelStats
	// Steps counts the steps that were started one by one, not as parts of graphs.
	Steps int64
	// Graphs counts device graphs that were created, GraphRuns their runs, and GraphPatches the steps of graphs whose memory was changed.
	// GraphFailures counts programs that run without a graph because the driver could not create a graph.
	Graphs, GraphRuns, GraphPatches, GraphFailures int64
	// Nodes counts nodes that were executed by themselves, and NodePlans counts the plans created for such nodes.
	Nodes, NodePlans int64
	// LibraryCalls counts steps of plans that libraries compute, and Refusals candidates that did not accept the operands, or
	// failed.
	LibraryCalls, Refusals int64
	// Plans counts nodes whose plans are kept, and PlanBytes estimates the total size of these plans in bytes.
	Plans     int
	PlanBytes int64
}

// Statistics is an extension of devices of this package: counters, and the release of unused memory.
type Statistics interface {
	// Stats returns the counters at this moment.
	Stats() Stats
	// Trim waits for all streams, releases unused memory to the driver, and returns the number of released bytes.
	Trim() (int64, error)
}

var (
	_ engine.Device[*block]  = (*device)(nil)
	_ engine.Planner[*block] = (*device)(nil)
	_ engine.Meter           = (*device)(nil)
	_ engine.Extender        = (*device)(nil)
	_ Statistics             = (*device)(nil)
	_ Needs                  = (*device)(nil)
)

func newDevice(a *author, index int, hw Device) *device {
	info := a.driver.Info()
	d := &device{name: info.Name, index: index, driver: hw, options: a.options, words: hw.Target()}
	d.target = narrow.Widen(d.words)
	d.target.Products = d.options.NoDirect
	if g, ok := hw.(Grapher); ok && !d.options.Plain {
		d.grapher = g
	}
	d.selective.d = d
	d.policy = lower.Policy(d.target)
	own := lower.Capabilities(d.target)
	d.kernel = program.Target{Name: info.Name, Supports: func(n *op.Node, in []op.Desc) error { return lower.Supports(d.target, n, in) }}
	d.claims = claims(own)
	d.claims.Emulated, d.claims.Flushes = narrow.Emulated(d.words), d.words.Flushes&d.claims.Types
	var s *store
	if folder := d.options.folder(info.Name); folder != "" && hw.Dialect() != nil {
		s = newStore(folder, hw.Compiler(), d.options.CacheLimit)
	}
	d.kernels = newKernels(hw, s)
	d.pool = newPool(hw, d.options.MemoryLimit)
	d.pool.queues, d.pool.reclaim = d.opened, d.reclaim
	d.host = &host{device: hw, limit: d.options.Staging}
	d.nodes = newNodeCache(d.options.Plans)
	d.asked, d.faulty = map[any]*answer{}, map[Candidate]bool{}
	if !d.options.NoLibraries {
		d.libraries = hw.Libraries()
	}
	if len(d.libraries) > 0 {
		d.policy.Kinds |= group.Of(group.Product, group.Convolution)
		own := d.policy.Accept
		d.policy.Accept = func(g *group.Graph, x *group.Group) bool { return forLibrary(g, x) || own == nil || own(g, x) }
	}
	return d
}

// forLibrary reports whether a group may be offered to a library. The nodes that the library leaves become kernels.
func forLibrary(g *group.Graph, x *group.Group) bool {
	return (x.Kind == group.Product || x.Kind == group.Convolution) && len(x.Prologue) == 0 && g.Nodes[x.Anchor].Outputs[0].DType.IsFloat()
}

// claims returns the capability document of a device whose kernels have the capabilities own.
func claims(own *core.Capabilities) *core.Capabilities {
	c := *own
	c.Features = []string{"programs", "memory_stats", "host_memory", "peer_copy", "collectives", "profiling"}
	return &c
}

// Capabilities implements engine.Device.
func (d *device) Capabilities() *core.Capabilities { return d.claims }

// fault returns err. If err is the first that says that the device is lost, fault records it and calls Options.Lost.
func (d *device) fault(err error) error {
	if err == nil || !errors.Is(err, core.ErrBackendLost) {
		return err
	}
	if d.lost.CompareAndSwap(nil, &err) && d.options.Lost != nil {
		d.options.Lost(d.index, err)
	}
	return err
}

// dead returns the fault that ended the device, or nil while the device works.
func (d *device) dead() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// Upload implements engine.Device. The engine uses the queue instead, which is asynchronous.
func (d *device) Upload(op.Desc, []byte) (*block, error) {
	return nil, fmt.Errorf("%s: upload without a queue: %w", d.name, core.ErrUnsupported)
}

// Download implements engine.Device, as Upload does.
func (d *device) Download([]byte, op.Desc, *block) error {
	return fmt.Errorf("%s: download without a queue: %w", d.name, core.ErrUnsupported)
}

// Release implements engine.Device.
func (d *device) Release(b *block) { d.pool.release(b) }

// OpenQueue implements engine.Device.
func (d *device) OpenQueue() (engine.Queue[*block], error) {
	if err := d.dead(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	var dq Queue
	if n := len(d.idle) - 1; n >= 0 {
		dq, d.idle = d.idle[n], d.idle[:n]
	}
	d.mu.Unlock()
	if dq == nil {
		var err error
		if dq, err = d.driver.OpenQueue(); err != nil {
			return nil, d.fault(err)
		}
	}
	q := newQueue(d, dq)
	d.mu.Lock()
	d.queues = append(d.queues, q)
	d.mu.Unlock()
	return q, nil
}

// closeQueue keeps the driver's queue of q for another queue.
func (d *device) closeQueue(q *queue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, q.driver)
	for i, x := range d.queues {
		if x == q {
			d.queues = append(d.queues[:i:i], d.queues[i+1:]...)
			return
		}
	}
}

// opened returns the open queues.
func (d *device) opened() []*queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queues
}

// reclaim releases scratch memory and the plans that are kept for nodes. It reports whether it released anything.
func (d *device) reclaim() bool {
	some := false
	for _, q := range d.opened() {
		some = q.vacate() || some
	}
	return some
}

// Memory implements engine.Meter.
func (d *device) Memory() (inUse, reserved int64) {
	s := d.pool.statistics()
	return s.InUse, s.Reserved
}

func (d *device) count(f func(s *Stats)) {
	d.mu.Lock()
	f(&d.stats)
	d.mu.Unlock()
}

// Stats implements Statistics.
func (d *device) Stats() Stats {
	d.mu.Lock()
	s := d.stats
	d.mu.Unlock()
	s.Pool, s.Kernels = d.pool.statistics(), d.kernels.statistics()
	s.Plans, s.PlanBytes = d.nodes.size()
	return s
}

// Trim implements Statistics.
func (d *device) Trim() (int64, error) {
	d.reclaim()
	return d.pool.trim()
}

// Extend implements engine.Extender.
func (d *device) Extend(target any) bool {
	switch x := target.(type) {
	case *Statistics:
		*x = d
	case *Needs:
		*x = d
	case *core.Selective:
		if d.target.Bytes == 0 {
			return false
		}
		*x = &d.selective
	default:
		return false
	}
	return true
}

// Plan implements engine.Planner.
func (d *device) Plan(ctx context.Context, q engine.Queue[*block], p *program.Program, consts []engine.Const[*block]) (engine.Plan[*block], error) {
	blocks := make([]*block, len(consts))
	for i, c := range consts {
		blocks[i] = c.Value
	}
	return d.prepare(ctx, q.(*queue), p, blocks)
}

// Close implements engine.Device.
func (d *device) Close() {
	d.report()
	d.nodes.close()
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	for _, q := range idle {
		q.Close()
	}
	d.closeCandidates()
	d.host.close()
	d.kernels.close()
	d.pool.close()
	d.driver.Close()
}
