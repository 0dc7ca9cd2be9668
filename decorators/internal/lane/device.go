package lane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Device is a device that commands of lanes are passed to. Its exported fields are not changed once a lane is open. It is safe for
// concurrent use.
type Device struct {
	core.Device
	Spec   string
	Memory int64           // bytes of the device's memory, which bound tensors
	Host   core.HostMemory // nil if the device lacks this extension
	Peers  core.PeerCopy   // nil if the device lacks this extension

	lost      atomic.Pointer[error]
	mu        sync.Mutex
	poisoned  map[op.TensorID]error // tensors that could not be created, with the error; the device does not know them
	poisonedN atomic.Int32          // number of poisoned tensors
}

// Note records that the device is lost if err says so, and returns err.
func (d *Device) Note(err error) error {
	if err != nil && d.lost.Load() == nil && errors.Is(err, core.ErrBackendLost) {
		d.lost.CompareAndSwap(nil, &err)
	}
	return err
}

// Gone returns why the device is lost, or nil.
func (d *Device) Gone() error {
	if e := d.lost.Load(); e != nil {
		return *e
	}
	return nil
}

// Poison records that a tensor will be missing, and why.
func (d *Device) Poison(id op.TensorID, err error) {
	d.mu.Lock()
	if d.poisoned == nil {
		d.poisoned = map[op.TensorID]error{}
	}
	d.poisoned[id] = err
	d.poisonedN.Store(int32(len(d.poisoned)))
	d.mu.Unlock()
}

// Missing returns why one of the tensors is missing, or nil.
func (d *Device) Missing(ids ...op.TensorID) error {
	if d.poisonedN.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if err := d.poisoned[id]; err != nil {
			return err
		}
	}
	return nil
}

// forget removes the poisoned tensors from ids, and returns the other tensors, which exist on the device.
func (d *Device) forget(ids []op.TensorID) []op.TensorID {
	if d.poisonedN.Load() == 0 {
		return ids
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var there []op.TensorID
	for _, id := range ids {
		if d.poisoned[id] == nil {
			there = append(there, id)
		}
		delete(d.poisoned, id)
	}
	d.poisonedN.Store(int32(len(d.poisoned)))
	return there
}

// IgnoreLost returns nil if err says that the device is lost, which leaves nothing to close, and err otherwise.
func IgnoreLost(err error) error {
	if errors.Is(err, core.ErrBackendLost) {
		return nil
	}
	return err
}

// Lost returns a stream of a lost device, whose methods all return err.
func Lost(err error) core.Stream { return lostStream{err} }

type lostStream struct{ err error }

func (s lostStream) Submit([]op.Node, []op.TensorID) error        { return s.err }
func (s lostStream) Write(context.Context, op.Desc, []byte) error { return s.err }
func (s lostStream) Read(op.TensorID, []byte) core.Ticket         { return core.Failed(s.err) }
func (s lostStream) Signal() core.Event                           { return core.Failed(s.err) }
func (s lostStream) Wait(core.Event) error                        { return s.err }
func (s lostStream) Close() error                                 { return nil }
