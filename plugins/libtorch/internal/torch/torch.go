// Package torch calls PyTorch's libraries through their stable C ABI (aoti_torch_*, torch_*) without cgo: it finds and loads an
// installation, makes tensors and views, and calls operators by name. It knows no op of burn; package libtorch above it does.
//
// Functions are looked up by name and may be missing: what an installation can do follows from the symbols that it exports, not from
// its version. Nothing here is called before Load, and Load prints nothing.
package torch

import (
	"errors"
	"strconv"
)

// ErrMissing is wrapped by errors that say that there is no torch, or that it lacks a function.
var ErrMissing = errors.New("missing")

// ErrOutOfMemory is wrapped by failures of torch to allocate.
var ErrOutOfMemory = errors.New("out of memory")

// Handle is a tensor of torch. It is owned by whoever got it, until Delete.
type Handle uintptr

// Type is an element type as torch numbers them.
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

// Device is a device as torch numbers them.
type Device struct {
	Kind  int32 // of c10::DeviceType: CPU, CUDA
	Index int32
}

// The kinds of devices.
const (
	CPU  int32 = 0
	CUDA int32 = 1
	XPU  int32 = 12
	MPS  int32 = 13
)

// Name returns how torch writes a kind of device.
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

// String writes a device as torch does: cpu, cuda:0.
func (d Device) String() string {
	if d.Kind == CPU {
		return Name(d.Kind)
	}
	return Name(d.Kind) + ":" + strconv.Itoa(int(d.Index))
}
