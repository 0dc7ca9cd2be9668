package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/wholefile"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Any marks a symbolic dimension of an input. All of them are the same dimension.
const Any = -1

// Opset is the version of the operators that are written, from 2023.
const Opset = 20

// irVersion is the version of the file format that was released with Opset.
const irVersion = 9

// sizes lists the sizes of the symbolic dimension at which a pass is traced. 1 is not among them because it would broadcast; the
// third checks the formula derived from the other two.
var sizes = []int{2, 3, 5}

// Input describes an input of the model.
type Input struct {
	Name  string
	DType dtype.DType
	Shape []int // dimensions, or Any
}

// Options configures an export.
type Options struct {
	Name     string            // name of the graph; "module" when empty
	Outputs  []string          // names of the outputs; missing ones are output, output_1, ...
	Symbol   string            // name of the symbolic dimension; "batch" when empty
	Metadata map[string]string // kept in the file
}

// Module exports a forward pass of m with one input and one output, in inference mode. It does not change m.
func Module[M any](ctx context.Context, m M, forward func(m M, x *tensor.Tensor) *tensor.Tensor, input Input, o Options) (*pb.Model, error) {
	return Modules(ctx, m, func(m M, in []*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{forward(m, in[0])}
	}, []Input{input}, o)
}

// Modules exports a forward pass with any number of inputs and outputs. forward must compute with the copy of m that it receives
// and with nothing else.
func Modules[M any](ctx context.Context, m M, forward func(m M, in []*tensor.Tensor) []*tensor.Tensor, inputs []Input, o Options) (*pb.Model, error) {
	r := &recorder{}
	dev, err := tensor.On(ctx, &core.Place{Backend: backend{r}, Spec: "onnx-export"})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	c, err := nn.Fork(ctx, m, dev)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var params []nn.Named
	if terr := tensor.Try(func() { nn.Eval(c); params = nn.Params(c) }); terr != nil {
		return nil, fmt.Errorf("export: %w", terr)
	}
	if err := dev.Sync(ctx); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	names := map[op.TensorID]string{}
	for _, p := range params {
		names[p.Value().Desc().ID] = p.Name
	}
	from, err := findSymbol(inputs)
	if err != nil {
		return nil, err
	}
	at := sizes
	if from.input == "" {
		at = sizes[:1]
	}
	shared := *r
	var passes []*pass
	for _, size := range at {
		*r = recorder{defs: shared.defs[:len(shared.defs):len(shared.defs)], nodes: shared.nodes[:len(shared.nodes):len(shared.nodes)], index: map[op.TensorID]int{}}
		for i, d := range r.defs {
			r.index[d.desc.ID] = i
		}
		p, err := trace(ctx, dev, r, inputs, size, func(in []*tensor.Tensor) []*tensor.Tensor { return forward(c, in) })
		if err != nil {
			return nil, err
		}
		passes = append(passes, p)
	}
	g, err := merge(passes)
	if err != nil {
		return nil, err
	}
	for i, d := range shared.defs {
		g.values[i].name = names[d.desc.ID]
	}
	for i, in := range inputs {
		v := g.values[len(shared.defs)+i]
		v.name, v.data = in.Name, nil
	}
	return write(g, inputs, from, o)
}

// findSymbol checks the inputs, and returns the first symbolic dimension in them.
func findSymbol(inputs []Input) (symbol, error) {
	var s symbol
	seen := map[string]bool{}
	for _, in := range inputs {
		if in.Name == "" || seen[in.Name] {
			return s, fmt.Errorf("export: input %q: a name that is empty or given twice: %w", in.Name, core.ErrAttr)
		}
		seen[in.Name] = true
		if elementType(in.DType) == 0 {
			return s, fmt.Errorf("export: input %s of type %v: %w", in.Name, in.DType, core.ErrDType)
		}
		for axis, n := range in.Shape {
			if n < Any {
				return s, fmt.Errorf("export: input %s of shape %v, want dimensions or Any: %w", in.Name, in.Shape, core.ErrShape)
			}
			if n == Any && s.input == "" {
				s = symbol{in.Name, axis}
			}
		}
	}
	return s, nil
}

// trace runs one forward pass. A failure in it, such as an op that ONNX lacks, is returned as an error.
func trace(ctx context.Context, dev *tensor.Device, r *recorder, inputs []Input, size int, forward func([]*tensor.Tensor) []*tensor.Tensor) (*pass, error) {
	var in, out []*tensor.Tensor
	for _, i := range inputs {
		dims := make([]int, len(i.Shape))
		for k, n := range i.Shape {
			if dims[k] = n; n == Any {
				dims[k] = size
			}
		}
		d := op.DescOf(i.DType, dims...)
		t, err := dev.FromBytes(ctx, i.DType, dims, make([]byte, d.Bytes()))
		if err != nil {
			return nil, fmt.Errorf("export: input %s: %w", i.Name, err)
		}
		in = append(in, t)
	}
	if err := tensor.Try(func() { out = forward(in) }); err != nil {
		return nil, fmt.Errorf("export: the forward pass: %w", err)
	}
	p := &pass{size: size}
	for i, t := range out {
		if t == nil || t.Device().Core() != dev.Core() {
			return nil, fmt.Errorf("export: output %d was not computed from what forward was given: %w", i, core.ErrAttr)
		}
		p.outputs = append(p.outputs, t.Desc().ID)
	}
	if err := dev.Sync(ctx); err != nil {
		return nil, fmt.Errorf("export: the forward pass: %w", err)
	}
	p.defs, p.nodes, p.index = r.defs, r.nodes, r.index
	return p, nil
}

// maxFile is the greatest size of a protobuf message in bytes.
const maxFile = 1<<31 - 1

// Save writes a model to a file atomically: after an error the previous file is unchanged and no partial file remains. A path
// that is not a regular file, such as a device, is written in place.
func Save(path string, m *pb.Model) error {
	b := m.Append(nil)
	if len(b) > maxFile {
		return fmt.Errorf("export: a model of %d bytes, ONNX files hold at most %d: save its parameters as safetensors, or cast them to f16: %w", len(b), maxFile, core.ErrUnsupported)
	}
	err := wholefile.Replace(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if errors.Is(err, wholefile.ErrIrregular) {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
