package ref

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// driver computes nodes through Eval. It has one device, every element type, and claims every op that it is configured to claim. It is
// meant for tests: of hosts, of decorators, and of the suite itself.
type driver struct {
	eval func(n *op.Node, in []Tensor) ([]Tensor, error)
	caps *core.Capabilities
}

// maxResult bounds the bytes of one result, so that nodes with impossible sizes fail.
const maxResult = 1 << 32

// Option configures New.
type Option func(*driver)

// Claiming limits the claimed ops to those that f accepts.
func Claiming(f func(op.Code) bool) Option {
	return func(d *driver) {
		for _, c := range op.All() {
			if !f(c) {
				delete(d.caps.Ops, c.String())
			}
		}
	}
}

// Evaluating replaces Eval, for backends with a planted fault.
func Evaluating(eval func(n *op.Node, in []Tensor) ([]Tensor, error)) Option {
	return func(d *driver) { d.eval = eval }
}

// Declaring changes the capability document, for devices with limits.
func Declaring(change func(*core.Capabilities)) Option {
	return func(d *driver) { change(d.caps) }
}

// New opens the backend. It claims the whole table unless an option says otherwise.
func New(options ...Option) core.Backend {
	d := &driver{eval: Eval, caps: &core.Capabilities{
		Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank}, Deterministic: true,
		Features: []string{"programs", "memory_stats"},
	}}
	for _, c := range op.All() {
		if row := op.Lookup(c); Has(c) {
			d.caps.Ops[row.Name] = core.Claim(row, claimed(row))
		}
	}
	for _, o := range options {
		o(d)
	}
	return engine.New(d)
}

// claimed returns every type of the first operand, or of the result of an op without operands.
func claimed(row *op.Row) dtype.Set {
	if len(row.Operands) > 0 {
		return row.Operands[0].Types
	}
	return dtype.Any
}

// Info implements engine.Driver.
func (d *driver) Info() core.Info {
	return core.Info{Name: "ref", Version: "1.0.0", Vendor: "burn",
		Devices: []core.DeviceInfo{{Name: "reference", Kind: "cpu", Detail: "slow and obvious"}}}
}

// Open implements engine.Driver.
func (d *driver) Open(context.Context, int) (engine.Device[Tensor], error) { return device{d}, nil }

// Close implements engine.Driver.
func (d *driver) Close() error { return nil }

// device is the device of a driver. It keeps nothing between calls.
type device struct{ d *driver }

// Capabilities implements engine.Device.
func (v device) Capabilities() *core.Capabilities { return v.d.caps }

// Upload implements engine.Device.
func (v device) Upload(d op.Desc, data []byte) (Tensor, error) { return FromBytes(d, data) }

// Download implements engine.Device.
func (v device) Download(dst []byte, _ op.Desc, t Tensor) error {
	copy(dst, t.Bytes())
	return nil
}

// Release implements engine.Device.
func (v device) Release(Tensor) {}

// OpenQueue implements engine.Device.
func (v device) OpenQueue() (engine.Queue[Tensor], error) { return queue{v.d}, nil }

// Close implements engine.Device.
func (v device) Close() {}

type queue struct{ d *driver }

// Execute implements engine.Queue.
func (q queue) Execute(c *engine.Call[Tensor]) error {
	if err := q.d.caps.Check(c.Node, c.Descs); err != nil {
		return err
	}
	for _, d := range c.Node.Outputs {
		if d.Bytes() > maxResult {
			return fmt.Errorf("result %v: %w", d, core.ErrOutOfMemory)
		}
	}
	outs, err := q.d.eval(c.Node, c.In)
	copy(c.Out, outs)
	return err
}

// Close implements engine.Queue.
func (q queue) Close() {}
