// Package rocm is the backend for AMD GPUs: package sdk/gpu over HIP, the runtime of ROCm 5.2 to 7. The runtime and its compiler are found
// when the backend is opened; building needs neither. The backend runs in its own process, cmd/burn-backend-rocm, because a fault of a
// kernel ends the process in which it happens. That process starts itself as children (package child): one child tries each library before
// the process itself loads the runtime. Other children compile, because hiprtc ends the process that calls it if it finds a device that it
// does not know.
//
// Options of core.Config: "memory_limit" is the greatest number of bytes that are allocated on a device, with an optional suffix K, M, G or
// T (powers of 1024). "plain" is true or false: whether kernels start one by one and the backend waits for each, so that the error of a
// fault names the node. "in_order" is true or false: whether the steps of programs never run at the same time. "cache" is the folder of
// compiled kernels; "off" keeps none. "tf32" is true or false: whether hipBLASLt may round the factors of products of f32 to 10 bits of
// mantissa.
//
// Variables of the environment: BURN_ROCM_HIDE lists libraries that are treated as missing (hip, hiprtc, hipblaslt, rocblas, miopen), and
// BURN_ROCM_PLAIN=1 is the option plain.
package rocm

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Name is the name of the backend.
const Name = "rocm"

// Version is the version of the backend.
const Version = "0.1.0"

// ChildFlag is the first argument of a program that runs as a child: it calls ChildMain with the arguments that follow.
const ChildFlag = child.Flag

// ChildMain is the main function of a child. It returns the exit status. out is a file to which libraries do not write.
func ChildMain(args []string, in io.Reader, out io.Writer) int {
	return amd.Children.Main(args, in, out)
}

// Opener returns an opener of backends. program is the path of this program, which calls ChildMain when its first argument is ChildFlag.
// lost is called once for each device that is lost after a fault, and that the process cannot use any more; it may be nil. The error of the
// opener is ErrNotFound, with the remedy, if the runtime, its compiler or a device is missing, and ErrAttr for unknown options and values
// that do not parse.
func Opener(program string, lost func(device int, err error)) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		o, err := gpu.ReadOptions(Name, c)
		if err != nil {
			return nil, err
		}
		o.Lost = lost
		found, err := child.Probe(program, child.Question{})
		if err != nil {
			return nil, fmt.Errorf("rocm: %w: %w", core.ErrNotFound, err)
		}
		d, err := newDriver(program, found)
		if err != nil {
			return nil, err
		}
		return gpu.New(d, o), nil
	}
}

// libraries loads the optional libraries while the first device is current, because hipBLASLt needs a handle to report its version.
func libraries(h *amd.HIP, found vendor.Report) *amd.Libraries {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if h.SetCurrent(1) != nil {
		return &amd.Libraries{}
	}
	return amd.LoadLibraries(found)
}

// newDriver loads the runtime that a probe has found, and returns the driver.
func newDriver(program string, found vendor.Report) (*driver, error) {
	var missing []error
	for i := range found {
		if row := &found[i]; row.Err != nil && amd.Required(row.Key) {
			missing = append(missing, fmt.Errorf("%s: %s", row.Library, row.Missing()))
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("rocm: %w: %w", core.ErrNotFound, errors.Join(missing...))
	}
	h, err := amd.LoadHIP(found.Row(amd.Runtime.Key).Path)
	if err != nil {
		return nil, fmt.Errorf("rocm: %w", streams.Sentinel(err))
	}
	d := &driver{hip: h, libs: libraries(h, found), found: found, info: core.Info{Name: Name, Version: Version, Vendor: "burn"},
		compilers: child.Compilers{Program: program, Name: "hiprtc", Library: found.Row(amd.Compiler.Key).Path, Hint: "a newer ROCm may know this device"}}
	for i := range h.Devices {
		info, err := d.describe(i)
		if err != nil {
			return nil, fmt.Errorf("rocm: device %d: %w", i, streams.Sentinel(err))
		}
		d.info.Devices = append(d.info.Devices, info)
	}
	return d, nil
}
