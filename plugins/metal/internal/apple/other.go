//go:build !darwin

package apple

import (
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

type api struct{}

// Devices implements calls.API.
func (api) Devices() ([]calls.Device, error) {
	return nil, fmt.Errorf("Metal exists only on macOS, this is %s: use another backend, such as cuda, wgpu or cpu: %w", runtime.GOOS, core.ErrNotFound)
}
