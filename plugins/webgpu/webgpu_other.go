//go:build !js

package webgpu

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// New returns an error that wraps ErrUnsupported, because the program does not run in a browser.
func New(core.Config) (core.Backend, error) {
	return nil, fmt.Errorf("webgpu: this program is not compiled for js/wasm, plugins/wgpu uses the GPU without a browser: %w", core.ErrUnsupported)
}
