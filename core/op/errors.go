package op

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goburn/burn/core/shape"
)

// The sentinels of errors in nodes. core/errors.go documents them; they are declared here because core imports this package.
var (
	ErrShape       = shape.Err
	ErrDType       = errors.New("dtype error")
	ErrAttr        = errors.New("attribute error")
	ErrUnsupported = errors.ErrUnsupported
)

// Error is an error in one node: the op, its operands, and the violated constraint of its row.
type Error struct {
	Op         string
	Inputs     []Desc
	Constraint string // number in the row, "C2"; empty if the error is not about a single one
	Msg        string // "what, got, want", lower case
	Err        error  // the sentinel, or a deeper cause that wraps it
}

// Error prints "op: what, got, want (f32[2,3], f32[4]) [C2]".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	switch {
	case e.Msg != "":
		b.WriteString(e.Msg)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	}
	if len(e.Inputs) > 0 {
		parts := make([]string, len(e.Inputs))
		for i, d := range e.Inputs {
			parts[i] = d.String()
		}
		b.WriteString(" (" + strings.Join(parts, ", ") + ")")
	}
	if e.Constraint != "" {
		b.WriteString(" [" + e.Constraint + "]")
	}
	return b.String()
}

// Unwrap returns the sentinel or cause.
func (e *Error) Unwrap() error { return e.Err }

// violation returns an error of an inference function. New and Check add the op and its inputs.
func violation(sentinel error, constraint, format string, args ...any) error {
	return &Error{Constraint: constraint, Msg: fmt.Sprintf(format, args...), Err: sentinel}
}
