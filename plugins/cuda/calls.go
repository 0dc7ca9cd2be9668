package cuda

import (
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// calls are the functions of the NVIDIA driver that the backend calls. The interface has two implementations. The default is *nv.Driver,
// which has all functions and needs no cgo. The other implementation, with the build tag cu and cgo, calls the functions for devices,
// contexts, modules, memory, streams and events through gorgonia.org/cu, and through *nv.Driver the functions that gorgonia.org/cu lacks:
// for graphs, pinned memory and large shared memory. Both return the same errors, and the contracts are documented in package nv.
type calls interface {
	streams.Calls
	Attribute(dev nv.Device, a nv.Attribute) (int, error)
}

var _ calls = (*nv.Driver)(nil)
