package rocm

import (
	"context"
	"fmt"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// driver implements gpu.Driver with the runtime and the compiler that were found.
type driver struct {
	hip       *amd.HIP
	libs      *amd.Libraries
	found     vendor.Report
	info      core.Info
	compilers child.Compilers
}

var _ gpu.Driver = (*driver)(nil)

// describe returns the description of a device before it is opened.
func (d *driver) describe(i int) (core.DeviceInfo, error) {
	info := core.DeviceInfo{Index: i, Kind: "gpu"}
	dev, err := d.hip.Device(i)
	if err != nil {
		return info, err
	}
	if info.Name, err = d.hip.Name(dev); err != nil {
		return info, err
	}
	total, err := d.hip.TotalMemory(dev)
	if err != nil {
		return info, err
	}
	f, err := readFacts(d.hip, dev)
	if err != nil {
		return info, err
	}
	details := []string{fmt.Sprintf("%s, %d compute units, waves of %d threads", f.architecture, f.units, f.wave)}
	for i := range d.found {
		details = append(details, d.found[i].Detail())
	}
	info.Memory, info.Detail = int64(total), strings.Join(details, "; ")
	return info, nil
}

// Info implements gpu.Driver.
func (d *driver) Info() core.Info { return d.info }

// Open implements gpu.Driver.
func (d *driver) Open(_ context.Context, index int) (gpu.Device, error) {
	x, err := d.open(index)
	if err != nil {
		return nil, fmt.Errorf("rocm: device %d: %w", index, streams.Sentinel(err))
	}
	return x, nil
}

func (d *driver) open(index int) (*device, error) {
	if index < 0 || index >= len(d.info.Devices) {
		return nil, fmt.Errorf("there are %d: %w", len(d.info.Devices), core.ErrNotFound)
	}
	dev, err := d.hip.Device(index)
	if err != nil {
		return nil, err
	}
	f, err := readFacts(d.hip, dev)
	if err == nil {
		err = f.usable()
	}
	if err != nil {
		return nil, err
	}
	ctx, err := streams.Primary(d.hip, dev)
	if err != nil {
		return nil, err
	}
	rtc := d.found.Row(amd.Compiler.Key)
	x := &device{GPU: streams.Open(Name, d.hip, ctx, dialect.HIP), facts: f, compilers: &d.compilers, options: append([]string{"--offload-arch=" + f.architecture}, dialect.HIP.Options...),
		compiler: fmt.Sprintf("hiprtc %s of HIP %d %s %s", rtc.Version, d.hip.Version, f.architecture, strings.Join(dialect.HIP.Options, " "))}
	x.link(d.libs, d.found)
	return x, nil
}

// Close implements gpu.Driver.
func (d *driver) Close() error {
	d.compilers.Close()
	return nil
}

// device is an opened device.
type device struct {
	*streams.GPU
	facts     facts
	compilers *child.Compilers
	options   []string // options of the compiler
	compiler  string
	libraries library.List
}

// link creates the libraries of a device, in the order in which they are queried.
func (d *device) link(l *amd.Libraries, found vendor.Report) {
	if l.Lt != nil {
		d.libraries = append(d.libraries, library.NewProducts(library.ProductOptions{Name: "hipBLASLt", Version: found.Row(amd.LtLibrary.Key).Version, Device: d.GPU, Lt: l.Lt.Lt,
			Classes: ltClasses, Refuse: ltRefuses}))
	}
	if l.BLAS != nil {
		d.libraries = append(d.libraries, &blas{device: d, b: l.BLAS})
	}
	if l.DNN != nil {
		d.libraries = append(d.libraries, &dnn{device: d, m: l.DNN})
	}
}

var (
	_ gpu.Device  = (*device)(nil)
	_ gpu.Grapher = (*device)(nil)
)

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.facts.target() }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.compiler }

// Compile implements gpu.Device. If the text does not compile, the error is ErrKernel.
func (d *device) Compile(ctx context.Context, text string) ([]byte, error) {
	code, err := d.compilers.Compile(ctx, text, d.options)
	return code, streams.Named(Name, "compilation for "+d.facts.architecture, err)
}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library { return d.libraries.Libraries() }

// Close implements gpu.Device.
func (d *device) Close() {
	d.libraries.Close(d.GPU)
	d.GPU.Close()
}
