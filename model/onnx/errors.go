package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
)

// ErrModel is wrapped by every error that reports a model as invalid ONNX.
var ErrModel = errors.New("invalid model")

// ErrInput is wrapped by every error that reports inputs that do not fit the model.
var ErrInput = errors.New("invalid input")

// ErrLimit is wrapped by errors for exceeded limits: external data, traced nodes, iterations of a loop and bytes of a tensor (see
// Options), and pixels of an image.
var ErrLimit = errors.New("limit exceeded")

// NodeError reports the failure of one node of the model.
type NodeError struct {
	Op   string // operator with its domain; the default domain is omitted
	Node string // the node's name, or the name of its first output if it has none
	Path string // the enclosing nodes (control flow and calls of functions), outermost first; empty in the main graph
	Err  error
}

// Error returns "onnx: Op node "name" in path: cause".
func (e *NodeError) Error() string {
	s := fmt.Sprintf("onnx: %s node %q", e.Op, clip(e.Node))
	if e.Path != "" {
		s += " in " + e.Path
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// UnsupportedOp is an operator of a model that this package does not implement, and the nodes that use it.
type UnsupportedOp struct {
	Domain  string // empty for the default domain
	Op      string
	Version int // version of the domain that the model imports; 0 if it imports none
	Nodes   []string
}

// UnsupportedError lists every operator of a model that is not implemented, subgraphs and functions included.
type UnsupportedError struct{ Ops []UnsupportedOp }

// shownNodes is the number of node names per operator in the text of an UnsupportedError; Ops has all of them.
const shownNodes = 5

// Error returns one line with all operators and the first nodes that use each.
func (e *UnsupportedError) Error() string {
	parts := make([]string, len(e.Ops))
	for i, o := range e.Ops {
		names := make([]string, 0, shownNodes+1)
		for k, n := range o.Nodes {
			if k == shownNodes {
				names = append(names, fmt.Sprintf("and %d more", len(o.Nodes)-k))
				break
			}
			names = append(names, fmt.Sprintf("%q", clip(n)))
		}
		domain := o.Domain
		if domain == "" {
			domain = "ai.onnx"
		}
		parts[i] = fmt.Sprintf("%s (domain %s, version %d; nodes %s)", clip(o.Op), clip(domain), o.Version, strings.Join(names, ", "))
	}
	return fmt.Sprintf("onnx: %d unsupported operators: %s", len(e.Ops), strings.Join(parts, "; "))
}

// Unwrap returns core.ErrUnsupported, for errors.Is.
func (e *UnsupportedError) Unwrap() error { return core.ErrUnsupported }

// InputError lists the inputs of a run that are missing, unknown or wrong, and the inputs that the model expects.
type InputError struct {
	Missing  []string // names of inputs that are declared without an initializer and were not given
	Unknown  []string // names of inputs that were given but are not declared
	Wrong    []string // one sentence per input
	Expected []ValueInfo
}

// Error lists all errors, and then every input without a default, with its type.
func (e *InputError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "missing "+quoted(e.Missing))
	}
	if len(e.Unknown) > 0 {
		parts = append(parts, "unknown "+quoted(e.Unknown))
	}
	parts = append(parts, e.Wrong...)
	var want []string
	defaults := 0
	for _, v := range e.Expected {
		if v.Default {
			defaults++
		} else {
			want = append(want, v.String())
		}
	}
	if defaults > 0 {
		want = append(want, fmt.Sprintf("and %d with defaults", defaults))
	}
	if want == nil {
		want = []string{"none"}
	}
	return fmt.Sprintf("onnx: inputs: %s; the model takes %s", strings.Join(parts, "; "), strings.Join(want, ", "))
}

// Unwrap returns ErrInput, for errors.Is.
func (e *InputError) Unwrap() error { return ErrInput }

func quoted(names []string) string {
	out := slices.Clone(names)
	for i, n := range out {
		out[i] = fmt.Sprintf("%q", clip(n))
	}
	return strings.Join(out, ", ")
}

// clip shortens long names from hostile files.
func clip(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "..."
	}
	return s
}

// fault wraps the error that a converter panics with.
type fault struct{ err error }

func modelError(format string, args ...any) error {
	return fmt.Errorf("onnx: %w: "+format, append([]any{ErrModel}, args...)...)
}
