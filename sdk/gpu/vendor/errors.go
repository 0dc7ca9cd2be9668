package vendor

import (
	"errors"
	"fmt"
)

// The kinds of failure, which callers distinguish by errors.Is.
var (
	// ErrMissing says that a library, or a function of it, does not exist.
	ErrMissing = errors.New("library is missing")
	// ErrNoDevice says that there is no device of the vendor, or none that this process may use.
	ErrNoDevice = errors.New("no device")
	// ErrOutOfMemory says that device or pinned memory is exhausted. The context stays usable.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrFault says that the context is lost: every later call on it fails, and only a new process can create a working context.
	ErrFault = errors.New("device fault")
	// ErrUnsupported says that the library refuses these operands, though it would accept other operands.
	ErrUnsupported = errors.New("not supported")
)

// Error is a failed call of a library.
type Error struct {
	Library string // name of the library, as in Row.Library
	Call    string // name of the C function
	Code    int    // result of the call
	Name    string // the library's name of the code, such as CUDA_ERROR_OUT_OF_MEMORY or hipErrorOutOfMemory
	Text    string // the library's own message
	Kind    error  // one of the sentinels of this package, or nil
}

func (e *Error) Error() string {
	text := e.Text
	if text == "" {
		text = e.Name
	}
	if e.Name == "" || e.Name == text {
		return fmt.Sprintf("%s: %s: %s (%d)", e.Library, e.Call, text, e.Code)
	}
	return fmt.Sprintf("%s: %s: %s (%s, %d)", e.Library, e.Call, text, e.Name, e.Code)
}

func (e *Error) Unwrap() error { return e.Kind }

// Missing returns the error of a call that the loaded library does not export.
func Missing(library, call string) error {
	return fmt.Errorf("%s: %s: %w: this version does not have the function", library, call, ErrMissing)
}
