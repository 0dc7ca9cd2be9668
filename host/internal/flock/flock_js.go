package flock

import (
	"errors"
	"fmt"
	"os"
)

var errNone = fmt.Errorf("WebAssembly has no locks of files, and installs nothing: %w", errors.ErrUnsupported)

// Open returns an error: a file that cannot be locked must not be changed.
func Open(string) (*os.File, error) { return nil, errNone }

// Try returns an error, like Open.
func Try(*os.File) (bool, error) { return false, errNone }
