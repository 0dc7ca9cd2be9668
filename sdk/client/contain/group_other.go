//go:build !linux

package contain

import (
	"errors"
	"os"
	"runtime"
)

// Group is a control group for one process and the processes that it starts. This system has no control groups.
type Group struct{ Bounds string }

// NewGroup returns an error on this system.
func NewGroup(string, int64) (*Group, error) {
	return nil, errors.New("there are no control groups on " + runtime.GOOS)
}

// Dir returns an empty path on this system.
func (g *Group) Dir() string { return "" }

// Bounding returns false on this system.
func Bounding() bool { return false }

// Open returns an error on this system.
func (g *Group) Open() (*os.File, error) { return nil, os.ErrNotExist }

// Add does nothing on this system.
func (g *Group) Add(int) error { return nil }

// Kill does nothing on this system.
func (g *Group) Kill() error { return nil }

// Remove does nothing on this system.
func (g *Group) Remove() error { return nil }

// Sweep does nothing on this system.
func Sweep(string) {}
