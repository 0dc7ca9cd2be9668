//go:build !js

package webgpu

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// New fails: there is no browser around the program.
func New(core.Config) (core.Backend, error) {
	return nil, fmt.Errorf("webgpu: this program is not compiled for js/wasm, plugins/wgpu uses the GPU without a browser: %w", core.ErrUnsupported)
}
