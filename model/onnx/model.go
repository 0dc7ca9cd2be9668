package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/pb"
)

// Options limits the resources for loading and running a model. A zero field means its default.
type Options struct {
	// Limits applies to the parts of the file.
	Limits pb.Limits
	// MaxExternalBytes is the greatest number of bytes read from external files; default 64 GiB.
	MaxExternalBytes int64
	// MaxNodes is the greatest number of nodes that a run may trace, where each iteration of a loop counts; default 1<<24.
	MaxNodes int
	// MaxIterations is the greatest number of iterations of one loop; default 1<<24.
	MaxIterations int
	// MaxTensorBytes is the greatest size of any tensor of a run; default 1<<36.
	MaxTensorBytes int64
	// MaxHostBytes limits the total memory that the model and all of its sessions allocate at the request of the file: constants
	// computed while tracing, on the host or on the device, the numbers they are computed from, contents that steer control flow,
	// programs of unrolled loops, and external data. A node that needs more fails with core.ErrOutOfMemory. The weights in the
	// model file itself do not count. Default: three quarters of the machine's memory, or GOMEMLIMIT if that is less.
	MaxHostBytes int64
	// MaxSpecialisations is the number of input signatures for which a session keeps programs; default 32. The least recently
	// used one is dropped first.
	MaxSpecialisations int
	// MaxSteps is the number of steps that a session keeps, over all signatures; default 16384. Beyond it a run is traced without
	// being remembered.
	MaxSteps int
	// Precision is dtype.BF16 or dtype.F16 to compute f32 products in that type, together with the ops between them for which its
	// range and precision suffice (see program.Autocast). Batch norms with constant statistics are then folded into the preceding
	// convolutions. The zero value and dtype.F32 keep the types of the model. The types of inputs and outputs do not change.
	Precision dtype.DType
	// Batch, if above 0, replaces the batch size of the model, which is the first dimension of the first input that fixes it. It is
	// replaced in every input that begins with it, and in reshapes to a constant shape that begins with it and does not fit. A model
	// that depends on its batch size in other ways fails with a *NodeError, or computes its graph unchanged.
	Batch int
	// MaxStreams is the number of concurrent runs of a session, each on its own stream; default 16. Further runs wait.
	MaxStreams int
}

func (o Options) withDefaults() Options {
	def := func(p *int64, v int64) {
		if *p <= 0 {
			*p = v
		}
	}
	defInt := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&o.MaxExternalBytes, 64<<30)
	def(&o.MaxTensorBytes, 1<<36)
	if o.MaxHostBytes <= 0 {
		o.MaxHostBytes = HostLimit()
	}
	defInt(&o.MaxNodes, 1<<24)
	defInt(&o.MaxIterations, 1<<24)
	defInt(&o.MaxSpecialisations, 32)
	defInt(&o.MaxSteps, 16384)
	defInt(&o.MaxStreams, 16)
	if o.Precision == dtype.F32 {
		o.Precision = dtype.Invalid
	}
	return o
}

// The supported opsets of the default domain.
const (
	MinOpset = 1
	MaxOpset = 28
)

// Model is a checked model. It is immutable, apart from its count of memory, and safe for concurrent use; any number of sessions
// share it.
type Model struct {
	proto     *pb.Model
	options   Options
	opsets    map[string]int
	main      *graph
	functions map[funcKey]*function
	inputs    []ValueInfo
	outputs   []ValueInfo
	budget    *budget
	fixed     int // the batch size that Options.Batch replaces; 0 for none
}

// Load reads a model from a file, together with the external data files beside it.
func Load(path string, o Options) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	limit := o.Limits.MaxBytes
	if limit == 0 {
		limit = 2 << 30
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("onnx: %s: not a regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("onnx: %s: %d bytes, limit %d: %w", path, info.Size(), limit, pb.ErrLimit)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	m, err := Parse(b, filepath.Dir(path), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse decodes and checks a model. It keeps b. dir is the folder of external data files; if dir is empty, Parse returns an error for a
// model with external data. An operator that is not implemented is not an error here: Unsupported lists such operators, and Open refuses
// the model.
func Parse(b []byte, dir string, o Options) (*Model, error) {
	switch o.Precision {
	case dtype.Invalid, dtype.F32, dtype.BF16, dtype.F16:
	default:
		return nil, fmt.Errorf("onnx: precision %v, want %v, %v or %v: %w", o.Precision, dtype.F32, dtype.BF16, dtype.F16, core.ErrDType)
	}
	proto, err := pb.DecodeModel(b, o.Limits)
	if err != nil {
		return nil, err
	}
	m := &Model{proto: proto, options: o.withDefaults()}
	m.budget = &budget{limit: m.options.MaxHostBytes}
	if m.opsets, err = importsOf(proto.OpsetImports); err != nil {
		return nil, err
	}
	if len(m.opsets) == 0 && proto.IRVersion < 3 { // before version 3 the format had no imports
		m.opsets[""] = 1
	}
	if v, ok := m.opsets[""]; ok && (v < MinOpset || v > MaxOpset) {
		return nil, fmt.Errorf("onnx: opset version %d of the default domain, want %d to %d: %w", v, MinOpset, MaxOpset, errors.ErrUnsupported)
	}
	if err := m.readFunctions(proto.Functions); err != nil {
		return nil, err
	}
	if m.main, err = analyse(partsOf(proto.Graph, m.opsets), nil); err != nil {
		return nil, err
	}
	if err := m.checkImports(); err != nil {
		return nil, err
	}
	if err := m.readExternal(dir); err != nil {
		return nil, err
	}
	for _, v := range proto.Graph.Inputs {
		if m.main.inits[v.Name] == nil && m.main.sparse[v.Name] == nil {
			m.inputs = append(m.inputs, infoOf(v, false))
		}
	}
	for _, v := range proto.Graph.Inputs {
		if m.main.inits[v.Name] != nil || m.main.sparse[v.Name] != nil {
			m.inputs = append(m.inputs, infoOf(v, true))
		}
	}
	for _, v := range proto.Graph.Outputs {
		m.outputs = append(m.outputs, infoOf(v, false))
	}
	m.rebatch()
	return m, nil
}

func importsOf(ids []*pb.OperatorSetID) (map[string]int, error) {
	opsets := make(map[string]int, len(ids))
	for _, id := range ids {
		d := canonical(id.Domain)
		if _, dup := opsets[d]; dup {
			return nil, modelError("domain %q is imported twice", clip(id.Domain))
		}
		if id.Version < 0 || id.Version > 1<<30 {
			return nil, modelError("version %d of domain %q", id.Version, clip(id.Domain))
		}
		opsets[d] = int(id.Version)
	}
	return opsets, nil
}

// checkImports returns an error for a model that uses the default domain without importing it.
func (m *Model) checkImports() error {
	return m.eachNode(func(g *graph, n *pb.Node) error {
		d := canonical(n.Domain)
		v, ok := g.opsets[d]
		switch {
		case d != "" || m.functionOf(n) != nil:
			return nil
		case !ok:
			return modelError("%s: no opset of the default domain is imported (ir_version %d), want %d to %d", describe(n),
				m.proto.IRVersion, MinOpset, MaxOpset)
		case v < MinOpset || v > MaxOpset:
			return fmt.Errorf("onnx: %s: opset version %d, want %d to %d: %w", describe(n), v, MinOpset, MaxOpset, errors.ErrUnsupported)
		}
		return nil
	})
}

// eachNode calls visit for every live node of the main graph, of the functions that it calls, each once, and of all subgraphs.
func (m *Model) eachNode(visit func(g *graph, n *pb.Node) error) error {
	seen := map[*function]bool{}
	var walk func(g *graph) error
	walk = func(g *graph) error {
		for _, n := range g.nodes {
			if err := visit(g, n); err != nil {
				return err
			}
			if f := m.functionOf(n); f != nil && !seen[f] {
				seen[f] = true
				if err := walk(f.body); err != nil {
					return err
				}
			}
			for _, sub := range subgraphs(n) {
				if err := walk(g.subs[sub]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(m.main)
}

// Unsupported returns the operators of the model that are not implemented, or nil.
func (m *Model) Unsupported() *UnsupportedError {
	var list []UnsupportedOp
	at := map[opKey]int{}
	_ = m.eachNode(func(g *graph, n *pb.Node) error {
		d := canonical(n.Domain)
		version := g.opsets[d]
		if m.functionOf(n) != nil {
			return nil
		}
		if _, ok := find(d, n.OpType, version); ok {
			return nil
		}
		key := opKey{d, n.OpType}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, UnsupportedOp{Domain: d, Op: n.OpType, Version: version})
		}
		list[i].Nodes = append(list[i].Nodes, nameOf(n))
		return nil
	})
	if list == nil {
		return nil
	}
	return &UnsupportedError{list}
}
