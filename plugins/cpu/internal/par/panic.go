package par

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is the value that For panics with when a body panics: the body's value,
// and the stack of the goroutine that panicked. It is an error, and unwraps to
// Value if that is an error.
type Panic struct {
	Value any
	Stack []byte
}

// errGoexit is the value of a body that ended its goroutine.
var errGoexit = errors.New("par: loop body called runtime.Goexit")

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns Value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// caught returns a recovered value as a Panic. It returns the Panic of a nested loop unchanged.
func caught(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	if value == nil {
		value = errGoexit
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

// alone runs a loop of one part on the calling goroutine.
func alone(body func(lo, hi int), n int) {
	defer func() {
		if value := recover(); value != nil {
			panic(caught(value))
		}
	}()
	body(0, n)
}

// inline runs all parts of a loop on the calling goroutine.
func inline(body func(lo, hi int), n, chunks int) {
	var failed *Panic
	for i := range chunks {
		if p := protect(body, i, n, chunks); p != nil && failed == nil {
			failed = p
		}
	}
	if failed != nil {
		panic(failed)
	}
}

func protect(body func(lo, hi int), i, n, chunks int) (failed *Panic) {
	defer func() {
		if value := recover(); value != nil {
			failed = caught(value)
		}
	}()
	body(part(i, n, chunks))
	return nil
}
