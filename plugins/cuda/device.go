package cuda

import (
	"context"
	"fmt"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device is an opened device.
type device struct {
	*streams.GPU
	libs      *nv.Libraries
	facts     facts
	compiler  compiler
	libraries library.List
}

var (
	_ gpu.Device  = (*device)(nil)
	_ gpu.Grapher = (*device)(nil)
)

// classes are the alignments for which algorithms of cuBLASLt are requested: 256 bytes, the alignment of tensors, and less for operands
// that begin within a tensor.
var classes = []library.Class{{Align: 256, Most: 3}, {Align: 16, Most: 1}, {Align: 1, Most: 1}}

func newDevice(d *driver, dev nv.Device, ctx nv.Context) (*device, error) {
	f, err := readFacts(d.cuda, dev)
	if err != nil {
		return nil, err
	}
	x := &device{GPU: streams.Open(Name, d.cuda, ctx, dialect.CUDA), libs: d.libs, facts: f}
	if d.libs.Lt != nil {
		x.libraries = append(x.libraries, library.NewProducts(library.ProductOptions{Name: "cuBLASLt", Version: d.libs.Report.Row("cublaslt").Version, Device: x.GPU, Lt: d.libs.Lt.Lt, Classes: classes}))
	}
	if d.libs.DNN != nil {
		x.libraries = append(x.libraries, newDNN(x, newPlans(d.cache, fmt.Sprintf("cuDNN %d, driver %d, %d.%d, %d multiprocessors",
			d.libs.DNN.Version, d.libs.Driver.Version, f.capability/10, f.capability%10, f.units))))
	}
	if x.compiler, err = newCompiler(d.libs, f.capability, d.cache); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
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
func (d *device) Libraries() []gpu.Library { return d.libraries.Libraries() }

// Close implements gpu.Device.
func (d *device) Close() {
	d.libraries.Close(d.GPU)
	d.GPU.Close()
}
