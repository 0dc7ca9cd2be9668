package onnx_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// layered returns a network of two products by weights of 128 by 128 with a Loop between them. The trip count is an input, a
// sequence grows in the loop, and a shape depends on data.
func layered() *pb.Model {
	r := rand.New(rand.NewPCG(1, 2))
	weights := func(name string) *pb.Tensor {
		v := make([]float32, 128*128)
		for i := range v {
			v[i] = float32(r.NormFloat64()) / 16
		}
		return f32s(name, []int64{128, 128}, v...)
	}
	body := &pb.Graph{Nodes: []*pb.Node{operator("Tanh", ss("h"), ss("t")), operator("Add", ss("t", "h"), ss("next")),
		operator("SequenceInsert", ss("seq", "t"), ss("grown")), operator("Identity", ss("go"), ss("on"))},
		Inputs: bare("i", "go", "h", "seq"), Outputs: bare("on", "next", "grown")}
	return modelOf(17, &pb.Graph{Name: "layered", Nodes: []*pb.Node{
		operator("MatMul", ss("x", "w1"), ss("a")),
		operator("SequenceEmpty", nil, ss("none")),
		operator("Loop", ss("trips", "", "a", "none"), ss("b", "parts"), graphAttr("body", body)),
		operator("ConcatFromSequence", ss("parts"), ss("joined"), intAttr("axis", 0)),
		operator("MatMul", ss("joined", "w2"), ss("c")),
		operator("NonZero", ss("x"), ss("where")),
		operator("Shape", ss("where"), ss("found")),
		operator("ReduceSum", ss("c"), ss("sum"), intAttr("keepdims", 0)),
	}, Initializers: []*pb.Tensor{weights("w1"), weights("w2")},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, nil, 128), decl("trips", pb.Int64)}, Outputs: bare("b", "c", "found", "sum")})
}

// Sixteen goroutines run one session on inputs of several shapes and with several trip counts. The results equal the results of
// separate runs bit for bit, and the weights are stored once.
func TestConcurrentRunsEqualSeparateRuns(t *testing.T) {
	type input struct {
		rows  int
		trips int64
	}
	var inputs []input
	for rows := 1; rows <= 4; rows++ {
		for trips := int64(1); trips <= 3; trips++ {
			inputs = append(inputs, input{rows, trips})
		}
	}
	feed := func(h *harness, in input) (values, error) {
		r := rand.New(rand.NewPCG(uint64(in.rows), uint64(in.trips)))
		v := make([]float32, in.rows*128)
		for i := range v {
			if v[i] = float32(r.NormFloat64()); i%7 == in.rows {
				v[i] = 0
			}
		}
		return values{"x": h.f32([]int{in.rows, 128}, v...), "trips": h.i64(nil, in.trips)}, nil
	}
	once := func(h *harness, in input) (map[string][]byte, error) {
		fed, err := feed(h, in)
		if err != nil {
			return nil, err
		}
		out, err := h.s.Run(t.Context(), fed)
		if err != nil {
			return nil, err
		}
		got := map[string][]byte{}
		for name, v := range out {
			if got[name], err = v.Tensor().Bytes(t.Context()); err != nil {
				return nil, err
			}
			v.Release()
		}
		for _, v := range fed {
			v.Release()
		}
		return got, nil
	}
	for _, name := range backends {
		t.Run(name, func(t *testing.T) {
			parsed, err := parse(layered(), onnx.Options{})
			require.NoError(t, err)
			// The reference runs in a session of its own.
			alone := &harness{t: t, dev: onStream(t, openBackend(t, name))}
			alone.s, err = parsed.Open(alone.dev)
			require.NoError(t, err)
			want := map[input]map[string][]byte{}
			for _, in := range inputs {
				want[in], err = once(alone, in)
				require.NoError(t, err)
			}
			level := alone.memory()

			h := &harness{t: t, dev: onStream(t, openBackend(t, name))}
			h.s, err = parsed.Open(h.dev)
			require.NoError(t, err)
			rounds := 4
			if testing.Short() {
				rounds = 1
			}
			errs := make([]error, 16)
			var wg sync.WaitGroup
			for g := range errs {
				wg.Go(func() {
					for i := range rounds * len(inputs) {
						in := inputs[(i*(g%5+1)+g)%len(inputs)]
						got, err := once(h, in)
						if err != nil {
							errs[g] = err
							return
						}
						for name, b := range want[in] {
							if !bytes.Equal(b, got[name]) {
								errs[g] = fmt.Errorf("%v: %s differs", in, name)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
			stats := h.s.Stats()
			require.Equal(t, alone.s.Stats().Steps, stats.Steps, "concurrent runs trace each step once")
			require.Equal(t, alone.s.Stats().Programs, stats.Programs)
			require.Equal(t, 16*rounds*len(inputs), stats.Hits+stats.Misses)
			after := h.memory()
			const weights = 2 * 128 * 128 * 4
			require.Less(t, after.InUse, level.InUse+weights/2, "the session stores one copy of the weights; separate runs used %d bytes", level.InUse)
			require.NoError(t, h.s.Close())
			require.Less(t, h.memory().InUse, int64(weights/2))
		})
	}
}

// Runs that wait for another run's trace continue when that trace fails, and Close lets runs in progress finish.
func TestConcurrentFaults(t *testing.T) {
	h := open(t, reshaping())
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				shape := []int64{2, 3}
				if (g+i)%2 == 0 {
					shape = []int64{4, 3}
				}
				in := values{"x": h.f32([]int{6}, 1, 2, 3, 4, 5, 6), "s": h.i64([]int{2}, shape...)}
				out, err := h.s.Run(t.Context(), in)
				if shape[0] == 4 {
					if err == nil {
						t.Error("6 elements were given the shape [4,3]")
					}
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := out["y"].Tensor().Bytes(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for range 4 {
		wg.Go(func() {
			for {
				in := values{"x": h.f32([]int{6}, 1, 2, 3, 4, 5, 6), "s": h.i64([]int{2}, 3, 2)}
				out, err := h.s.Run(t.Context(), in)
				if err != nil {
					require.ErrorIs(t, err, core.ErrClosed)
					return
				}
				if _, err := out["y"].Tensor().Bytes(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	require.NoError(t, h.s.Close())
	wg.Wait()
}
