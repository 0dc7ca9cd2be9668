package shared

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// device is an opened device of a library.
type device struct {
	api    *cAPI
	handle uintptr
	caps   *core.Capabilities
	number map[op.Code]uint32 // number of each claimed op in the library's list
}

var (
	_ engine.Planner[uintptr] = (*device)(nil)
	_ engine.Adopter[uintptr] = (*device)(nil)
	_ engine.Viewer[uintptr]  = (*device)(nil)
	_ engine.Extender         = (*device)(nil)
)

// Capabilities implements engine.Device.
func (v *device) Capabilities() *core.Capabilities { return v.caps }

// numberOf returns the library's number of the op of n.
func (v *device) numberOf(n *op.Node) (uint32, error) {
	number, ok := v.number[n.Op]
	if !ok || n.Version != op.Lookup(n.Op).Version {
		return 0, fmt.Errorf("%v version %d: %w", n.Op, n.Version, core.ErrUnsupported)
	}
	return number, nil
}

// dataOf returns the address of data's elements. The caller keeps data alive.
func dataOf(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Upload implements engine.Device.
func (v *device) Upload(d op.Desc, data []byte) (uintptr, error) {
	c := borrow()
	defer c.release()
	defer runtime.KeepAlive(data)
	return c.get("value", v.api.upload, v.handle, c.desc(d), dataOf(data), uintptr(len(data)))
}

// Download implements engine.Device.
func (v *device) Download(dst []byte, d op.Desc, value uintptr) error {
	c := borrow()
	defer c.release()
	defer runtime.KeepAlive(dst)
	return c.call(v.api.download, v.handle, c.desc(d), value, dataOf(dst), uintptr(len(dst)))
}

// Release implements engine.Device.
func (v *device) Release(value uintptr) { tell(v.api.release, v.handle, value) }

// Adopt implements engine.Adopter.
func (v *device) Adopt(d op.Desc, data []byte, release func()) (uintptr, error) {
	if v.api.adopt == 0 {
		return 0, core.ErrUnsupported
	}
	c := borrow()
	defer c.release()
	loan, withdraw := c.lend(data, release)
	value, err := c.get("value", v.api.adopt, v.handle, c.desc(d), loan)
	if err != nil {
		withdraw()
	}
	return value, err
}

// View implements engine.Viewer.
func (v *device) View(d op.Desc, value uintptr) ([]byte, bool) {
	if v.api.view == 0 {
		return nil, false
	}
	if d.Bytes() == 0 {
		return nil, true
	}
	c := borrow()
	defer c.release()
	address, err := c.get("address", v.api.view, v.handle, c.desc(d), value)
	if err != nil {
		return nil, false
	}
	return unsafe.Slice((*byte)(pointer(address)), d.Bytes()), true
}

// Extend implements engine.Extender.
func (v *device) Extend(target any) bool {
	t, ok := target.(*core.Selective)
	if !ok || v.api.supports == 0 {
		return false
	}
	*t = v
	return true
}

// Supports implements core.Selective.
func (v *device) Supports(n *op.Node, in []op.Desc) error {
	number, err := v.numberOf(n)
	if err != nil {
		return err
	}
	c := borrow()
	defer c.release()
	return c.call(v.api.supports, v.handle, c.node(number, n, in))
}

// OpenQueue implements engine.Device.
func (v *device) OpenQueue() (engine.Queue[uintptr], error) {
	c := borrow()
	defer c.release()
	handle, err := c.get("queue", v.api.openQueue, v.handle)
	if err != nil {
		return nil, err
	}
	q := &queue{device: v, handle: handle, caller: newCaller()}
	q.cancel = place[int32](&q.words, 0)
	if v.api.record != 0 {
		return &marked{queue: q}, nil
	}
	return q, nil
}

// Close implements engine.Device.
func (v *device) Close() { tell(v.api.closeDevice, v.handle) }

// meter adds engine.Meter to a device that can report its memory use.
type meter struct{ *device }

// Memory implements engine.Meter.
func (m meter) Memory() (inUse, reserved int64) {
	c := borrow()
	defer c.release()
	memory := place(&c.arena, cMemory{head: headOf[cMemory]()})
	tell(m.api.memory, m.handle, addressOf(memory))
	return memory.inUse, memory.reserved
}
