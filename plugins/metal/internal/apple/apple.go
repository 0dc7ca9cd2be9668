// Package apple is Metal as Apple's frameworks have it, without cgo.
package apple

import "github.com/goburn/burn/plugins/metal/internal/calls"

// New returns the API of this system.
func New() calls.API { return api{} }
