package nv

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func dnnStub(t *testing.T) (*DNNHandle, *stub) {
	s := build(t, t.TempDir(), "libcudnn.so.9", "cudnn.c", dnnProcs{})
	l := Open(Search{Only: s.folder})
	require.NotNil(t, l.DNN, "%s", l.Report)
	require.Equal(t, "9.14.0", l.Report.Row("cudnn").Version)
	h, err := l.DNN.NewHandle()
	require.NoError(t, err)
	return h, s
}

// small returns a graph of a convolution with bias and relu.
func small(h *DNNHandle) (g *DNNGraph, x, w, b, y Tensor) {
	g = h.NewGraph()
	f := func(d ...int64) Tensor {
		return g.Tensor(TensorSpec{Type: DNNBF16, Dims: d, Strides: ChannelsLastStrides(d)})
	}
	x, w, b, y = f(2, 8, 5, 6), f(16, 8, 3, 3), f(1, 16, 1, 1), f(2, 16, 5, 6)
	conv, sum := g.Virtual(DNNF32, 2, 16, 5, 6), g.Virtual(DNNF32, 2, 16, 5, 6)
	g.Conv(ConvSpec{Compute: DNNF32, Pre: []int64{1, 2}, Post: []int64{3, 4}, Stride: []int64{5, 6}, Dilation: []int64{7, 8}}, x, w, conv)
	g.Pointwise(PointwiseSpec{Op: PwAdd, Compute: DNNF32}, sum, conv, b)
	g.Pointwise(PointwiseSpec{Op: PwRelu, Compute: DNNF32, Clip: true, Upper: 6}, y, sum)
	return g, x, w, b, y
}

func TestDNNAttributes(t *testing.T) {
	h, s := dnnStub(t)
	g, x, _, _, y := small(h)
	require.NoError(t, g.err)
	said := s.record()
	for _, want := range []string{
		"17.901 type 1: 9\n17.902 type 3: 2 8 5 6\n17.903 type 3: 240 1 48 8\n17.906 type 3: 1\n17.900 type 3: 16\n",
		"17.902 type 3: 16 8 3 3\n17.903 type 3: 72 1 24 8\n17.906 type 3: 2\n",
		"17.901 type 1: 0\n17.902 type 3: 2 16 5 6\n17.903 type 3: 480 30 6 1\n17.906 type 3: 5\n17.900 type 3: 16\n17.907 type 2: true\n",
		"1.100 type 1: 0\n1.101 type 7: 1\n1.106 type 3: 2\n1.105 type 3: 1 2\n1.104 type 3: 3 4\n1.103 type 3: 5 6\n1.102 type 3: 7 8\n",
		"10.702 type 15: <1>\n10.703 type 15: <17>\n10.704 type 15: <17>\n10.705 type 15: <17>\n10.700 type 4: 1\n10.701 type 4: 0\n",
		"0.0 type 14: 0\n0.1 type 1: 0\n13.750 type 15: <0>\n13.751 type 15: <17>\n13.752 type 15: <17>\n13.753 type 15: <17>\n",
		"0.0 type 14: 100\n0.1 type 1: 0\n0.3 type 5: 0\n0.4 type 5: 6\n",
	} {
		require.Contains(t, said, want)
	}
	p, err := g.Build(PlanOptions{})
	require.NoError(t, err)
	said = s.record()
	for _, want := range []string{"15.800 type 0: 36864\n15.801 type 15: <10> <13> <13>\n", "4.201 type 15: <15>\n4.200 type 8: 3\n", "5.400 type 0: 36864\n5.401 type 15: <3>\n"} {
		require.Contains(t, said, want)
	}
	require.Equal(t, int64(100), p.Engine)
	require.Equal(t, uint64(4096), p.Workspace)
	require.True(t, p.NativeGraph)
	k := &Pack{}
	k.Set(x, 0x100)
	k.Set(y, 0x200)
	k.Set(x, 0x300)
	require.NoError(t, errors.Join(h.SetStream(0x77), h.SetStream(0x77), p.Execute(k, 0x400), p.Populate(k, 0x400, 0x500)))
	require.Equal(t, "stream 77\n16.1001 type 6: 768 512\n16.1000 type 3: 1 4\n16.1003 type 6: 1024\nexecute 9000 engine 0 pack 1\n"+
		"16.1001 type 6: 768 512\n16.1000 type 3: 1 4\n16.1003 type 6: 1024\npopulate 500\n", s.record())
	s.set(2, 5000)
	err = p.Execute(k, 0)
	require.EqualError(t, err, "cuDNN: cudnnBackendExecute: the device said no (CUDNN_STATUS_OTHER, 5000)")
	require.NoError(t, errors.Join(p.Close(), g.Close()))
	require.Zero(t, h.Open())
	require.Zero(t, s.objects())
}

// TestDNNPlans checks that Build skips a plan that does not finalise, has a forbidden note, needs too much workspace or is refused by the
// caller, and that no object is left.
func TestDNNPlans(t *testing.T) {
	for _, c := range []struct {
		name     string
		unusable int64 // engines that do not finalise, as bits
		note     int64 // the numerical note of engine 0, plus 1; 0 is none
		fewer    int64 // engines that mode A does not name; the fallback names engine 2
		options  PlanOptions
		engine   int64 // 0 is none
	}{
		{name: "the first", engine: 100},
		{name: "the first does not finalise", unusable: 1, engine: 101},
		{name: "two do not finalise", unusable: 3, engine: 102},
		{name: "the heuristic names none but the fallback", fewer: 3, engine: 102},
		{name: "none of mode A finalises", fewer: 1, unusable: 3, engine: 102},
		{name: "none", unusable: 7},
		{name: "a note that is forbidden", note: 1 + int64(NoteDownConvert), options: PlanOptions{Forbid: []Note{NoteTensorCore, NoteDownConvert}}, engine: 101},
		{name: "a note that is not forbidden", note: 1 + int64(NoteDownConvert), options: PlanOptions{Forbid: []Note{NoteTensorCore}}, engine: 100},
		{name: "workspace", options: PlanOptions{MaxWorkspace: 4096}, unusable: 1},
		{name: "mode B", options: PlanOptions{Modes: []HeuristicMode{HeuristicB}}, engine: 102},
		{name: "refused by the caller", options: PlanOptions{Accept: func(p *Plan) error {
			if p.Engine < 102 {
				return errors.New("too slow")
			}
			return nil
		}}, engine: 102},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, s := dnnStub(t)
			s.set(0, c.unusable)
			s.set(1, c.note)
			s.set(3, c.fewer)
			g, _, _, _, _ := small(h)
			p, err := g.Build(c.options)
			if c.engine == 0 {
				require.ErrorIs(t, err, ErrUnsupported)
				require.ErrorContains(t, err, "engine 10")
			} else {
				require.NoError(t, err)
				require.Equal(t, c.engine, p.Engine)
				require.NoError(t, p.Close())
			}
			require.NoError(t, g.Close())
			require.Zero(t, h.Open())
			require.Zero(t, s.objects())
		})
	}
}

// TestDNNSaved checks that LoadPlan loads a saved plan without the heuristics, and refuses text that is no plan of this version of cuDNN.
func TestDNNSaved(t *testing.T) {
	h, s := dnnStub(t)
	g, x, _, _, _ := small(h)
	p, err := g.Build(PlanOptions{Modes: []HeuristicMode{HeuristicB}})
	require.NoError(t, err)
	saved, err := p.Save()
	require.NoError(t, err)
	require.Equal(t, "cuDNN plan 1: 91400 102 true\n{\"engine\":2}", string(saved))
	require.NoError(t, errors.Join(p.Close(), g.Close()))
	s.record()
	p, err = h.LoadPlan(saved)
	require.NoError(t, err)
	require.Equal(t, "5.400 type 0: 36864\n5.405 type 24: {\"engine\":2}\n", s.record())
	require.Equal(t, [2]int64{102, 3 * 4096}, [2]int64{p.Engine, int64(p.Workspace)})
	require.True(t, p.NativeGraph)
	k := &Pack{}
	k.Set(x, 0x100)
	require.NoError(t, p.Execute(k, 0))
	require.Contains(t, s.record(), "execute 9000 engine 2")
	require.NoError(t, p.Close())
	for _, text := range []string{"", "cuDNN plan 1: 91400 102 true\n", "cuDNN plan 1: 91401 102 true\n{\"engine\":2}", "cuDNN plan 1: 91400 102 true\n{}", "{\"engine\":2}\n"} {
		_, err := h.LoadPlan([]byte(text))
		require.ErrorIs(t, err, ErrUnsupported, "%q", text)
	}
	s.set(0, 4)
	_, err = h.LoadPlan(saved)
	require.ErrorContains(t, err, "engine 102: cuDNN: cudnnBackendFinalize: engine 2 does not take this")
	require.Zero(t, h.Open())
	require.Zero(t, s.objects())
}

func TestDNNMistakes(t *testing.T) {
	h, _ := dnnStub(t)
	g := h.NewGraph()
	_, err := g.Build(PlanOptions{})
	require.ErrorContains(t, err, "graph: it has no operation")
	require.NoError(t, g.Close())
	g = h.NewGraph()
	x := g.Virtual(DNNF32, 1, 1)
	g.Pointwise(PointwiseSpec{Op: PwReluBwd}, x, x, x, x)
	g.Pointwise(PointwiseSpec{Op: PwAdd}, x, x, x)
	_, err = g.Build(PlanOptions{})
	require.ErrorContains(t, err, "pointwise 200: 3 inputs, want 1 to 2")
	require.NoError(t, g.Close())
	require.Zero(t, h.Open())
}

func TestDNNAttention(t *testing.T) {
	h, s := dnnStub(t)
	for _, causal := range []bool{false, true} {
		g := h.NewGraph()
		d := TensorSpec{Type: DNNF16, Dims: []int64{2, 3, 5, 8}, Strides: []int64{120, 8, 24, 1}}
		spec := AttentionSpec{Q: d, K: d, V: d, O: d, Causal: causal, Statistics: !causal}
		if causal {
			spec.Mask = &TensorSpec{Type: DNNF32, Dims: []int64{2, 1, 5, 5}}
		}
		a := g.Attention(spec)
		p, err := g.Build(PlanOptions{})
		require.NoError(t, err)
		said := s.record()
		require.Contains(t, said, "17.902 type 3: 2 3 8 5\n17.903 type 3: 120 8 1 24\n", "k is transposed by its strides")
		ops := "<19> <13> <22> <13> <13> <22> <13> <13> <13> <19>"
		if causal {
			require.Contains(t, said, "17.902 type 3: 2 1 5 5\n")
			ops = "<19> <13> <13> <13> <13> <13> <13> <22> <13> <13> <22> <13> <13> <13> <19>"
		}
		require.Contains(t, said, "15.801 type 15: "+ops+"\n", "statistics are computed, wanted or not")
		stats := "17.902 type 3: 2 3 5 1\n17.903 type 3: 15 5 1 1\n17.906 type 3: %d\n17.900 type 3: 16\n"
		if spec.Statistics {
			require.NotContains(t, said, fmt.Sprintf(stats, a.Statistics.ID)+"17.907")
			require.Contains(t, said, fmt.Sprintf(stats, a.Statistics.ID))
		} else {
			require.Zero(t, a.Statistics)
			require.Equal(t, 4, strings.Count(said, "17.902 type 3: 2 3 5 1\n"), "maximum, sum, its logarithm, statistics")
			require.Equal(t, 4, len(regexp.MustCompile(`17.902 type 3: 2 3 5 1\n17.903 .*\n17.906 .*\n17.900 .*\n17.907 type 2: true\n`).FindAllString(said, -1)))
		}
		k := &Pack{}
		a.SetScalars(k, h.dnn, 0.25)
		require.Len(t, k.ids, map[bool]int{false: 1, true: 2}[causal])
		require.NoError(t, errors.Join(p.Execute(k, 0), p.Close(), g.Close()))
	}
	require.Zero(t, h.Open())
}

func TestStrides(t *testing.T) {
	require.Equal(t, []int64{60, 20, 5, 1}, RowMajorStrides([]int64{2, 3, 4, 5}))
	require.Equal(t, []int64{60, 1, 15, 3}, ChannelsLastStrides([]int64{2, 3, 4, 5}))
	require.Equal(t, []int64{360, 1, 90, 18, 3}, ChannelsLastStrides([]int64{2, 3, 4, 5, 6}))
}
