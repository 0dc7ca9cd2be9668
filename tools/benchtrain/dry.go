package main

import (
	"context"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
)

// dryMemory is the memory of the device "builtin:dry", as much as an H200 has.
const dryMemory = 140 << 30

// dryBackend is a GPU of sdk/gpu that computes nothing: what is measured on it is memory, for models of any size and without a GPU.
type dryBackend struct{ core.Backend }

// dryDevice is the one that was opened last: decorators hide its extensions.
var dryDevice core.Device

func (b dryBackend) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, index)
	dryDevice = d
	return d, err
}

func init() {
	core.Register("dry", func(core.Config) (core.Backend, error) {
		d := emulated.New(emulated.Options{Dry: true, Memory: dryMemory})
		return dryBackend{gpu.New(d, gpu.Options{NoCache: true})}, nil
	})
}
