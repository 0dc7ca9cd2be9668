package libtorch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// device is one device of torch.
type device struct {
	lib   *torch.Library
	on    torch.Device
	caps  *core.Capabilities
	table []rule // by op; ops that are not claimed have no kernel
	shim  shims
	limit int64 // greatest number of bytes of the results of one node
	check bool  // whether the type and shape of each result are compared with torch's
	reads bool  // whether elements are in host memory
	lists bool  // whether operators can be called with lists and strings
	fuses bool  // whether groups of nodes of a program are replaced by one operator
	flash bool  // whether attention uses torch's operator that does not store the scores

	mu     sync.Mutex // guards the fields below
	consts map[key]torch.Handle
}

var _ engine.Device[*tensor] = (*device)(nil)

// key identifies a constant: the number with the given bits if n is 0, the vector 0, 1, ..., n-2 if n is positive, and the result of
// hostNumber if n is -1.
type key struct {
	d    dtype.DType
	bits uint64
	n    int
}

// maxConstants is the greatest number of constants that a device caches.
const maxConstants = 4096

// constant returns a constant from the cache of the device. If the cache lacks it, constant creates it, and adds it unless the cache is full.
func (w *worker) constant(d dtype.DType, s shape.Shape, k key) val {
	if w.err != nil {
		return val{0, d, s}
	}
	w.dev.mu.Lock()
	h, ok := w.dev.consts[k]
	full := len(w.dev.consts) >= maxConstants
	w.dev.mu.Unlock()
	if ok {
		return val{h, d, s}
	}
	var data []byte
	if k.n > 0 {
		v := make([]int64, k.n-1)
		for i := range v {
			v[i] = int64(i)
		}
		data = dtype.Bytes(v)
	} else {
		data = binary.LittleEndian.AppendUint64(nil, k.bits)[:d.Size()]
	}
	made := len(w.made)
	y := w.host(d, s, data)
	if w.err != nil || full {
		return y
	}
	w.dev.mu.Lock()
	defer w.dev.mu.Unlock()
	if _, ok := w.dev.consts[k]; !ok {
		w.dev.consts[k] = y.h
		w.made = slices.Delete(w.made, made, made+1)
	}
	return y
}

// kernel returns the rule of an op. If the op is not claimed, the rule has no kernel.
func (d *device) kernel(code op.Code) rule {
	if int(code) < len(d.table) {
		return d.table[code]
	}
	return rule{}
}

// Capabilities implements engine.Device.
func (d *device) Capabilities() *core.Capabilities { return d.caps }

// Upload implements engine.Device. It is not used, because queues are asynchronous and create tensors themselves.
func (d *device) Upload(op.Desc, []byte) (*tensor, error) {
	return nil, fmt.Errorf("upload without a queue: %w", core.ErrUnsupported)
}

// Download implements engine.Device.
func (d *device) Download([]byte, op.Desc, *tensor) error {
	return fmt.Errorf("download without a queue: %w", core.ErrUnsupported)
}

// Release implements engine.Device.
func (d *device) Release(t *tensor) {
	switch {
	case !t.drop() || t.h == 0:
	case t.queue == nil:
		d.remove(t.handles()...)
	default:
		t.queue.discard(t.handles()...)
	}
}

// remove deletes handles outside of a queue.
func (d *device) remove(hs ...torch.Handle) {
	for _, h := range hs {
		d.lib.Delete(h)
	}
}

// OpenQueue implements engine.Device.
func (d *device) OpenQueue() (engine.Queue[*tensor], error) { return newQueue(d) }

// Close implements engine.Device.
func (d *device) Close() {
	for _, h := range d.consts {
		d.remove(h)
	}
	d.consts = nil
}
