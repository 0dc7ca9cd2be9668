package onnx_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/model/onnx/pb"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// operatorCase is a model of one node, made by testdata/operators.py, with the outputs that another runtime computes.
type operatorCase struct {
	Name, Peer      string
	Model           []byte
	Inputs, Outputs [][]byte // TensorProto
}

func init() { core.Register("ref", func(core.Config) (core.Backend, error) { return ref.New(), nil }) }

// backends lists the backends that operators are tested on: the slow, simple reference, and the cpu backend that applications use.
var backends = []string{"ref", "cpu"}

func openRef(t *testing.T) *core.Place { return openBackend(t, "ref") }

func openBackend(t *testing.T, name string) *core.Place {
	t.Helper()
	d, err := core.OpenPlace(name, core.Config{})
	require.NoError(t, err)
	d = verify.Device(d)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func onStream(t *testing.T, d *core.Place) *tensor.Device {
	t.Helper()
	dev, err := tensor.On(t.Context(), d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func decodeTensor(t *testing.T, b []byte) *pb.Tensor {
	t.Helper()
	p, err := pb.DecodeTensor(b, pb.Limits{})
	require.NoError(t, err)
	return p
}

// dtypes maps the element types that the cases use.
var dtypes = map[pb.DataType]dtype.DType{
	pb.Float: dtype.F32, pb.Double: dtype.F64, pb.Float16: dtype.F16, pb.Bool: dtype.Bool, pb.Int64: dtype.I64, pb.Int32: dtype.I32,
	pb.Int16: dtype.I16, pb.Int8: dtype.I8, pb.Uint64: dtype.U64, pb.Uint32: dtype.U32, pb.Uint16: dtype.U16, pb.Uint8: dtype.U8,
}

func hostValue(t *testing.T, p *pb.Tensor) onnxtest.Value {
	t.Helper()
	d, ok := dtypes[p.DataType]
	require.True(t, ok)
	data, err := p.Bytes(nil)
	require.NoError(t, err)
	s := shape.Shape{}
	for _, n := range p.Dims {
		s = append(s, int(n))
	}
	return onnxtest.Value{Tensor: onnxtest.Array{DType: d, Shape: s, Data: data}}
}

// TestOperators runs every case three times: with its inputs given, again with the remembered plan, and with its inputs as
// constants.
func TestOperators(t *testing.T) {
	b, err := os.ReadFile("testdata/operators.json")
	require.NoError(t, err)
	var file struct{ Cases []operatorCase }
	require.NoError(t, json.Unmarshal(b, &file))
	require.Greater(t, len(file.Cases), 590)
	for _, name := range backends {
		dev := openBackend(t, name)
		for _, c := range file.Cases {
			t.Run(name+"/"+c.Name, func(t *testing.T) { c.run(t, dev) })
		}
	}
}

func (c *operatorCase) run(t *testing.T, dev *core.Place) {
	d := onStream(t, dev)
	feed := map[string]onnx.Value{}
	for _, in := range c.Inputs {
		p := decodeTensor(t, in)
		v, err := onnxtest.Upload(t.Context(), d, hostValue(t, p))
		require.NoError(t, err)
		feed[p.Name] = v
	}
	m, err := onnx.Parse(c.Model, "", onnx.Options{})
	require.NoError(t, err)
	s, err := m.Open(d)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for range 2 {
		c.check(t, s, feed)
	}
	require.Equal(t, 1, s.Stats().Hits, "the second run executes the plan of the first")

	proto, err := pb.DecodeModel(c.Model, pb.Limits{})
	require.NoError(t, err)
	proto.Graph.Inputs = nil
	for _, in := range c.Inputs {
		proto.Graph.Initializers = append(proto.Graph.Initializers, decodeTensor(t, in))
	}
	m, err = onnx.Parse(proto.Append(nil), "", onnx.Options{})
	require.NoError(t, err)
	folded, err := m.Open(d)
	require.NoError(t, err)
	defer func() { require.NoError(t, folded.Close()) }()
	c.check(t, folded, nil)
}

func (c *operatorCase) check(t *testing.T, s *onnx.Session, feed map[string]onnx.Value) {
	t.Helper()
	got, err := s.Run(context.Background(), feed)
	require.NoError(t, err)
	for _, out := range c.Outputs {
		want := decodeTensor(t, out)
		v, err := onnxtest.Download(t.Context(), got[want.Name])
		require.NoError(t, err)
		var tol *onnxtest.Tolerance
		if want.DataType == pb.Float || want.DataType == pb.Double {
			tol = &onnxtest.Tolerance{Rel: 1e-5, Abs: 1e-5} // ONNX Runtime sums in f32
		}
		if diff := onnxtest.CompareValues(want.Name, v, hostValue(t, want), tol); diff != nil {
			t.Errorf("against %s: %v", c.Peer, diff)
		}
	}
}
