package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx/pb"
)

func tensorScatter(t *testing.T, mode string, in ...string) *harness {
	n := operator("TensorScatter", append(ss("cache", "update"), in...), ss("y"), &pb.Attribute{Name: "mode", Type: pb.AttrString, S: []byte(mode)})
	inputs := []*pb.ValueInfo{decl("cache", pb.Float, 2, 3, 1), decl("update", pb.Float, 2, 2, 1)}
	if len(in) > 0 {
		inputs = append(inputs, decl(in[0], pb.Int64, 2))
	}
	return open(t, modelOf(24, &pb.Graph{Nodes: []*pb.Node{n}, Inputs: inputs, Outputs: bare("y")}))
}

func TestTensorScatter(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		at         []int64
		want       []float64 // of [0 1 2; 3 4 5] with [10 11; 20 21]
	}{
		{"from the start", "linear", nil, []float64{10, 11, 2, 20, 21, 5}},
		{"from positions", "linear", []int64{1, 0}, []float64{0, 10, 11, 20, 21, 5}},
		{"round", "circular", []int64{2, 1}, []float64{11, 1, 10, 3, 20, 21}},
		{"round from the start", "circular", nil, []float64{10, 11, 2, 20, 21, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var names []string
			if c.at != nil {
				names = ss("at")
			}
			h := tensorScatter(t, c.mode, names...)
			in := values{"cache": h.f32([]int{2, 3, 1}, 0, 1, 2, 3, 4, 5), "update": h.f32([]int{2, 2, 1}, 10, 11, 20, 21)}
			if c.at != nil {
				in["at"] = h.i64([]int{2}, c.at...)
			}
			h.want(h.run(in)["y"], []int{2, 3, 1}, c.want...)
		})
	}
}

func TestTensorScatterOutside(t *testing.T) {
	h := tensorScatter(t, "linear", "at")
	out, err := h.s.Run(t.Context(), values{"cache": h.f32([]int{2, 3, 1}, 0, 1, 2, 3, 4, 5),
		"update": h.f32([]int{2, 2, 1}, 10, 11, 20, 21), "at": h.i64([]int{2}, 1, 2)})
	if err == nil {
		_, err = out["y"].Tensor().Bytes(t.Context())
	}
	require.ErrorIs(t, err, core.ErrIndex)
}
