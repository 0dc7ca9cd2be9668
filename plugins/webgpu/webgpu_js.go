package webgpu

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

func init() { core.Register(Name, New) }

// New returns the backend. The error is ErrNotFound, with the remedy, if the browser has no WebGPU or no adapter, and ErrAttr for unknown
// options and values that do not parse. New waits for the browser: it must not be called from a function that JavaScript calls.
func New(c core.Config) (core.Backend, error) {
	o := gpu.Options{NoCache: true} // the browser keeps compiled kernels
	for name, text := range c.Options {
		var err error
		switch name {
		case "memory_limit":
			o.MemoryLimit, err = strconv.ParseInt(text, 10, 64)
		case "plain":
			o.Plain, err = strconv.ParseBool(text)
		default:
			return nil, fmt.Errorf("webgpu: option %q, want memory_limit or plain: %w", name, core.ErrAttr)
		}
		if err != nil {
			return nil, fmt.Errorf("webgpu: option %s: %w: %w", name, core.ErrAttr, err)
		}
	}
	d, err := webgpu.New(context.Background(), browser{}, webgpu.Options{Name: Name, Version: Version})
	if err != nil {
		return nil, fmt.Errorf("webgpu: %w", err)
	}
	return gpu.New(d, o), nil
}
