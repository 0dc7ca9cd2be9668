package libtorch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/machine"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// driver is the loaded torch with its devices.
type driver struct {
	lib     *torch.Library
	devices []torch.Device
	info    core.Info
	broken  refusals // kernels that failed in the self-test; they are not claimed
	apart   bool     // for tests: the cpu is used like a device with memory of its own
	check   bool     // see device.check
}

var _ engine.Driver[*tensor] = (*driver)(nil)

func newDriver(lib *torch.Library, place torch.Place, broken refusals, check bool) *driver {
	d := &driver{lib: lib, broken: broken, check: check, info: core.Info{Name: Name, Version: Version, Vendor: "burn"}}
	detail := fmt.Sprintf("torch %s in %s (%s)", lib.Version, lib.Folder, place.By)
	if lib.Shim != "" {
		detail += ", by the shim " + lib.Shim
	}
	if n := lib.Computes(); n > 0 {
		detail += fmt.Sprintf(", %d threads", n)
	}
	if text := lacks(lib); text != "" {
		detail += "; " + text
	}
	var refused []string
	for name, r := range broken {
		refused = append(refused, fmt.Sprintf("%s of %v (%s)", name, r.Types, r.Why))
	}
	slices.Sort(refused)
	if refused != nil {
		detail += "; not claimed after the self-test: " + strings.Join(refused, ", ")
	}
	for _, kind := range []int32{torch.CPU, torch.CUDA} {
		for i := range lib.Devices(kind) {
			on := torch.Device{Kind: kind, Index: int32(i)}
			d.devices = append(d.devices, on)
			info := core.DeviceInfo{Index: len(d.devices) - 1, Name: "torch " + on.String(), Kind: "gpu", Memory: lib.DeviceMemory(on), Detail: detail}
			if kind == torch.CPU {
				info.Kind, info.Memory = "cpu", machine.Memory()
			}
			d.info.Devices = append(d.info.Devices, info)
		}
	}
	return d
}

// lacks lists the features for which this torch has no functions.
func lacks(lib *torch.Library) string {
	var text []string
	if !lib.Lists() {
		text = append(text, "no lists in calls of operators (torch 2.10 has them)")
	}
	if !lib.Words() {
		text = append(text, "errors by standard error (torch 2.13 returns them)")
	}
	if !lib.Adopts() {
		text = append(text, "no lent memory (torch 2.11)")
	}
	return strings.Join(text, ", ")
}

// Info implements engine.Driver.
func (d *driver) Info() core.Info { return d.info }

// Open implements engine.Driver.
func (d *driver) Open(_ context.Context, index int) (engine.Device[*tensor], error) {
	if index < 0 || index >= len(d.devices) {
		return nil, fmt.Errorf("libtorch: device %d, there are %d: %w", index, len(d.devices), core.ErrNotFound)
	}
	return d.open(index), nil
}

func (d *driver) open(index int) *device {
	x := &device{lib: d.lib, on: d.devices[index], check: d.check, consts: map[key]torch.Handle{}}
	x.reads, x.lists = x.on.Kind == torch.CPU && !d.apart, d.lib.Lists()
	x.fuses = d.lib.Lists() && d.lib.Shim == ""
	x.flash = x.on.Kind == torch.CPU && d.lib.Shim == "" && d.lib.Symbol(flashSymbol) != 0
	x.shim = newShims(d.lib, torch.Name(x.on.Kind))
	x.limit = d.info.Devices[index].Memory
	if x.limit <= 0 {
		x.limit = 1 << 40
	}
	x.caps = &core.Capabilities{Types: held, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank, Bytes: x.limit},
		Deterministic: x.on.Kind == torch.CPU, Features: []string{"programs", "memory_stats"}}
	for code, r := range rules {
		row := op.Lookup(code)
		if b := d.broken[row.Name]; b != nil {
			r.types &^= b.Types
		}
		if r.types == 0 || !r.runs(d.lib) || r.needs&needsFlash != 0 && !x.flash {
			continue
		}
		if d.lib.Shim != "" {
			r = older(code, r)
		}
		for len(x.table) <= int(code) {
			x.table = append(x.table, rule{})
		}
		x.table[code] = r
		x.caps.Ops[row.Name] = core.Claim(row, r.types)
	}
	return x
}

// Close implements engine.Driver.
func (d *driver) Close() error { return nil }
