package tensor

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// Transaction reads several tensors: it requests all of them before it waits for the first. The zero value is empty. It is not
// safe for concurrent use.
//
//	var tx tensor.Transaction
//	var losses []float32
//	var labels []int64
//	tensor.Fetch(&tx, loss, &losses)
//	tensor.Fetch(&tx, label, &labels)
//	err := tx.Execute(ctx)
type Transaction struct{ reads []fetch }

type fetch struct {
	t      *Tensor
	buf    []byte
	assign func()
}

// Fetch registers t to be read; Execute sets *dst to a new slice of its elements. T must be t's element type; otherwise Fetch
// panics with *Error.
func Fetch[T dtype.Native](tx *Transaction, t *Tensor, dst *[]T) {
	if want := dtype.Of[T](); want != t.desc.DType {
		fail("fetch: %v as %v, want its type, or a Cast first: %w", t.desc, want, core.ErrDType)
	}
	v := make([]T, t.Size())
	tx.reads = append(tx.reads, fetch{t, dtype.Bytes(v), func() { *dst = v }})
}

// FetchBytes registers t, of any type, to be read; Execute sets *dst to a new slice of its elements, in the format of
// Tensor.Bytes.
func FetchBytes(tx *Transaction, t *Tensor, dst *[]byte) {
	b := make([]byte, t.desc.Bytes())
	tx.reads = append(tx.reads, fetch{t, b, func() { *dst = b }})
}

// Len returns the number of registered tensors.
func (tx *Transaction) Len() int { return len(tx.reads) }

// Execute waits for all registered tensors, which may be on different devices, and empties the transaction. It returns the first
// error; in that case no destination has changed.
func (tx *Transaction) Execute(ctx context.Context) error {
	reads := tx.reads
	tx.reads = nil
	tickets := make([]core.Ticket, len(reads)) // all devices compute before the first wait
	var failed error
	for i, r := range reads {
		ticket, err := r.t.read(r.buf)
		if err != nil {
			ticket = core.Failed(err)
		}
		tickets[i] = ticket
	}
	for i, t := range tickets {
		if err := t.Wait(ctx); err != nil && failed == nil {
			failed = fmt.Errorf("transaction: tensor %d of %d: %w", i, len(reads), err)
		}
	}
	if failed != nil {
		return failed
	}
	for _, r := range reads {
		r.assign()
	}
	return nil
}
