package onnx_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// damage changes a legal one-node model and its inputs as directed by the bytes of a fuzzer.
type damage []byte

func (d *damage) next() int {
	if len(*d) == 0 {
		return 0
	}
	v := (*d)[0]
	*d = (*d)[1:]
	return int(v)
}

func (d *damage) number() int64 {
	switch v := d.next(); v {
	case 255:
		return math.MaxInt64
	case 254:
		return math.MinInt64
	case 253:
		return 1 << 30
	default:
		return int64(v%14) - 4
	}
}

func (d *damage) attribute(a *pb.Attribute) {
	switch a.Type {
	case pb.AttrInt:
		a.I = d.number()
	case pb.AttrFloat:
		a.F = float32(d.number())
	case pb.AttrString:
		a.S = a.S[:len(a.S)/2]
	case pb.AttrInts:
		if k := d.next() % (len(a.Ints) + 1); k == len(a.Ints) {
			a.Ints = append(a.Ints, d.number())
		} else if k < len(a.Ints) {
			a.Ints[k] = d.number()
		}
	case pb.AttrFloats:
		a.Floats = a.Floats[:len(a.Floats)/2]
	case pb.AttrStrings:
		a.Strings = a.Strings[:len(a.Strings)/2]
	}
}

// tensor cuts or repeats the data of an input to fit other dimensions, or changes its numbers.
func (d *damage) tensor(p *pb.Tensor) {
	size := len(p.RawData) / max(1, dtypes[p.DataType].Size())
	if d.next()%3 == 0 && size > 0 {
		w := len(p.RawData) / size
		k := d.next() % size
		for i := range w {
			p.RawData[k*w+i] = byte(d.next())
		}
		return
	}
	dims, n := []int64{}, int64(1)
	for range d.next() % 6 {
		k := int64(d.next() % 5)
		dims, n = append(dims, k), n*k
	}
	raw := make([]byte, int(n)*dtypes[p.DataType].Size())
	for i := range raw {
		if len(p.RawData) > 0 {
			raw[i] = p.RawData[i%len(p.RawData)]
		}
	}
	p.Dims, p.RawData = dims, raw
}

// FuzzLayers runs damaged versions of the models in testdata/layers.json. Each must compute a result or return an error.
func FuzzLayers(f *testing.F) {
	b, err := os.ReadFile("testdata/layers.json")
	require.NoError(f, err)
	var file struct{ Cases []operatorCase }
	require.NoError(f, json.Unmarshal(b, &file))
	for i := range file.Cases {
		f.Add(uint16(i), []byte{0, byte(i), byte(i / 7), 255})
		f.Add(uint16(i), []byte{1, byte(i), 1, byte(i / 3), 3, 2, 1})
	}
	dev, err := core.OpenPlace("ref", core.Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, which uint16, bytes []byte) {
		node, took, err := runDamaged(t, dev, &file.Cases[int(which)%len(file.Cases)], bytes)
		if err != nil {
			require.False(t, strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "internal"), "%v: %v", node, err)
		}
		require.Less(t, took, time.Minute, "%v", node)
	})
}

// runDamaged damages a case and runs it. It returns the node, the duration of the run, and its error.
func runDamaged(t *testing.T, dev *core.Place, c *operatorCase, bytes damage) (*pb.Node, time.Duration, error) {
	d := bytes
	proto, err := pb.DecodeModel(c.Model, pb.Limits{})
	require.NoError(t, err)
	node := proto.Graph.Nodes[0]
	inputs := make([]*pb.Tensor, len(c.Inputs))
	for i, in := range c.Inputs {
		inputs[i] = decodeTensor(t, in)
	}
	for range 1 + len(d)/8 {
		switch k := d.next() % 4; {
		case k == 0 && len(node.Attributes) > 0:
			d.attribute(node.Attributes[d.next()%len(node.Attributes)])
		case k == 1 && len(inputs) > 0:
			d.tensor(inputs[d.next()%len(inputs)])
		case k == 2 && len(node.Inputs) > 0:
			node.Inputs[d.next()%len(node.Inputs)] = ""
		case k == 3 && len(node.Attributes) > 0:
			i := d.next() % len(node.Attributes)
			node.Attributes = append(node.Attributes[:i:i], node.Attributes[i+1:]...)
		}
	}
	for _, in := range proto.Graph.Inputs {
		in.Type = nil
	}
	stream, err := tensor.On(t.Context(), dev)
	require.NoError(t, err)
	defer stream.Close()
	feed := map[string]onnx.Value{}
	for _, p := range inputs {
		feed[p.Name], err = onnxtest.Upload(t.Context(), stream, hostValue(t, p))
		require.NoError(t, err)
	}
	m, err := onnx.Parse(proto.Append(nil), "", onnx.Options{MaxTensorBytes: 1 << 14})
	if err != nil {
		return node, 0, err
	}
	s, err := m.Open(stream)
	if err != nil {
		return node, 0, err
	}
	defer s.Close()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, err := s.Run(ctx, feed)
	for _, v := range out {
		v.Release()
	}
	return node, time.Since(began), err
}
