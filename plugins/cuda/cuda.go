// Package cuda is the backend for NVIDIA GPUs: package sdk/gpu over the NVIDIA driver. The driver and its libraries are found when the
// backend is created: building needs none of them, and running needs only the driver. The backend has its own process,
// cmd/burn-backend-cuda, because a fault of a kernel ends the process.
//
// The driver is called through purego or, with cgo and the build tag cu, through gorgonia.org/cu if that module has the function
// (calls.go). `make plugins-cuda` builds the plugin with gorgonia.org/cu if headers of CUDA 12 are available. Both binaries start without a
// driver.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on a device, with an optional suffix K, M, G or
// T (powers of 1024). "tf32" is true or false: whether products and convolutions of f32 may round their factors to 10 bits of mantissa,
// which is faster; false is the default. "plain" is true or false: whether kernels start one by one and the backend waits for each, so that
// the error of a fault names the node. "in_order" is true or false: whether the steps of programs never run at the same time. "cache" is
// the folder of compiled kernels; "off" keeps none.
//
// Variables of the environment: BURN_CUDA_HIDE lists libraries that are treated as missing (driver, nvrtc, cublaslt, cudnn, nccl), and
// BURN_CUDA_PLAIN=1 is the option plain.
//
// The package must not contain kernels or rules of ops: those are in sdk/gpu and its packages. Streams, events and CUDA graphs
// are in sdk/gpu/streams.
//
// # Files, in the order of the data
//
//	cuda.go, driver.go              options, and the devices that the driver reports
//	calls.go, calls_nv.go, calls_cu.go  the driver's functions, by purego or gorgonia.org/cu
//	facts.go, device.go             the properties of a device; memory and modules
//	compiler.go                     NVRTC
//	dnn*.go                         convolutions and attention by cuDNN; products by cuBLASLt are package library
//	plans.go, errata.go             cuDNN plans saved on disk; faults of library versions
//	internal/nv                     the binding to NVIDIA's libraries
package cuda

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

// Name is the name of the backend.
const Name = "cuda"

// Version is the version of the backend.
const Version = "0.1.0"

// New returns the backend. The error is ErrNotFound, with the remedy, if there is no driver or no device, and ErrAttr for unknown options
// and values that do not parse.
func New(c core.Config) (core.Backend, error) { return Opener(nil)(c) }

// Opener returns an opener like New, whose backends call lost, which may be nil, once for each device that is lost after a fault. The
// process cannot use such a device any more: a program that has nothing else to do should end in lost.
func Opener(lost func(device int, err error)) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		o, err := options(c)
		if err != nil {
			return nil, err
		}
		o.Lost = lost
		d, err := newDriver(libraries(), o.Cache)
		if err != nil {
			return nil, err
		}
		return gpu.New(d, o), nil
	}
}

func options(c core.Config) (gpu.Options, error) { return gpu.ReadOptions(Name, c) }
