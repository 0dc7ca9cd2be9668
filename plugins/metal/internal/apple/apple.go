// Package apple provides Metal through Apple's frameworks, without cgo.
package apple

import "github.com/goburn/burn/plugins/metal/internal/calls"

// New returns the API of this system.
func New() calls.API { return api{} }
