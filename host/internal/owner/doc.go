// Package owner finds out whether other users of the machine can change a file.
package owner

import "errors"

// ErrForeign is for files that other users can change.
var ErrForeign = errors.New("other users can change it")
