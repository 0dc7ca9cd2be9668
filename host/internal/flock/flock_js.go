package flock

import (
	"errors"
	"fmt"
	"os"
)

var errNone = fmt.Errorf("WebAssembly has no locks of files, and installs nothing: %w", errors.ErrUnsupported)

// Open refuses: a file that cannot be locked is not changed.
func Open(string) (*os.File, error) { return nil, errNone }

// Try refuses, as Open does.
func Try(*os.File) (bool, error) { return false, errNone }
