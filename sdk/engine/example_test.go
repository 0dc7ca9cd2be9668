package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/tensor"
)

// negating is a backend of one op. It is its own device and queue; the value of a tensor is its bytes.
type negating struct{}

func (negating) Info() core.Info {
	return core.Info{Name: "negating", Version: "0.1.0", Devices: []core.DeviceInfo{{Name: "host memory", Kind: "cpu"}}}
}

func (n negating) Open(context.Context, int) (engine.Device[[]byte], error) {
	return negatingDevice{}, nil
}
func (negating) Close() error { return nil }

type negatingDevice struct{}

func (negatingDevice) Capabilities() *core.Capabilities {
	row := op.Lookup(op.Neg)
	return &core.Capabilities{Types: dtype.Required, Ops: map[string]core.OpCapability{row.Name: core.Claim(row, dtype.SetOf(dtype.F32))},
		Limits: core.Limits{Rank: 8}, Deterministic: true}
}
func (negatingDevice) Upload(_ op.Desc, data []byte) ([]byte, error) {
	return append([]byte(nil), data...), nil
}
func (negatingDevice) Download(dst []byte, _ op.Desc, v []byte) error { copy(dst, v); return nil }
func (negatingDevice) Release([]byte)                                 {}
func (d negatingDevice) OpenQueue() (engine.Queue[[]byte], error)     { return d, nil }
func (negatingDevice) Close()                                         {}

func (negatingDevice) Execute(c *engine.Call[[]byte]) error {
	if c.Node.Op != op.Neg {
		return errors.ErrUnsupported
	}
	y := make([]float32, c.Node.Outputs[0].Shape.Size())
	for i, x := range dtype.Slice[float32](c.In[0]) {
		y[i] = -x
	}
	c.Out[0] = dtype.Bytes(y)
	return nil
}

// An author writes a driver, and the engine makes a backend of it.
func ExampleNew() {
	ctx := context.Background()
	place := &core.Place{Backend: engine.New(negating{}), Spec: "negating:0"}
	defer place.Close()
	dev, err := tensor.On(ctx, place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	y, err := tensor.Data[float32](ctx, tensor.From(dev, []float32{1, -2}, 2).Neg())
	fmt.Println(y, err)
	// Output: [-1 2] <nil>
}
