// Package metal is the backend for GPUs of Macs: package sdk/gpu over a driver that calls Metal through the interfaces of package calls.
// Kernels are texts in Metal's language that the system compiles when they are needed; Metal is called without cgo. The backend runs in a
// process of its own, cmd/burn-backend-metal. Nobody has run it on a Mac yet: docs/METAL.md lists what was tested without a Mac.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on a device, with an optional suffix K, M, G or
// T (powers of 1024). "plain" is true or false: whether the backend waits for each kernel, so that the error of a fault names the node.
// "patience" is how long work may take before the device counts as lost, two minutes by default. "cache" is the folder of texts of kernels;
// "off" keeps none. BURN_METAL_HIDE in the environment lists parts of Metal that count as missing: with mps, burn's own kernels compute all
// products, also those that Metal Performance Shaders could compute; with matrices, kernels use no simdgroup matrices.
package metal

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/apple"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
)

// Name is the name of the backend.
const Name = "metal"

// Version is the version of the backend.
const Version = "0.1.0"

// New returns the backend. The error is ErrNotFound, with the remedy, if there is no Metal or no GPU, and ErrAttr for unknown options and
// values that do not parse.
func New(c core.Config) (core.Backend, error) { return Opener(nil)(c) }

// Opener returns an opener like New, whose backends call lost once for each device that is lost after a fault. lost may be nil.
func Opener(lost func(device int, err error)) core.Opener { return Over(apple.New(), lost) }

// Over is like Opener, but its backends call another implementation of Metal. It is for tests.
func Over(api calls.API, lost func(device int, err error)) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		o, patience, err := gpu.ReadPatientOptions(Name, c)
		if err != nil {
			return nil, err
		}
		o.Lost = lost
		d, err := newDriver(api, patience)
		if err != nil {
			return nil, fmt.Errorf("metal: %w", err)
		}
		return gpu.New(d, o), nil
	}
}
