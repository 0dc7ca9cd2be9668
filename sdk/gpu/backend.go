package gpu

import (
	"context"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/engine"
)

// Options are settings of a backend. The zero value is ready for use.
type Options struct {
	// MemoryLimit bounds the bytes that are allocated on a device; 0: no limit.
	MemoryLimit int64
	// Cache is the folder for compiled kernels; empty: "burn/kernels" in the user's cache directory. NoCache keeps nothing on disk.
	Cache   string
	NoCache bool
	// CacheLimit bounds the bytes of the folder, 256 MiB by default.
	CacheLimit int64
	// Plain starts the steps of programs one by one, without device graphs, and waits for each step, so that the error of a fault names the
	// node. The variable BURN_GPU_PLAIN=1 in the environment sets it.
	Plain bool
	// Poison, if it is not 0, is the byte with which results and scratch memory are filled before each run. This reveals kernels that read
	// unwritten memory: 255 turns floats into NaN and indices into -1. Poison slows runs down and is meant for tests.
	Poison byte
	// InOrder runs the steps of device graphs one after the other. Otherwise independent steps may run at the same time.
	InOrder bool
	// NoLibraries leaves the vendor's libraries unused.
	NoLibraries bool
	// ChannelsFirst keeps the images of convolutions in programs in row-major order. If it is not set, and a library computes convolutions
	// in that layout, the channels of images come last in memory.
	ChannelsFirst bool
	// NoDirect computes convolutions of few channels as matrix products, or leaves them to libraries. If it is not set, such convolutions
	// have their own kernels.
	NoDirect bool
	// TF32 lets libraries round factors of f32 to 10 bits of mantissa.
	TF32 bool
	// Staging bounds the bytes of host memory for copies to and from a device, 256 MiB by default.
	Staging int64
	// Plans bounds the bytes of the plans that are kept for nodes, 64 MiB by default.
	Plans int64
	// GraphSteps bounds the steps of all device graphs of a stream, 65536 by default.
	GraphSteps int
	// padFrom, if it is not 0, replaces padMinimum and lets products of all types have padded lines, in tests.
	padFrom int
	// keepFrom, if it is not 0, replaces keepMost in tests.
	keepFrom int
	// Lost is called once for each device that is lost after a fault, from any goroutine. It may be nil.
	Lost func(device int, err error)
}

const (
	plainVariable     = "BURN_GPU_PLAIN"
	defaultCacheLimit = 256 << 20
	defaultStaging    = 256 << 20
	defaultPlans      = 64 << 20
	defaultGraphSteps = 1 << 16
)

func (o Options) withDefaults() Options {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.CacheLimit, defaultCacheLimit)
	set(&o.Staging, defaultStaging)
	set(&o.Plans, defaultPlans)
	if o.GraphSteps == 0 {
		o.GraphSteps = defaultGraphSteps
	}
	o.Plain = o.Plain || os.Getenv(plainVariable) == "1"
	return o
}

// folder returns the folder for compiled kernels of a backend, empty for none.
func (o *Options) folder(backend string) string {
	if o.NoCache {
		return ""
	}
	if o.Cache != "" {
		return o.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "burn", "kernels", backend)
}

// New returns a backend over a driver.
func New(d Driver, o Options) core.Backend {
	return engine.New[*block](&author{driver: d, options: o.withDefaults()})
}

// author implements engine.Driver over a Driver.
type author struct {
	driver  Driver
	options Options
}

// Info implements engine.Driver.
func (a *author) Info() core.Info { return a.driver.Info() }

// Open implements engine.Driver.
func (a *author) Open(ctx context.Context, index int) (engine.Device[*block], error) {
	hw, err := a.driver.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	return newDevice(a, index, hw), nil
}

// Close implements engine.Driver.
func (a *author) Close() error { return a.driver.Close() }
