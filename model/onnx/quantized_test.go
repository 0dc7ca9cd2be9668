package onnx_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// defined is a backend that counts the ops of the programs it receives.
type defined struct {
	core.Backend
	ops map[op.Code]int
}

func (d defined) Open(ctx context.Context, device int) (core.Device, error) {
	inner, err := d.Backend.Open(ctx, device)
	return definedDevice{inner, d.ops}, err
}

type definedDevice struct {
	core.Device
	ops map[op.Code]int
}

func (d definedDevice) Extend(target any) bool {
	t, ok := target.(*core.Programs)
	if ok = d.Device.Extend(target) && ok; ok {
		*t = definedPrograms{*t, d.ops}
	}
	return ok
}

type definedPrograms struct {
	core.Programs
	ops map[op.Code]int
}

func (d definedPrograms) Define(ctx context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	for i := range p.Nodes {
		d.ops[p.Nodes[i].Op]++
	}
	return d.Programs.Define(ctx, s, p, consts)
}

// TestQuantized runs the network of testdata/quantized.py, which quantizes the activations between its layers. Its outputs differ by at
// most one quantization step from the expected ones, and the cpu backend computes its layers with integer ops.
func TestQuantized(t *testing.T) {
	b, err := os.ReadFile("testdata/quantized.json")
	require.NoError(t, err)
	var file struct {
		Step  float64
		Cases []struct {
			Shape               []int
			X, Floats, Integers []float32
		}
	}
	require.NoError(t, json.Unmarshal(b, &file))
	m, err := onnx.Load("testdata/quantized.onnx", onnx.Options{})
	require.NoError(t, err)
	for _, name := range backends {
		t.Run(name, func(t *testing.T) {
			counts := map[op.Code]int{}
			d := onStream(t, openBackend(t, name).With(func(b core.Backend) core.Backend { return defined{b, counts} }))
			s, err := m.Open(d)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			h := &harness{t, d, s}
			for _, c := range file.Cases {
				out := h.run(values{"x": h.f32(c.Shape, c.X...)})
				v, err := onnxtest.Download(t.Context(), out["y"])
				require.NoError(t, err)
				y := v.Tensor
				require.Equal(t, 10*c.Shape[0], y.Shape.Size())
				for i := range c.Floats {
					got := float64(math.Float32frombits(binary.LittleEndian.Uint32(y.Data[4*i:])))
					require.InDelta(t, c.Floats[i], got, 1.01*file.Step, "case of %d images, element %d", c.Shape[0], i)
					require.InDelta(t, c.Integers[i], got, 1.01*file.Step)
				}
			}
			if name == "cpu" {
				require.Equal(t, len(file.Cases)*4, counts[op.ConvInteger])
				require.Equal(t, len(file.Cases)*2, counts[op.MatMulInteger])
				require.Zero(t, counts[op.Conv]+counts[op.MatMul]+counts[op.Linear])
			}
		})
	}
}
