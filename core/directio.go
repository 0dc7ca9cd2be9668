package core

import (
	"context"

	"github.com/goburn/burn/core/op"
)

// DirectIO is an optional interface of a Stream whose tensors lie in the memory of its own process. Without it, and
// wherever a method returns ErrUnsupported, the host copies with Write and Read.
type DirectIO interface {
	// Adopt makes tensor d.ID of data itself, in the format of Write, without a copy. The stream reads data and never
	// writes to it, and calls release once, from any goroutine, when it will not read it any more: at the latest when it
	// is closed. Until then the caller keeps data as it is. With an error nothing is made and release is not called;
	// ErrUnsupported (data does not lie as the backend needs it) means that Write may do it.
	Adopt(ctx context.Context, d op.Desc, data []byte, release func()) error
	// View waits until tensor id is computed and calls use once with its elements where they lie, in the format of Read.
	// They are valid and must not be changed until use returns; the stream does nothing else meanwhile. The error of use
	// is returned. ErrUnsupported (the elements do not lie in order) means that Read may do it.
	View(ctx context.Context, id op.TensorID, use func(data []byte) error) error
}
