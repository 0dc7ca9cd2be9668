// Package torch calls PyTorch's libraries through their stable C ABI (aoti_torch_*, torch_*) without cgo: it finds and loads an
// installation, creates tensors and views, and calls operators by name. Package libtorch, which maps ops of burn to operators, calls it.
// It must not depend on ops of burn.
//
// Functions are looked up by name and may be missing: the symbols that an installation exports, not its version, determine its features. No
// function of torch may be called before Load. Load prints nothing.
package torch

import (
	"errors"
	"strconv"
)

// ErrMissing is wrapped by errors that report that torch, or a function of it, is missing.
var ErrMissing = errors.New("missing")

// ErrOutOfMemory is wrapped by errors that report that torch could not allocate memory.
var ErrOutOfMemory = errors.New("out of memory")

// Handle refers to a tensor of torch. The caller that receives a handle owns it and must pass it to Delete.
type Handle uintptr

// Type is torch's number of an element type.
type Type int32

// The element types, with the numbers of c10::ScalarType, which do not change.
const (
	Uint8    Type = 0
	Int8     Type = 1
	Int16    Type = 2
	Int32    Type = 3
	Int64    Type = 4
	Float16  Type = 5
	Float32  Type = 6
	Float64  Type = 7
	Bool     Type = 11
	BFloat16 Type = 15
)

// Device identifies a device by torch's numbers.
type Device struct {
	Kind  int32 // a number of c10::DeviceType: CPU, CUDA
	Index int32
}

// The kinds of devices.
const (
	CPU  int32 = 0
	CUDA int32 = 1
	XPU  int32 = 12
	MPS  int32 = 13
)

// Name returns torch's name of a kind of device.
func Name(kind int32) string {
	switch kind {
	case CPU:
		return "cpu"
	case CUDA:
		return "cuda"
	case XPU:
		return "xpu"
	case MPS:
		return "mps"
	}
	return "device" + strconv.Itoa(int(kind))
}

// String returns torch's name of a device, such as cpu or cuda:0.
func (d Device) String() string {
	if d.Kind == CPU {
		return Name(d.Kind)
	}
	return Name(d.Kind) + ":" + strconv.Itoa(int(d.Index))
}
