package nv

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Launch puts a kernel on a stream.
func (d *Driver) Launch(s Stream, f Function, grid, block Dim, shared uint32, a *Args) error {
	return d.check(&d.c.launch, d.c.launch.Quick11(uintptr(f), uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z), uintptr(shared), uintptr(s), uintptr(a.Table()), 0))
}

// LaunchOptions are the options of LaunchEx beyond a plain launch.
type LaunchOptions struct {
	Cluster     Dim  // blocks of a cluster; zero means no clusters
	Overlap     bool // the kernel may start before the previous kernel of the stream ends, and itself waits for that end (griddepcontrol)
	Cooperative bool // all blocks run at once and may wait for each other
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block Dim
	shared      uint32
	_           uint32
	stream      Stream
	attrs       *launchAttribute
	count       uint32
	_           uint32
}

// launchAttribute is CUlaunchAttribute: a number, and 64 bytes of value at offset 8.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// Numbers of launch attributes.
const (
	attributeCooperative = 2
	attributeCluster     = 4
	attributeOverlap     = 6
)

// extended contains the parameters of a launch with options.
type extended struct {
	config launchConfig
	attrs  [3]launchAttribute
}

var extendeds = sync.Pool{New: func() any { return new(extended) }}

// LaunchEx puts a kernel on a stream, with options.
func (d *Driver) LaunchEx(s Stream, f Function, grid, block Dim, shared uint32, a *Args, o LaunchOptions) error {
	if !d.c.launchEx.There() {
		return vendor.Missing(driverName, d.c.launchEx.Name)
	}
	x := extendeds.Get().(*extended)
	defer extendeds.Put(x)
	n := 0
	add := func(id uint32, value ...uint32) {
		x.attrs[n] = launchAttribute{id: id}
		copy(x.attrs[n].value[:], value)
		n++
	}
	if o.Cluster.X != 0 {
		add(attributeCluster, o.Cluster.X, max(o.Cluster.Y, 1), max(o.Cluster.Z, 1))
	}
	if o.Overlap {
		add(attributeOverlap, 1)
	}
	if o.Cooperative {
		add(attributeCooperative, 1)
	}
	x.config = launchConfig{grid: grid, block: block, shared: shared, stream: s, attrs: &x.attrs[0], count: uint32(n)}
	return d.check(&d.c.launchEx, d.c.launchEx.Quick(uintptr(unsafe.Pointer(&x.config)), uintptr(f), uintptr(a.Table()), 0))
}
