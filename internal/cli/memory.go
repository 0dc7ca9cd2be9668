package cli

import (
	"fmt"
	"os"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
)

// hostRoom counts the host memory that a command allocates for its inputs, before it allocates it. A nil *hostRoom allows the
// full limit for each request.
type hostRoom struct{ left int64 }

func newHostRoom() *hostRoom { return &hostRoom{onnx.HostLimit()} }

// take counts n bytes for what, or returns an error that wraps core.ErrOutOfMemory.
func (r *hostRoom) take(what string, n int64) error {
	left := onnx.HostLimit()
	if r != nil {
		left = r.left
	}
	if n > left {
		return fmt.Errorf("%s takes %s of memory, of which %s are left for inputs on this machine or in this container: %w", what, bytesText(n), bytesText(max(left, 0)), core.ErrOutOfMemory)
	}
	if r != nil {
		r.left -= n
	}
	return nil
}

// takeFile counts the memory for a file that is read whole: times its size.
func (r *hostRoom) takeFile(path string, times int64) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // reading it returns a better error
	}
	return r.take(path, info.Size()*times)
}
