package onnx

import (
	"fmt"
	"math"

	"github.com/goburn/burn/model/onnx/pb"
)

// readExternal reads external data files into the tensors of the model. Tensors that refer to the same range share memory.
func (m *Model) readExternal(dir string) error {
	var all []*pb.Tensor
	collect := func(t *pb.Tensor) {
		if t != nil && t.Location == pb.LocationExternal {
			all = append(all, t)
		}
	}
	sparse := func(s *pb.SparseTensor) {
		if s != nil {
			collect(s.Values)
			collect(s.Indices)
		}
	}
	attributes := func(as []*pb.Attribute) {
		for _, a := range as {
			collect(a.T)
			sparse(a.SparseTensor)
			for _, t := range a.Tensors {
				collect(t)
			}
			for _, s := range a.SparseTensors {
				sparse(s)
			}
		}
	}
	var graphs func(g *pb.Graph)
	nodes := func(ns []*pb.Node) {
		for _, n := range ns {
			attributes(n.Attributes)
			for _, g := range subgraphs(n) {
				graphs(g)
			}
		}
	}
	graphs = func(g *pb.Graph) {
		for _, t := range g.Initializers {
			collect(t)
		}
		for _, s := range g.SparseInitializers {
			sparse(s)
		}
		nodes(g.Nodes)
	}
	graphs(m.proto.Graph)
	for _, f := range m.proto.Functions {
		attributes(f.AttributeDefaults)
		nodes(f.Nodes)
	}
	if len(all) == 0 {
		return nil
	}
	if dir == "" {
		return fmt.Errorf("onnx: tensor %q has its data in a file, and no directory is given: %w", clip(all[0].Name), ErrModel)
	}
	files, err := pb.OpenDir(dir)
	if err != nil {
		return err
	}
	defer files.Close()
	shared := map[string][]byte{}
	var total int64
	for _, t := range all {
		bits := int64(t.DataType.Bits())
		if bits == 0 { // nodes that use it are refused
			continue
		}
		key := fmt.Sprint(t.DataType, t.Dims)
		for _, p := range t.External {
			key += fmt.Sprintf(" %q %q", p.Key, p.Value)
		}
		b, ok := shared[key]
		if !ok {
			n, err := t.Elements()
			if err != nil {
				return fmt.Errorf("onnx: tensor %q: %w", clip(t.Name), err)
			}
			size := int64(math.MaxInt64)
			if n < size/bits-1 {
				size = (n*bits + 7) / 8
			}
			if size > m.options.MaxExternalBytes-total {
				return fmt.Errorf("onnx: external data is above %d bytes: %w", m.options.MaxExternalBytes, ErrLimit)
			}
			if err := m.budget.take(size); err != nil {
				return fmt.Errorf("onnx: external data of tensor %q: %w", clip(t.Name), err)
			}
			total += size
			if b, err = t.ReadExternal(files); err != nil {
				return err
			}
			shared[key] = b
		}
		t.RawData, t.Location, t.External = b, pb.LocationDefault, nil
	}
	return nil
}
