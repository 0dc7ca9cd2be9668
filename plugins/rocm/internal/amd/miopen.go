package amd

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// MIOpen is MIOpen in its immediate mode: convolutions, computed by solutions that it lists for a problem.
type MIOpen struct {
	Version string // as in 3.2.0
	c       dnnProcs
}

type dnnProcs struct {
	version       vendor.Proc `c:"miopenGetVersion"`
	text          vendor.Proc `c:"miopenGetErrorString"`
	create        vendor.Proc `c:"miopenCreate"`
	destroy       vendor.Proc `c:"miopenDestroy"`
	stream        vendor.Proc `c:"miopenSetStream"`
	tensorCreate  vendor.Proc `c:"miopenCreateTensorDescriptor"`
	tensorDestroy vendor.Proc `c:"miopenDestroyTensorDescriptor"`
	tensorSet     vendor.Proc `c:"miopenSetTensorDescriptor"`
	convCreate    vendor.Proc `c:"miopenCreateConvolutionDescriptor"`
	convDestroy   vendor.Proc `c:"miopenDestroyConvolutionDescriptor"`
	convInit      vendor.Proc `c:"miopenInitConvolutionNdDescriptor"`
	convGroups    vendor.Proc `c:"miopenSetConvolutionGroupCount"`
	convAttribute vendor.Proc `c:"miopenSetConvolutionAttribute"`

	forwardCount   vendor.Proc `c:"miopenConvolutionForwardGetSolutionCount"`
	forwardGet     vendor.Proc `c:"miopenConvolutionForwardGetSolution"`
	forwardCompile vendor.Proc `c:"miopenConvolutionForwardCompileSolution"`
	forwardRun     vendor.Proc `c:"miopenConvolutionForwardImmediate"`
	dataCount      vendor.Proc `c:"miopenConvolutionBackwardDataGetSolutionCount"`
	dataGet        vendor.Proc `c:"miopenConvolutionBackwardDataGetSolution"`
	dataCompile    vendor.Proc `c:"miopenConvolutionBackwardDataCompileSolution"`
	dataRun        vendor.Proc `c:"miopenConvolutionBackwardDataImmediate"`
	weightsCount   vendor.Proc `c:"miopenConvolutionBackwardWeightsGetSolutionCount"`
	weightsGet     vendor.Proc `c:"miopenConvolutionBackwardWeightsGetSolution"`
	weightsCompile vendor.Proc `c:"miopenConvolutionBackwardWeightsCompileSolution"`
	weightsRun     vendor.Proc `c:"miopenConvolutionBackwardWeightsImmediate"`
}

const dnnName = "MIOpen"

// DNNType is a type of elements of MIOpen.
type DNNType int32

// The numbers of miopen.h, the same in ROCm 5.2 (MIOpen 2.17) to 7: miopenDataType_t, miopenConvAlgorithm_t, and the identifiers of
// solutions, which solver.cpp assigns in a fixed order.
const (
	DNNF16  DNNType = 0
	DNNF32  DNNType = 1
	DNNBF16 DNNType = 5

	AlgorithmFFT      = 2
	AlgorithmWinograd = 3

	// Solutions that are plain loops, for problems that no other solution accepts.
	NaiveForward = 85
	NaiveWeights = 87
)

// Attributes of a convolution, of miopenConvolutionAttrib_t: deterministic exists since ROCm 5.3.
const deterministic = 1

func openDNN(handle uintptr) (*MIOpen, error) {
	m := &MIOpen{}
	if err := vendor.Bind(handle, &m.c); err != nil {
		return nil, err
	}
	var v [3]uint64
	if err := m.check(&m.c.version, m.c.version.Call(uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])), uintptr(unsafe.Pointer(&v[2])))); err != nil {
		return nil, err
	}
	m.Version = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
	if v[0] < 2 || v[0] == 2 && v[1] < 17 || v[0] > 3 {
		return nil, fmt.Errorf("it is MIOpen %s, want 2.17 to 3", m.Version)
	}
	return m, nil
}

func (m *MIOpen) check(p *vendor.Proc, status int32) error {
	if status == 0 {
		return nil
	}
	e := &vendor.Error{Library: dnnName, Call: p.Name, Code: int(status), Name: vendor.Text(m.c.text.Word(uintptr(status)))}
	switch status {
	case 4: // allocation
		e.Kind = vendor.ErrOutOfMemory
	case 2, 3, 6, 8: // invalid value, bad parameter, not implemented, unsupported
		e.Kind = vendor.ErrUnsupported
	}
	return e
}

// DNNHandle is a handle of MIOpen on the device that was current when the handle was created. One goroutine at a time uses it and all
// convolutions that were created with it.
type DNNHandle struct {
	m *MIOpen
	h uintptr
}

// NewHandle creates a handle. Close releases it.
func (m *MIOpen) NewHandle() (*DNNHandle, error) {
	h := &DNNHandle{m: m}
	if err := m.check(&m.c.create, m.c.create.Call(uintptr(unsafe.Pointer(&h.h)))); err != nil {
		return nil, err
	}
	return h, nil
}

// Try creates a handle on the current device and releases it.
func (m *MIOpen) Try() error {
	h, err := m.NewHandle()
	if err != nil {
		return err
	}
	return h.Close()
}

// Close releases the handle.
func (h *DNNHandle) Close() error { return h.m.check(&h.m.c.destroy, h.m.c.destroy.Call(h.h)) }

// Direction is one of the three convolutions.
type Direction uint8

// The directions, with the operands of a run in order.
const (
	Forward         Direction = iota // image, filter, result
	BackwardData                     // gradient of the result, filter, gradient of the image
	BackwardWeights                  // image, gradient of the result, gradient of the filter
)

// ConvSpec is a convolution. Each padding applies to both sides.
type ConvSpec struct {
	Direction             Direction
	Type                  DNNType
	Image, Filter, Result [2][]int64 // dims and strides, in elements
	Pad, Stride, Dilation []int64
	Groups                int
}

// Conv is a convolution with its descriptors.
type Conv struct {
	h       *DNNHandle
	spec    ConvSpec
	tensors [3]uintptr // image, filter, result
	conv    uintptr
}

// NewConv creates the descriptors of a convolution whose results have the same bits each time. Close destroys them. The error is
// ErrUnsupported if this MIOpen does not promise the same bits: before ROCm 5.3, for gradients.
func (h *DNNHandle) NewConv(s ConvSpec) (*Conv, error) {
	c := &Conv{h: h, spec: s}
	if err := c.make(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conv) make() error {
	m, s := c.h.m, &c.spec
	for i, t := range [][2][]int64{s.Image, s.Filter, s.Result} {
		if err := m.check(&m.c.tensorCreate, m.c.tensorCreate.Call(uintptr(unsafe.Pointer(&c.tensors[i])))); err != nil {
			return err
		}
		dims, err := ints("dimensions", t[0])
		if err != nil {
			return err
		}
		strides, err := ints("strides of a tensor", t[1])
		if err != nil {
			return err
		}
		if err := m.check(&m.c.tensorSet, m.c.tensorSet.Call(c.tensors[i], uintptr(s.Type), uintptr(len(dims)), uintptr(unsafe.Pointer(&dims[0])), uintptr(unsafe.Pointer(&strides[0])))); err != nil {
			return err
		}
	}
	if err := m.check(&m.c.convCreate, m.c.convCreate.Call(uintptr(unsafe.Pointer(&c.conv)))); err != nil {
		return err
	}
	pad, err := ints("padding", s.Pad)
	if err != nil {
		return err
	}
	stride, err := ints("strides", s.Stride)
	if err != nil {
		return err
	}
	dilation, err := ints("dilation", s.Dilation)
	if err != nil {
		return err
	}
	const crossCorrelation = 0
	if err := m.check(&m.c.convInit, m.c.convInit.Call(c.conv, uintptr(len(pad)), uintptr(unsafe.Pointer(&pad[0])), uintptr(unsafe.Pointer(&stride[0])),
		uintptr(unsafe.Pointer(&dilation[0])), crossCorrelation)); err != nil {
		return err
	}
	if err := m.check(&m.c.convGroups, m.c.convGroups.Call(c.conv, uintptr(s.Groups))); err != nil {
		return err
	}
	err = m.check(&m.c.convAttribute, m.c.convAttribute.Call(c.conv, deterministic, 1))
	if s.Direction == Forward && errors.Is(err, vendor.ErrUnsupported) {
		return nil // a forward convolution adds in a fixed order
	}
	return err
}

// ints converts numbers to the ints of C. If a number does not fit, the error wraps ErrUnsupported and contains what, the meaning of the
// numbers.
func ints(what string, v []int64) ([]int32, error) {
	w := make([]int32, len(v))
	for i, x := range v {
		if w[i] = int32(x); int64(w[i]) != x {
			return nil, fmt.Errorf("%s: %s %v, want numbers that fit 32 bits: %w", dnnName, what, v, vendor.ErrUnsupported)
		}
	}
	return w, nil
}

// Close destroys the descriptors.
func (c *Conv) Close() error {
	m := c.h.m
	var errs []error
	for i, t := range c.tensors {
		if t != 0 {
			errs = append(errs, m.check(&m.c.tensorDestroy, m.c.tensorDestroy.Call(t)))
			c.tensors[i] = 0
		}
	}
	if c.conv != 0 {
		errs = append(errs, m.check(&m.c.convDestroy, m.c.convDestroy.Call(c.conv)))
		c.conv = 0
	}
	return errors.Join(errs...)
}

// Solution is miopenConvSolution_t: a way to compute a convolution.
type Solution struct {
	Time      float32 // estimate in milliseconds
	_         uint32
	Workspace uint64 // bytes
	ID        uint64
	Algorithm int32
	_         uint32
}

// calls returns the functions of a direction, and the order of the tensor descriptors in their parameters; the descriptor of the
// convolution comes before the last tensor descriptor.
func (c *Conv) calls() (count, get, compile, run *vendor.Proc, order [3]int) {
	p := &c.h.m.c
	const image, filter, result = 0, 1, 2
	switch c.spec.Direction {
	case BackwardData:
		return &p.dataCount, &p.dataGet, &p.dataCompile, &p.dataRun, [3]int{result, filter, image}
	case BackwardWeights:
		return &p.weightsCount, &p.weightsGet, &p.weightsCompile, &p.weightsRun, [3]int{result, image, filter}
	}
	return &p.forwardCount, &p.forwardGet, &p.forwardCompile, &p.forwardRun, [3]int{filter, image, result}
}

// Solutions returns the solutions, the fastest first.
func (c *Conv) Solutions() ([]Solution, error) {
	m := c.h.m
	count, get, _, _, o := c.calls()
	var all uint64
	if err := m.check(count, count.Call(c.h.h, c.tensors[o[0]], c.tensors[o[1]], c.conv, c.tensors[o[2]], uintptr(unsafe.Pointer(&all)))); err != nil {
		return nil, err
	}
	if all == 0 {
		return nil, &vendor.Error{Library: dnnName, Call: count.Name, Text: "no solution for this convolution", Kind: vendor.ErrUnsupported}
	}
	found := make([]Solution, all)
	if err := m.check(get, get.Call(c.h.h, c.tensors[o[0]], c.tensors[o[1]], c.conv, c.tensors[o[2]], uintptr(all), uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&found[0])))); err != nil {
		return nil, err
	}
	return found[:min(int(all), len(found))], nil
}

// Compile compiles a solution, so that a run does not compile.
func (c *Conv) Compile(id uint64) error {
	m := c.h.m
	_, _, compile, _, o := c.calls()
	return m.check(compile, compile.Call(c.h.h, c.tensors[o[0]], c.tensors[o[1]], c.conv, c.tensors[o[2]], uintptr(id)))
}

// Run enqueues a convolution on a stream, computed by a compiled solution. The operands are in the order given at the constants of
// Direction.
func (c *Conv) Run(s streams.Stream, id uint64, operands [3]streams.Ptr, workspace streams.Ptr, bytes uint64) error {
	m := c.h.m
	if err := m.check(&m.c.stream, m.c.stream.Quick(c.h.h, uintptr(s), 0, 0)); err != nil {
		return err
	}
	_, _, _, run, o := c.calls()
	var at [3]streams.Ptr // by descriptor
	switch c.spec.Direction {
	case Forward:
		at = operands
	case BackwardData:
		at = [3]streams.Ptr{operands[2], operands[1], operands[0]}
	case BackwardWeights:
		at = [3]streams.Ptr{operands[0], operands[2], operands[1]}
	}
	return m.check(run, run.Quick11(c.h.h, c.tensors[o[0]], uintptr(at[o[0]]), c.tensors[o[1]], uintptr(at[o[1]]), c.conv, c.tensors[o[2]], uintptr(at[o[2]]),
		uintptr(workspace), uintptr(bytes), uintptr(id)))
}
