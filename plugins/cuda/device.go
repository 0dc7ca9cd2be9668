package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device is an opened device.
type device struct {
	*streams.GPU
	libs     *nv.Libraries
	facts    facts
	compiler compiler
	lt       *lt  // nil where it is missing
	dnn      *dnn // nil where it is missing
}

var (
	_ gpu.Device  = (*device)(nil)
	_ gpu.Grapher = (*device)(nil)
)

func newDevice(d *driver, dev nv.Device, ctx nv.Context) (*device, error) {
	f, err := readFacts(d.cuda, dev)
	if err != nil {
		return nil, err
	}
	x := &device{GPU: streams.Open(Name, d.cuda, ctx, dialect.CUDA), libs: d.libs, facts: f}
	if d.libs.Lt != nil {
		x.lt = &lt{device: x}
	}
	if d.libs.DNN != nil {
		x.dnn = newDNN(x, newPlans(d.cache, fmt.Sprintf("cuDNN %d, driver %d, %d.%d, %d multiprocessors",
			d.libs.DNN.Version, d.libs.Driver.Version, f.capability/10, f.capability%10, f.units)))
	}
	x.compiler, err = newCompiler(d.libs, f.capability, d.cache)
	return x, err
}

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.facts.target() }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.compiler.name }

// Compile implements gpu.Device.
func (d *device) Compile(_ context.Context, text string) ([]byte, error) {
	return d.compiler.compile(text)
}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library {
	var all []gpu.Library
	if d.lt != nil {
		all = append(all, d.lt)
	}
	if d.dnn != nil {
		all = append(all, d.dnn)
	}
	return all
}

// Close implements gpu.Device.
func (d *device) Close() {
	_ = d.Do("close", func() error { // a lost device has no handles
		var errs []error
		if d.lt != nil {
			errs = append(errs, d.lt.close())
		}
		if d.dnn != nil {
			errs = append(errs, d.dnn.close())
		}
		return errors.Join(errs...)
	})
	d.GPU.Close()
}
