package pb

import (
	"errors"
	"fmt"
)

// Limits bounds the input that decoding accepts. A zero field means its default.
type Limits struct {
	MaxBytes    int64 // size of the input; default 2 GiB, the limit of protobuf itself
	MaxDepth    int   // messages inside messages; default 100, as in other protobuf readers
	MaxNodes    int   // nodes of all graphs and functions together; default 1<<20
	MaxElements int64 // elements of one tensor; default 1<<34
}

// Regardless of Limits, decoding allocates at most about growth times the input size plus slack, so that no file of a few bytes
// can expand to much memory. Real models stay below half of this.
const (
	growth = 32
	slack  = 64 << 10
)

func (l Limits) withDefaults() Limits {
	if l.MaxBytes == 0 {
		l.MaxBytes = 2 << 30
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = 100
	}
	if l.MaxNodes == 0 {
		l.MaxNodes = 1 << 20
	}
	if l.MaxElements == 0 {
		l.MaxElements = 1 << 34
	}
	return l
}

// ErrLimit is wrapped by errors that come from a limit instead of a malformed file.
var ErrLimit = errors.New("limit exceeded")

// FormatError names the malformed field of a file and describes the fault.
type FormatError struct {
	Path  string // "graph.node[3].attribute[0].t", or empty for the whole file
	What  string
	cause error
}

// Error returns "onnx: path: what", or "onnx: what" without a path.
func (e *FormatError) Error() string {
	if e.Path == "" {
		return "onnx: " + e.What
	}
	return "onnx: " + e.Path + ": " + e.What
}

// Unwrap returns ErrLimit, the error of the file system, or nil.
func (e *FormatError) Unwrap() error { return e.cause }

func fail(path, format string, args ...any) *FormatError {
	return &FormatError{Path: path, What: fmt.Sprintf(format, args...)}
}

func limit(path, format string, args ...any) *FormatError {
	e := fail(path, format, args...)
	e.cause = ErrLimit
	return e
}

// inside prepends a field name to the path of err.
func inside(name string, err error) error {
	var e *FormatError
	if !errors.As(err, &e) {
		return &FormatError{Path: name, What: err.Error(), cause: err}
	}
	if e.Path == "" {
		e.Path = name
	} else {
		e.Path = name + "." + e.Path
	}
	return e
}
