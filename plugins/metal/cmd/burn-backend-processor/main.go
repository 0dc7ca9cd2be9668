//go:build linux

// Command burn-backend-processor is the metal backend without Metal, as a plugin process for tests: clang++ compiles kernels in Metal's
// language for the processor, which executes them thread by thread. It must not be shipped. The folder include beside the executable
// contains the header that declares Metal's library; compiled kernels are kept in the folder texts beside it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal"
	"github.com/goburn/burn/plugins/metal/internal/processor"
	"github.com/goburn/burn/sdk/serve"
)

func main() { serve.Main(metal.Name, open) }

func open(c core.Config) (core.Backend, error) {
	dir := os.Getenv("BURN_PLUGIN_DIR") // set where a copy of the executable runs
	if dir == "" {
		path, err := os.Executable()
		if err != nil {
			return nil, err
		}
		dir = filepath.Dir(path)
	}
	api, err := processor.New(processor.Options{Include: filepath.Join(dir, "include"), Folder: filepath.Join(dir, "texts"),
		Name: "no GPU: kernels are executed as programs of the processor"})
	if err != nil {
		return nil, fmt.Errorf("metal on the processor: %w", err)
	}
	return metal.Over(api, func(device int, err error) {
		fmt.Fprintf(os.Stderr, "metal:%d is lost: %v\n", device, err)
		os.Exit(3)
	})(c)
}
