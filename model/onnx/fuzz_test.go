package onnx_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// hostile has limits under which any model finishes quickly.
var hostile = onnx.Options{
	Limits:         pb.Limits{MaxBytes: 1 << 16, MaxNodes: 256, MaxElements: 1 << 10, MaxDepth: 40},
	MaxNodes:       400,
	MaxIterations:  20,
	MaxTensorBytes: 1 << 12,
	MaxHostBytes:   1 << 22,
	MaxSteps:       50,
}

// seeds returns models that reach most of the engine.
func seeds() []*pb.Model {
	body := &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("v", "v"), ss("w")), operator("Identity", ss("go"), ss("on"))},
		Inputs: bare("i", "go", "v"), Outputs: bare("on", "w")}
	branch := &pb.Graph{Nodes: []*pb.Node{operator("Neg", ss("x"), ss("r"))}, Outputs: bare("r")}
	k := wrap(operator("If", ss("k"), ss("y"), graphAttr("then_branch", branch), graphAttr("else_branch", branch)))
	k.Graph.Inputs = append(k.Graph.Inputs, decl("k", pb.Bool))
	call := operator("F", ss("x"), ss("y"), intAttr("axis", 0))
	call.Domain = "f"
	f := wrap(call)
	f.OpsetImports = append(f.OpsetImports, &pb.OperatorSetID{Domain: "f", Version: 1})
	f.Functions = []*pb.Function{{Name: "F", Domain: "f", Inputs: ss("p"), Outputs: ss("q"), Attributes: ss("axis"), OpsetImports: f.OpsetImports,
		Nodes: []*pb.Node{operator("Softmax", ss("p"), ss("q"), &pb.Attribute{Name: "axis", RefAttrName: "axis", Type: pb.AttrInt})}}}
	sequence := wrap(operator("SequenceConstruct", ss("x", "x"), ss("s")), operator("ConcatFromSequence", ss("s"), ss("y"), intAttr("axis", 0)))
	return []*pb.Model{reshaping(), powers(100, false), powers(5, true), k, f, sequence, wrap(operator("NonZero", ss("x"), ss("y"))),
		wrap(operator("Loop", ss("", "", "x"), ss("y"), graphAttr("body", body)))}
}

// FuzzLoad checks that no file makes loading or running panic or take long.
func FuzzLoad(f *testing.F) {
	for _, m := range seeds() {
		f.Add(m.Append(nil))
	}
	for _, m := range greedy(1 << 33) {
		f.Add(m.Append(nil))
	}
	d, err := core.OpenPlace("ref", core.Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := onnx.Parse(b, "", hostile)
		if err != nil {
			return
		}
		_ = m.Info()
		dev, err := tensor.On(t.Context(), d)
		require.NoError(t, err)
		defer dev.Close()
		s, err := m.Open(dev)
		if err != nil {
			require.ErrorIs(t, err, core.ErrUnsupported)
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := s.Explain(ctx, nil)
		if err == nil && r.Partial == nil {
			in := values{}
			for _, decl := range m.Inputs() {
				if decl.Kind == onnx.TensorKind && !decl.Default {
					in[decl.Name] = zeros(t, dev, decl)
				}
			}
			for range 2 {
				if out, err := s.Run(ctx, in); err == nil {
					for _, v := range out {
						v.Release()
					}
				}
			}
		}
		require.NoError(t, s.Close())
		require.Less(t, time.Since(began), time.Minute)
	})
}

func zeros(t *testing.T, dev *tensor.Device, decl onnx.ValueInfo) onnx.Value {
	s := make(shape.Shape, len(decl.Shape))
	for i, d := range decl.Shape {
		s[i] = max(1, d.Size)
	}
	x, err := dev.FromBytes(t.Context(), decl.DType, s, make([]byte, s.Size()*decl.DType.Size()))
	require.NoError(t, err)
	return onnx.TensorValue(x)
}
