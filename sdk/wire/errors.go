package wire

import (
	"encoding/binary"
	"errors"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// The forms of an error on the wire.
const (
	errPlain   = 0 // sentinel, text
	errNode    = 1 // a core.NodeError and its cause
	errOp      = 2 // an op.Error and its cause
	errWrapped = 3 // text around an errNode or an errOp
)

// Remote is an error from the other side: its text, and the sentinel or other error that it wraps.
type Remote struct {
	Text  string
	Cause error
}

// Error returns the text of the error on the other side.
func (e *Remote) Error() string { return e.Text }

// Unwrap returns the sentinel or cause.
func (e *Remote) Unwrap() error { return e.Cause }

// AppendError appends err to b. For nil it appends nothing: an error is the last field of a message, and its absence means no error. An
// error that wraps no sentinel is encoded as ErrKernel.
func AppendError(b []byte, err error) []byte {
	if err == nil {
		return b
	}
	return appendError(b, err, 1)
}

func appendError(b []byte, err error, depth int) []byte {
	if depth < MaxErrorDepth {
		switch e := err.(type) {
		case *core.NodeError:
			b = appendText(append(b, errNode), clip(e.Op, MaxName))
			b = appendText(b, clip(e.Program, MaxName))
			b = appendDescs(b, e.Outputs)
			return appendError(b, e.Err, depth+1)
		case *op.Error:
			b = appendText(append(b, errOp), clip(e.Op, MaxName))
			b = appendDescs(b, e.Inputs)
			b = appendText(b, clip(e.Constraint, MaxName))
			b = appendText(b, clip(e.Msg, MaxText))
			cause := e.Err
			if cause == nil {
				cause = core.ErrKernel
			}
			return appendError(b, cause, depth+1)
		}
		var node *core.NodeError
		var fault *op.Error
		switch {
		case errors.As(err, &node):
			return appendError(appendText(append(b, errWrapped), clip(err.Error(), MaxText)), node, depth+1)
		case errors.As(err, &fault):
			return appendError(appendText(append(b, errWrapped), clip(err.Error(), MaxText)), fault, depth+1)
		}
	}
	b = append(b, errPlain)
	b = binary.AppendUvarint(b, sentinelCode(err))
	text := ""
	if err != nil {
		text = err.Error()
	}
	return appendText(b, clip(text, MaxText))
}

// sentinelCode returns the number of the sentinel that err wraps.
func sentinelCode(err error) uint64 {
	kernel := 0
	for i, s := range core.Sentinels() {
		if s == core.ErrKernel {
			kernel = i
		}
		if errors.Is(err, s) {
			return uint64(i + 1)
		}
	}
	return uint64(kernel + 1)
}

// DecodeError is the inverse of AppendError. It returns nil for an empty b, and ErrProtocol for an invalid b. In the result, errors.Is
// finds the sentinel of the original error, and errors.As finds its *core.NodeError or *op.Error.
func DecodeError(b []byte) error {
	r := &reader{b: b}
	err := r.lastError()
	if r.err != nil {
		return r.err
	}
	return err
}

// lastError reads the error that fills the rest of r.
func (r *reader) lastError() error {
	if len(r.b) == 0 {
		return nil
	}
	err := r.error(1)
	if r.end() != nil {
		return nil
	}
	return err
}

func (r *reader) error(depth int) error {
	if depth > MaxErrorDepth {
		r.fail("errors nest deeper than %d", MaxErrorDepth)
		return nil
	}
	switch form := r.byte(); form {
	case errPlain:
		code, text := r.uvarint(), r.text(MaxText)
		sentinel := core.ErrKernel // also for codes of newer versions
		if all := core.Sentinels(); code >= 1 && code <= uint64(len(all)) {
			sentinel = all[code-1]
		}
		if text == sentinel.Error() {
			return sentinel
		}
		return &Remote{Text: text, Cause: sentinel}
	case errNode:
		e := &core.NodeError{Op: r.text(MaxName), Program: r.text(MaxName)}
		e.Outputs = r.descs()
		e.Err = r.error(depth + 1)
		return e
	case errOp:
		e := &op.Error{Op: r.text(MaxName)}
		e.Inputs = r.descs()
		e.Constraint = r.text(MaxName)
		e.Msg = r.text(MaxText)
		e.Err = r.error(depth + 1)
		return e
	case errWrapped:
		e := &Remote{Text: r.text(MaxText)}
		e.Cause = r.error(depth + 1)
		return e
	default:
		r.fail("error of form %d", form)
		return nil
	}
}

// maxFaultRank bounds the rank of shapes in errors. Such a shape may be invalid, because the error may be about it.
const maxFaultRank = 64

// appendDescs appends the first MaxBlamed descs with absolute ids, for errors.
func appendDescs(b []byte, ds []op.Desc) []byte {
	ds = ds[:min(len(ds), MaxBlamed)]
	b = binary.AppendUvarint(b, uint64(len(ds)))
	for _, d := range ds {
		b = binary.AppendUvarint(b, uint64(d.ID))
		rank := min(len(d.Shape), maxFaultRank)
		b = append(b, byte(d.DType), byte(rank))
		for _, n := range d.Shape[:rank] {
			b = appendVarint(b, int64(n))
		}
	}
	return b
}

func (r *reader) descs() []op.Desc {
	n := r.count("descs", 3)
	if n > MaxBlamed {
		r.fail("an error of %d tensors, at most %d", n, MaxBlamed)
		return nil
	}
	var ds []op.Desc
	for range n {
		d := op.Desc{ID: op.TensorID(r.uvarint()), DType: dtype.DType(r.byte())}
		rank := int(r.byte())
		if rank > maxFaultRank {
			r.fail("rank %d", rank)
		}
		for range rank {
			d.Shape = append(d.Shape, int(r.varint()))
		}
		if r.err != nil {
			return nil
		}
		ds = append(ds, d)
	}
	return ds
}
