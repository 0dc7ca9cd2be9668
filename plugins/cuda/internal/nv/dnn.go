package nv

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// DNN is cuDNN 9, used through its graph API: descriptors of operations become a graph, heuristics name engines for the graph, an engine
// becomes a plan, and a plan is executed with a pack of addresses.
type DNN struct {
	Version int // 91400 is 9.14.0
	c       dnnProcs
}

type dnnProcs struct {
	version     proc `c:"cudnnGetVersion"`
	cudart      proc `c:"cudnnGetCudartVersion"`
	errorString proc `c:"cudnnGetErrorString"`
	lastError   proc `c:"cudnnGetLastErrorString"`
	create      proc `c:"cudnnCreate"`
	destroy     proc `c:"cudnnDestroy"`
	setStream   proc `c:"cudnnSetStream"`
	descCreate  proc `c:"cudnnBackendCreateDescriptor"`
	descDestroy proc `c:"cudnnBackendDestroyDescriptor"`
	descSet     proc `c:"cudnnBackendSetAttribute"`
	descGet     proc `c:"cudnnBackendGetAttribute"`
	finalize    proc `c:"cudnnBackendFinalize"`
	execute     proc `c:"cudnnBackendExecute"`
	populate    proc `c:"cudnnBackendPopulateCudaGraph?"`
	update      proc `c:"cudnnBackendUpdateCudaGraph?"`
}

const dnnName = "cuDNN"

func openDNN(handle uintptr, driver int) (*DNN, error) {
	d := &DNN{}
	if err := vendor.Bind(handle, &d.c); err != nil {
		return nil, err
	}
	if d.Version = int(d.c.version.Word()); d.Version/10000 != 9 {
		return nil, fmt.Errorf("it is version %d, want 9", d.Version)
	}
	return d, tooNew(int(d.c.cudart.Word())/1000, driver)
}

// check returns the error of a call that returned code, with cuDNN's message about its last failure on this thread.
func (d *DNN) check(p *proc, code int32) error {
	if code == 0 {
		return nil
	}
	e := &Error{Library: dnnName, Call: p.Name, Code: int(code), Name: vendor.Text(d.c.errorString.Word(uintptr(code)))}
	b := make([]byte, 1024)
	d.c.lastError.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)-1))
	e.Text = vendor.UpToZero(b)
	switch {
	case code == 4003 || code == 4004:
		e.Kind = ErrOutOfMemory
	case code/1000 == 2 || code/1000 == 3 || code == 4001: // a parameter, not supported, an engine that does not compile
		e.Kind = ErrUnsupported
	}
	return e
}

// DNNHandle is a handle of cuDNN on the device of the context that was current when the handle was created. Only one goroutine at a time
// may use the handle, and the graphs and plans created from the handle.
type DNNHandle struct {
	dnn    *DNN
	h      uintptr
	stream Stream
	open   int // descriptors that are not destroyed
}

// NewHandle creates a handle. Close releases it.
func (d *DNN) NewHandle() (*DNNHandle, error) {
	h := &DNNHandle{dnn: d}
	return h, d.check(&d.c.create, d.c.create.Call(uintptr(unsafe.Pointer(&h.h))))
}

// Close releases the handle. Its graphs and plans must be closed first. Close waits for the device.
func (h *DNNHandle) Close() error {
	if h.h == 0 {
		return nil
	}
	code := h.dnn.c.destroy.Call(h.h)
	h.h = 0
	return h.dnn.check(&h.dnn.c.destroy, code)
}

// Open returns the number of descriptors that were created and not destroyed: 0 when all graphs and plans are closed.
func (h *DNNHandle) Open() int { return h.open }

// SetStream sets the stream on which later executions run.
func (h *DNNHandle) SetStream(s Stream) error {
	if s == h.stream {
		return nil
	}
	err := h.dnn.check(&h.dnn.c.setStream, h.dnn.c.setStream.Call(h.h, uintptr(s)))
	if err == nil {
		h.stream = s
	}
	return err
}

// descriptor is a cudnnBackendDescriptor_t.
type descriptor uintptr

// Kinds of descriptors.
const (
	kindPointwise   = 0
	kindConvolution = 1
	kindEngine      = 2
	kindConfig      = 3
	kindHeuristic   = 4
	kindPlan        = 5
	kindConvForward = 10
	kindConvFilter  = 11
	kindConvData    = 12
	kindPointwiseOp = 13
	kindGraph       = 15
	kindPack        = 16
	kindTensor      = 17
	kindMatmul      = 18
	kindMatmulOp    = 19
	kindReduction   = 21
	kindReductionOp = 22
)

// Types of attributes.
const (
	typeHandle     = 0
	typeDataType   = 1
	typeBool       = 2
	typeInt64      = 3
	typeFloat      = 4
	typeDouble     = 5
	typePointer    = 6
	typeConvMode   = 7
	typeHeuristic  = 8
	typeNote       = 11
	typePointwise  = 14
	typeDescriptor = 15
	typeReduction  = 18
	typeBehavior   = 19
	typeChar       = 24
)

// newDescriptor creates a descriptor.
func (h *DNNHandle) newDescriptor(kind int) (descriptor, error) {
	var d descriptor
	err := h.dnn.check(&h.dnn.c.descCreate, h.dnn.c.descCreate.Call(uintptr(kind), uintptr(unsafe.Pointer(&d))))
	if err == nil {
		h.open++
	}
	return d, err
}

func (h *DNNHandle) destroy(d descriptor) error {
	if d == 0 {
		return nil
	}
	h.open--
	return h.dnn.check(&h.dnn.c.descDestroy, h.dnn.c.descDestroy.Call(uintptr(d)))
}

func (h *DNNHandle) destroyAll(all []descriptor) error {
	var errs []error
	for i := len(all) - 1; i >= 0; i-- {
		errs = append(errs, h.destroy(all[i]))
	}
	return errors.Join(errs...)
}

// set sets an attribute to count values at p.
func (h *DNNHandle) set(d descriptor, name, kind, count int, p unsafe.Pointer) error {
	err := h.dnn.check(&h.dnn.c.descSet, h.dnn.c.descSet.Call(uintptr(d), uintptr(name), uintptr(kind), uintptr(count), uintptr(p)))
	if err != nil {
		err = fmt.Errorf("%w: attribute %d", err, name)
	}
	return err
}

func (h *DNNHandle) setEnum(d descriptor, name, kind int, value int32) error {
	return h.set(d, name, kind, 1, unsafe.Pointer(&value))
}

func (h *DNNHandle) setInt(d descriptor, name int, value int64) error {
	return h.set(d, name, typeInt64, 1, unsafe.Pointer(&value))
}

func (h *DNNHandle) setInts(d descriptor, name int, values []int64) error {
	return h.set(d, name, typeInt64, len(values), unsafe.Pointer(unsafe.SliceData(values)))
}

func (h *DNNHandle) setBool(d descriptor, name int, value bool) error {
	return h.set(d, name, typeBool, 1, unsafe.Pointer(&value))
}

func (h *DNNHandle) setFloat(d descriptor, name int, value float32) error {
	return h.set(d, name, typeFloat, 1, unsafe.Pointer(&value))
}

func (h *DNNHandle) setDouble(d descriptor, name int, value float64) error {
	return h.set(d, name, typeDouble, 1, unsafe.Pointer(&value))
}

func (h *DNNHandle) setDescriptor(d descriptor, name int, value descriptor) error {
	return h.set(d, name, typeDescriptor, 1, unsafe.Pointer(&value))
}

// get copies at most count values of an attribute to p, and returns the number of values that the attribute has.
func (h *DNNHandle) get(d descriptor, name, kind, count int, p unsafe.Pointer) (int, error) {
	var n int64
	err := h.dnn.check(&h.dnn.c.descGet, h.dnn.c.descGet.Call(uintptr(d), uintptr(name), uintptr(kind), uintptr(count),
		uintptr(unsafe.Pointer(&n)), uintptr(p)))
	if err != nil {
		err = fmt.Errorf("%w: attribute %d", err, name)
	}
	return int(n), err
}

func (h *DNNHandle) finalize(d descriptor) error {
	return h.dnn.check(&h.dnn.c.finalize, h.dnn.c.finalize.Call(uintptr(d)))
}
