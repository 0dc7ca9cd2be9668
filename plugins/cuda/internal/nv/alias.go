package nv

import (
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Package vendor finds libraries and calls them.
type (
	Search = vendor.Search
	Report = vendor.Report
	Row    = vendor.Row
	Error  = vendor.Error
	proc   = vendor.Proc
)

// The kinds of failure, of package vendor.
var (
	ErrMissing     = vendor.ErrMissing
	ErrNoDevice    = vendor.ErrNoDevice
	ErrOutOfMemory = vendor.ErrOutOfMemory
	ErrFault       = vendor.ErrFault
	ErrUnsupported = vendor.ErrUnsupported
)

// Handles of the driver API, and arguments of launches, of package streams.
type (
	Device   = streams.Device
	Context  = streams.Context
	Module   = streams.Module
	Function = streams.Function
	Stream   = streams.Stream
	Event    = streams.Event
	Ptr      = streams.Ptr
	Graph    = streams.Graph
	Node     = streams.Node
	Exec     = streams.Exec
	Dim      = streams.Dim
	Args     = streams.Args
)

// NewArgs returns n arguments, all zero.
func NewArgs(n int) *Args { return streams.NewArgs(n) }

// MemPool is a memory pool of the driver. The zero value means no pool.
type MemPool uintptr
