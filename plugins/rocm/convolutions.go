package rocm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// dnn is MIOpen as a gpu.Library: convolutions and their gradients without an epilogue, computed by solutions of its immediate mode.
type dnn struct {
	library.None
	device *device
	m      *amd.MIOpen
	lanes  library.Lanes[*amd.DNNHandle]
}

// dnnLane is a handle of MIOpen, nil until it is needed.
type dnnLane = library.Lane[*amd.DNNHandle]

// Name implements gpu.Library.
func (*dnn) Name() string { return "MIOpen" }

// Version implements gpu.Library.
func (l *dnn) Version() string { return l.m.Version }

const (
	// maxWorkspace is the largest workspace of a solution, in bytes.
	maxWorkspace = 256 << 20
	// maxSolutions is the number of solutions that are compiled for a convolution: the second is for cases in which the first is refused.
	maxSolutions = 2
	operandAlign = 16
)

var dnnTypes = map[dtype.DType]amd.DNNType{dtype.F32: amd.DNNF32, dtype.F16: amd.DNNF16, dtype.BF16: amd.DNNBF16}

// dnnSpec returns the description of a convolution for MIOpen, which pads both sides of a dimension by the same number. If MIOpen must
// not compute the convolution, it returns an error.
func dnnSpec(c *gpu.Convolution) (s amd.ConvSpec, err error) {
	t, ok := dnnTypes[c.Type]
	switch {
	case !ok || c.Compute != dtype.F32:
		return s, library.Refuse("convolution of %v in %v", c.Type, c.Compute)
	case c.Bias != dtype.Invalid || c.Residual || c.Activation != gpu.None:
		return s, library.Refuse("convolution with an epilogue")
	}
	p, err := library.NewConvolution(c)
	if err != nil {
		return s, err
	}
	if !slices.Equal(p.Pre, p.Post) {
		return s, library.Refuse("padding of %v before and %v after", p.Pre, p.Post)
	}
	direction := map[gpu.ConvolutionKind]amd.Direction{gpu.Forward: amd.Forward, gpu.BackwardImage: amd.BackwardData, gpu.BackwardFilter: amd.BackwardWeights}[c.Kind]
	tensor := func(x library.Tensor) [2][]int64 { return [2][]int64{x.Dims, x.Strides} }
	return amd.ConvSpec{Direction: direction, Type: t, Image: tensor(p.Image), Filter: tensor(p.Filter), Result: tensor(p.Result), Pad: p.Pre, Stride: p.Steps,
		Dilation: p.Dilation, Groups: c.Groups}, nil
}

// forbidden reports whether a solution must not be used, because it rounds more than the type does (as FFT does, and Winograd for 16-bit
// types), needs more than maxWorkspace, or consists of plain loops, which are slower than burn's own kernels.
func forbidden(t dtype.DType, s *amd.Solution) bool {
	return s.Algorithm == amd.AlgorithmFFT || s.Algorithm == amd.AlgorithmWinograd && t != dtype.F32 || s.Workspace > maxWorkspace ||
		s.ID >= amd.NaiveForward && s.ID <= amd.NaiveWeights
}

// Convolution implements gpu.Library.
func (l *dnn) Convolution(c gpu.Convolution) ([]gpu.Candidate, error) {
	what := fmt.Sprintf("convolution %d of %v %v by %v", c.Kind, c.Type, c.Image, c.Filter)
	spec, err := dnnSpec(&c)
	if err != nil {
		return nil, streams.Named(Name, what, err)
	}
	x := l.lanes.Take()
	defer x.Unlock()
	p := &convolution{library: l, lane: x, what: what}
	var found []gpu.Candidate
	err = l.device.Do(what, func() (err error) {
		if x.Handle == nil {
			h, err := l.m.NewHandle()
			if err != nil {
				return err
			}
			x.Handle = h
		}
		if p.conv, err = x.Handle.NewConv(spec); err != nil {
			return err
		}
		found, err = p.candidates(c.Type)
		if len(found) == 0 {
			return errors.Join(err, p.conv.Close())
		}
		return nil
	})
	return found, err
}

// Close releases the handles. The device is current.
func (l *dnn) Close() error { return l.lanes.Close() }

// convolution is a convolution with its descriptors, which its candidates share.
type convolution struct {
	library *dnn
	lane    *dnnLane
	what    string
	conv    *amd.Conv // the lane's lock guards this and the fields below
	users   int       // number of candidates that are not closed
}

// candidates compiles the first solutions that may be used, and returns them. The caller holds the lane's lock.
func (p *convolution) candidates(t dtype.DType) ([]gpu.Candidate, error) {
	all, err := p.conv.Solutions()
	if err != nil {
		return nil, err
	}
	var found []gpu.Candidate
	errs := []error{library.Refuse("%d solutions, of which none may be used", len(all))}
	for i := range all {
		if forbidden(t, &all[i]) {
			continue
		}
		if err := p.conv.Compile(all[i].ID); err != nil {
			errs = append(errs, err)
			continue
		}
		if found = append(found, &solution{p, all[i]}); len(found) == maxSolutions {
			break
		}
	}
	p.users = len(found)
	return found, errors.Join(errs...)
}

// solution is a candidate of MIOpen.
type solution struct {
	*convolution
	s amd.Solution
}

// Name implements gpu.Candidate.
func (s *solution) Name() string { return fmt.Sprintf("MIOpen %s, solution %d", s.what, s.s.ID) }

// Workspace implements gpu.Candidate.
func (s *solution) Workspace() int64 { return int64(s.s.Workspace) }

// Ready implements gpu.Candidate.
func (s *solution) Ready(args []gpu.Ref) error {
	if len(args) != 3 {
		return library.Refuse("MIOpen: %d operands, want 3", len(args))
	}
	return library.Aligned("MIOpen", args, func(int) int { return operandAlign })
}

// Call implements gpu.Candidate.
func (s *solution) Call(x gpu.Queue, args []gpu.Ref, workspace gpu.Ref) error {
	q := x.(*streams.Queue)
	s.lane.Lock()
	defer s.lane.Unlock()
	operands := [3]streams.Ptr{streams.Address(args[0]), streams.Address(args[1]), streams.Address(args[2])}
	return q.Call(s.Name(), s.what+" by MIOpen", func(on streams.Stream) error {
		return s.conv.Run(on, s.s.ID, operands, streams.Address(workspace), s.s.Workspace)
	})
}

// Close implements gpu.Candidate.
func (s *solution) Close() {
	s.lane.Lock()
	defer s.lane.Unlock()
	if s.users--; s.users == 0 {
		_ = s.library.device.Do("close", s.conv.Close) // if the device is lost, so are its descriptors
	}
}
