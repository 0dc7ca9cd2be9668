package data

import "fmt"

// ItemError is an error of Get. Index is the item's number in the dataset that was read.
type ItemError struct {
	Index int
	Err   error
}

// Error names the item.
func (e *ItemError) Error() string { return fmt.Sprintf("data: item %d: %v", e.Index, e.Err) }

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// BatchError is an error in a batch of a Loader. Epoch and Batch count from 0. It wraps an *ItemError if an item was the cause, and otherwise
// the error of the batcher.
type BatchError struct {
	Epoch, Batch int
	Err          error
}

// Error names epoch and batch.
func (e *BatchError) Error() string {
	return fmt.Sprintf("data: epoch %d, batch %d: %v", e.Epoch, e.Batch, e.Err)
}

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// PanicError is a panic of Get or of a batcher that the Loader has recovered. Stack is the stack of the panic.
type PanicError struct {
	Value any
	Stack string
}

// Error returns the value of the panic and its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic if it is an error, such as *tensor.Error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
