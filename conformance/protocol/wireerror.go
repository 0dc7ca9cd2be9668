package protocol

import (
	"errors"
	"fmt"
)

// The codes of section 7 that rules name.
const (
	codeShape, codeDType, codeAttr, codeUnsupported, codeIndex, codeMemory = 1, 2, 3, 4, 5, 6
	codeStale, codeUnknown, codeProtocol, codeClosed, codeCanceled         = 8, 9, 10, 11, 12
	codeNotFound, codeKernel                                               = 13, 14
)

// wireError is an error as the plugin sent it.
type wireError struct {
	form    byte
	code    uint64 // form 0
	text    string
	op      string
	program string
	tensors []tensor
	cause   *wireError
}

// root returns the code at the end of the causes.
func (e *wireError) root() uint64 {
	for e.cause != nil {
		e = e.cause
	}
	return e.code
}

// node returns the first error of form 1 in the chain of causes, or nil.
func (e *wireError) node() *wireError {
	for ; e != nil; e = e.cause {
		if e.form == 1 {
			return e
		}
	}
	return nil
}

func (e *wireError) String() string {
	if e == nil {
		return "no error"
	}
	s := ""
	switch e.form {
	case 0:
		return fmt.Sprintf("code %d %q", e.code, e.text)
	case 1:
		s = fmt.Sprintf("node %q of program %q", e.op, e.program)
	default:
		s = fmt.Sprintf("%q", e.text)
	}
	return s + ": " + e.cause.String()
}

// errEmptyText reports a wire error without a text.
var errEmptyText = errors.New("a plain error has an empty text")

// parseError parses b as one wire error. An empty b is no error: nil.
func parseError(b []byte) (*wireError, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := &reader{b: b}
	e := r.wireError(1)
	if r.err == nil && len(r.b) > 0 {
		r.fault("%d bytes follow the error", len(r.b))
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}

func (r *reader) wireError(depth int) *wireError {
	e := &wireError{form: r.byte()}
	if depth > maxDepth {
		r.fault("errors nest deeper than %d", maxDepth)
	}
	switch e.form {
	case 0:
		e.code, e.text = r.uint(), r.text(maxText)
		if r.err == nil && e.text == "" {
			r.err = errEmptyText
		}
		return e
	case 1:
		e.op, e.program = r.text(maxName), r.text(maxName)
		e.tensors = r.blamed()
	case 2:
		e.op = r.text(maxName)
		e.tensors = r.blamed()
		r.text(maxName)
		e.text = r.text(maxText)
	case 3:
		e.text = r.text(maxText)
	default:
		r.fault("an error of form %d", e.form)
	}
	if r.err != nil {
		return e
	}
	e.cause = r.wireError(depth + 1)
	return e
}

func (r *reader) blamed() (l []tensor) {
	n := r.uint()
	if n > maxBlamed {
		r.fault("an error names %d tensors, at most %d", n, maxBlamed)
		return nil
	}
	for range n {
		d := tensor{id: r.uint(), elem: r.byte()}
		rank := r.byte()
		if rank > 64 {
			r.fault("rank %d in an error", rank)
		}
		for range rank {
			d.shape = append(d.shape, uint64(r.int()))
		}
		if r.err != nil {
			return nil
		}
		l = append(l, d)
	}
	return l
}
