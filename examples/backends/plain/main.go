// Command burn-backend-plain is a complete backend over sdk/engine, written to be read: it has every primitive of the op table for the
// types that every backend must have. Tensors are Go slices with strides, and kernels are straightforward loops.
package main

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/sdk/serve"
)

func main() { serve.Main("plain", open) }

func open(core.Config) (core.Backend, error) { return engine.New(driver{}), nil }
