package cuda

import (
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// calls are the functions of NVIDIA's driver that the backend calls. There are two implementations: *nv.Driver has all functions, without
// cgo, and is the default; with the build tag cu, and cgo, the functions for devices, contexts, modules, memory, streams and events are
// called through gorgonia.org/cu, and the functions for graphs, pinned memory and large shared memory, which it lacks, through *nv.Driver.
// Both return the same errors, and the contracts are documented in package nv.
type calls interface {
	streams.Calls
	Attribute(dev nv.Device, a nv.Attribute) (int, error)
}

var _ calls = (*nv.Driver)(nil)
