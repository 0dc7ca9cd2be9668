// Package owner determines whether other users of the machine can change a file. Packages host and host/store call it before they trust a
// file. It must not decide whether to trust the file.
package owner

import "errors"

// ErrForeign is the error for files that other users can change.
var ErrForeign = errors.New("other users can change it")
