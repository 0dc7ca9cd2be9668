package onnx_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/model/onnx/pb"
)

// TestLayers runs the cases of testdata/layers.py. Their sums have many terms, so the tolerance is wider than for single
// operators.
func TestLayers(t *testing.T) {
	b, err := os.ReadFile("testdata/layers.json")
	require.NoError(t, err)
	var file struct{ Cases []operatorCase }
	require.NoError(t, json.Unmarshal(b, &file))
	require.Greater(t, len(file.Cases), 300)
	for _, name := range backends {
		dev := openBackend(t, name)
		for _, c := range file.Cases {
			t.Run(name+"/"+c.Name, func(t *testing.T) { c.runLayer(t, dev) })
		}
	}
}

// runLayer runs a case three times: with its inputs given, again with the remembered plan, and with its inputs as constants.
func (c *operatorCase) runLayer(t *testing.T, dev *core.Place) {
	d := onStream(t, dev)
	feed := map[string]onnx.Value{}
	proto, err := pb.DecodeModel(c.Model, pb.Limits{})
	require.NoError(t, err)
	for _, in := range c.Inputs {
		p := decodeTensor(t, in)
		feed[p.Name], err = onnxtest.Upload(t.Context(), d, hostValue(t, p))
		require.NoError(t, err)
		proto.Graph.Initializers = append(proto.Graph.Initializers, p)
	}
	m, err := onnx.Parse(c.Model, "", onnx.Options{})
	require.NoError(t, err)
	s, err := m.Open(d)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c.near(t, s, feed)
	c.near(t, s, feed)
	require.Equal(t, 1, s.Stats().Hits)

	proto.Graph.Inputs = nil
	m, err = onnx.Parse(proto.Append(nil), "", onnx.Options{})
	require.NoError(t, err)
	folded, err := m.Open(d)
	require.NoError(t, err)
	defer func() { require.NoError(t, folded.Close()) }()
	c.near(t, folded, nil)
}

func (c *operatorCase) near(t *testing.T, s *onnx.Session, feed map[string]onnx.Value) {
	t.Helper()
	got, err := s.Run(t.Context(), feed)
	require.NoError(t, err)
	for _, out := range c.Outputs {
		want := decodeTensor(t, out)
		v, err := onnxtest.Download(t.Context(), got[want.Name])
		require.NoError(t, err)
		var tol *onnxtest.Tolerance
		if want.DataType == pb.Float || want.DataType == pb.Double {
			tol = &onnxtest.Tolerance{Rel: 2e-5, Abs: 1e-5}
		}
		if diff := onnxtest.CompareValues(want.Name, v, hostValue(t, want), tol); diff != nil {
			t.Errorf("against %s: %v", c.Peer, diff)
		}
	}
}
