package tensor

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// Transaction reads several tensors with one wait: the queued nodes are sent once for all of them. The zero value is empty. It is
// not safe for concurrent use.
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

// Fetch registers t to be read into *dst, which Execute replaces. T must be t's element type.
func Fetch[T dtype.Native](tx *Transaction, t *Tensor, dst *[]T) {
	if want := dtype.Of[T](); want != t.desc.DType {
		fail("fetch: %v as %v, want its type, or a Cast first: %w", t.desc, want, core.ErrDType)
	}
	v := make([]T, t.Size())
	tx.reads = append(tx.reads, fetch{t, dtype.Bytes(v), func() { *dst = v }})
}

// FetchBytes registers t, of any type, to be read into *dst in the format of Tensor.Bytes.
func FetchBytes(tx *Transaction, t *Tensor, dst *[]byte) {
	b := make([]byte, t.desc.Bytes())
	tx.reads = append(tx.reads, fetch{t, b, func() { *dst = b }})
}

// Len returns the number of registered tensors.
func (tx *Transaction) Len() int { return len(tx.reads) }

// Execute waits for all registered tensors, which may be on different devices, and empties the transaction. After an error no
// destination has changed.
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
