//go:build !linux

package wire

import (
	"os"

	"github.com/goburn/burn/core"
)

// HasSegments reports whether memory can be shared here.
func HasSegments() bool { return false }

// NewSegment returns ErrUnsupported.
func NewSegment(int) (*os.File, []byte, error) { return nil, nil, core.ErrUnsupported }

// MapSegment returns ErrUnsupported.
func MapSegment(int, int) ([]byte, error) { return nil, core.ErrUnsupported }

// Unmap does nothing.
func Unmap([]byte) {}
