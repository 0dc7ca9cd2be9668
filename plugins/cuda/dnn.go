package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// dnn is cuDNN as a gpu.Library: convolutions, their gradients, and attention of types of 16 bits. Creating a plan takes milliseconds, and
// programs need many plans, so several lanes create them at the same time.
type dnn struct {
	library.None
	device *device
	plans  *plans
	lanes  library.Lanes[*nv.DNNHandle]
}

// lane is a lock with a handle of cuDNN, which is nil until it is needed.
type lane = library.Lane[*nv.DNNHandle]

func newDNN(d *device, p *plans) *dnn { return &dnn{device: d, plans: p} }

// Name implements gpu.Library.
func (l *dnn) Name() string { return "cuDNN" }

// Version implements gpu.Library.
func (l *dnn) Version() string { return l.device.libs.Report.Row("cudnn").Version }

var _ streams.Native = (*planned)(nil)

var dnnTypes = map[dtype.DType]nv.DNNType{dtype.F32: nv.DNNF32, dtype.F16: nv.DNNF16, dtype.BF16: nv.DNNBF16}

func isHalf(t dtype.DType) bool { return t == dtype.F16 || t == dtype.BF16 }

// operandAlign is the alignment of operands in bytes.
const operandAlign = 16

// maxWorkspace is the largest workspace of a plan, in bytes.
const maxWorkspace = 256 << 20

// build creates a plan of the graph that fill builds. fill returns the tensors of the graph in the order of the call's arguments, and may
// put scalars into the pack. The graph and the options depend only on call, which describes the whole call.
func (l *dnn) build(what string, call any, o nv.PlanOptions, fill func(g *nv.DNNGraph, k *nv.Pack) ([]nv.Tensor, error)) ([]gpu.Candidate, error) {
	x := l.lanes.Take()
	defer x.Unlock()
	c := &planned{device: l.device, lane: x, what: what}
	err := l.device.Do(what, func() (err error) {
		if x.Handle == nil {
			if x.Handle, err = l.device.libs.DNN.NewHandle(); err != nil {
				x.Handle = nil
				return err
			}
		}
		g := x.Handle.NewGraph()
		if c.tensors, err = fill(g, &c.pack); err == nil {
			o.MaxWorkspace = maxWorkspace
			c.plan, err = l.plan(x, g, fmt.Sprintf("%T %+v", call, call), o)
		}
		return errors.Join(err, g.Close())
	})
	if err != nil {
		return nil, err
	}
	return []gpu.Candidate{c}, nil
}

// plan loads the saved plan of a graph, or creates and saves it. The lane is locked.
func (l *dnn) plan(x *lane, g *nv.DNNGraph, key string, o nv.PlanOptions) (*nv.Plan, error) {
	if saved := l.plans.get(key); saved != nil {
		p, err := x.Handle.LoadPlan(saved)
		if err == nil {
			return p, nil
		}
		l.plans.drop(key)
	}
	start := time.Now()
	p, err := g.Build(o)
	if err == nil && l.plans != nil && time.Since(start) >= l.plans.slow {
		if saved, err := p.Save(); err == nil { // some engines cannot be saved
			l.plans.put(key, saved)
		}
	}
	return p, err
}

// Close releases the handles. The context is current.
func (l *dnn) Close() error { return l.lanes.Close() }

// planned is a candidate with a plan of cuDNN.
type planned struct {
	device  *device
	lane    *lane
	what    string
	plan    *nv.Plan // the lane's lock guards this and the fields below
	pack    nv.Pack
	tensors []nv.Tensor
}

// Name implements gpu.Candidate.
func (c *planned) Name() string { return fmt.Sprintf("cuDNN %s, engine %d", c.what, c.plan.Engine) }

// Workspace implements gpu.Candidate.
func (c *planned) Workspace() int64 { return int64(c.plan.Workspace) }

// Ready implements gpu.Candidate.
func (c *planned) Ready(args []gpu.Ref) error {
	if len(args) != len(c.tensors) {
		return library.Refuse("cuDNN: %d operands, want %d", len(args), len(c.tensors))
	}
	return library.Aligned("cuDNN", args, func(int) int { return operandAlign })
}

// bind puts the operands of a call into the pack. The lane is locked.
func (c *planned) bind(args []gpu.Ref) {
	for i, r := range args {
		c.pack.Set(c.tensors[i], streams.Address(r))
	}
}

// Call implements gpu.Candidate.
func (c *planned) Call(x gpu.Queue, args []gpu.Ref, workspace gpu.Ref) error {
	q, l := x.(*streams.Queue), c.lane
	l.Lock()
	defer l.Unlock()
	c.bind(args)
	return q.Call(c.Name(), c.what+" by cuDNN", func(s nv.Stream) error {
		if err := l.Handle.SetStream(s); err != nil {
			return err
		}
		return c.plan.Execute(&c.pack, streams.Address(workspace))
	})
}

// Native implements streams.Native.
func (c *planned) Native() bool { return c.plan.NativeGraph }

// Populate implements streams.Native.
func (c *planned) Populate(args []gpu.Ref, workspace gpu.Ref, g nv.Graph) error {
	c.lane.Lock()
	defer c.lane.Unlock()
	c.bind(args)
	return c.plan.Populate(&c.pack, streams.Address(workspace), g)
}

// Update implements streams.Native.
func (c *planned) Update(args []gpu.Ref, workspace gpu.Ref, g nv.Graph) error {
	c.lane.Lock()
	defer c.lane.Unlock()
	c.bind(args)
	return c.plan.Update(&c.pack, streams.Address(workspace), g)
}

// Close implements gpu.Candidate.
func (c *planned) Close() {
	c.lane.Lock()
	defer c.lane.Unlock()
	_ = c.device.Do("close", c.plan.Close)
}
