package cli

import (
	"fmt"
	"os"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
)

// hostRoom counts the memory that a command takes on the host for its inputs, before it is taken. Nil has all of it for each take.
type hostRoom struct{ left int64 }

func newHostRoom() *hostRoom { return &hostRoom{onnx.HostLimit()} }

// take counts n bytes for what, or reports an error that wraps core.ErrOutOfMemory.
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

// takeFile counts a file that is read whole and becomes times as many bytes.
func (r *hostRoom) takeFile(path string, times int64) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // reading it will say more
	}
	return r.take(path, info.Size()*times)
}
