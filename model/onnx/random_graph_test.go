package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

// grid is a value of a random graph: rows by columns, either of which may be 1 and broadcasts.
type grid struct {
	rows, cols int
	v          []float64
}

const gridRows, gridCols = 3, 4

func (g grid) at(i, j int) float64 { return g.v[i%g.rows*g.cols+j%g.cols] }

// joined applies f element by element, with broadcasting. All numbers of a graph are small whole numbers, so that f32 and f64 are exact.
func (g grid) joined(h grid, f func(a, b float64) float64) grid {
	out := grid{rows: max(g.rows, h.rows), cols: max(g.cols, h.cols)}
	for i := range out.rows {
		for j := range out.cols {
			out.v = append(out.v, f(g.at(i, j), h.at(i, j)))
		}
	}
	return out
}

// summed returns the sums along an axis, whose length becomes 1.
func (g grid) summed(axis int) grid {
	out := grid{rows: g.rows, cols: 1}
	if axis == 0 {
		out = grid{rows: 1, cols: g.cols}
	}
	out.v = make([]float64, out.rows*out.cols)
	for i := range g.rows {
		for j := range g.cols {
			out.v[i%out.rows*out.cols+j%out.cols] += g.at(i, j)
		}
	}
	return out
}

func drawGrid(r *rand.Rand) grid {
	g := grid{rows: []int{1, gridRows}[r.IntN(2)], cols: []int{1, gridCols}[r.IntN(2)]}
	for range g.rows * g.cols {
		g.v = append(g.v, float64(r.IntN(9)-4))
	}
	return g
}

// sketch builds a graph together with the values that its nodes must compute.
type sketch struct {
	r      *rand.Rand
	graph  *pb.Graph
	names  []string
	values []grid
	inputs map[string]grid
	next   int
}

func (s *sketch) fresh(prefix string) string { s.next++; return fmt.Sprint(prefix, s.next) }

// add appends a node with one output, and the value of this output. It returns the name of the output.
func (s *sketch) add(kind string, in []string, v grid, a ...*pb.Attribute) string {
	name := s.fresh("v")
	s.graph.Nodes = append(s.graph.Nodes, operator(kind, in, ss(name), a...))
	s.names, s.values = append(s.names, name), append(s.values, v)
	return name
}

func (s *sketch) integers(v ...int64) string {
	name := s.fresh("k")
	s.graph.Initializers = append(s.graph.Initializers, i64s(name, []int64{int64(len(v))}, v...))
	return name
}

// given adds a random input, or a random initializer, which is folded.
func (s *sketch) given(constant bool) {
	name, g := s.fresh("x"), drawGrid(s.r)
	if constant {
		p := &pb.Tensor{Name: name, DataType: pb.Float, Dims: []int64{int64(g.rows), int64(g.cols)}}
		for _, f := range g.v {
			p.FloatData = append(p.FloatData, float32(f))
		}
		s.graph.Initializers = append(s.graph.Initializers, p)
	} else {
		s.graph.Inputs = append(s.graph.Inputs, decl(name, pb.Float, nil, nil))
		s.inputs[name] = g
	}
	s.names, s.values = append(s.names, name), append(s.values, g)
}

// bounded clamps a number to [-9, 9], so that products stay exact.
func bounded(f float64) float64 { return min(max(f, -9), 9) }

// step appends a random operation on earlier values.
func (s *sketch) step() {
	i, k := s.r.IntN(len(s.names)), s.r.IntN(len(s.names))
	a, b, x, y := s.names[i], s.names[k], s.values[i], s.values[k]
	limits := func(name string, v grid) {
		lo, hi := s.fresh("k"), s.fresh("k")
		s.graph.Initializers = append(s.graph.Initializers, f32s(lo, nil, -9), f32s(hi, nil, 9))
		s.add("Clip", ss(name, lo, hi), v.joined(v, func(a, _ float64) float64 { return bounded(a) }))
	}
	two := func(kind string, f func(a, b float64) float64) {
		v := x.joined(y, f)
		limits(s.add(kind, ss(a, b), v), v)
	}
	switch s.r.IntN(10) {
	case 0:
		two("Add", func(a, b float64) float64 { return a + b })
	case 1:
		two("Sub", func(a, b float64) float64 { return a - b })
	case 2:
		two("Mul", func(a, b float64) float64 { return a * b })
	case 3:
		two("Max", func(a, b float64) float64 { return max(a, b) })
	case 4:
		s.add("Neg", ss(a), x.joined(x, func(a, _ float64) float64 { return -a }))
	case 5:
		s.add("Relu", ss(a), x.joined(x, func(a, _ float64) float64 { return max(a, 0) }))
	case 6:
		axis := s.r.IntN(2)
		v := x.summed(axis)
		limits(s.add("ReduceSum", ss(a, s.integers(int64(axis))), v, intAttr("keepdims", 1)), v)
	case 7: // to a vector and back, to a shape that another node computes
		flat := s.add("Reshape", ss(a, s.integers(-1)), x)
		s.names, s.values = s.names[:len(s.names)-1], s.values[:len(s.values)-1] // of another rank: not used again
		shape := s.fresh("s")
		s.graph.Nodes = append(s.graph.Nodes, operator("Shape", ss(a), ss(shape)))
		s.add("Reshape", ss(flat, shape), x)
	case 8:
		t := s.fresh("t")
		s.graph.Nodes = append(s.graph.Nodes, operator("Transpose", ss(a), ss(t)))
		s.add("Transpose", ss(t), x, intsAttr("perm", 1, 0))
	case 9: // a branch that the greatest element decides
		first, zero, yes := s.fresh("f"), s.fresh("k"), s.fresh("c")
		s.graph.Initializers = append(s.graph.Initializers, f32s(zero, nil, 0))
		s.graph.Nodes = append(s.graph.Nodes, operator("ReduceMax", ss(a, s.integers(0, 1)), ss(first), intAttr("keepdims", 0)), operator("Greater", ss(first, zero), ss(yes)))
		then, other := &pb.Graph{Nodes: []*pb.Node{operator("Neg", ss(b), ss("r"))}, Outputs: bare("r")}, &pb.Graph{Nodes: []*pb.Node{operator("Add", ss(b, b), ss("r"))}, Outputs: bare("r")}
		f := func(a, _ float64) float64 { return -a }
		if slices.Max(x.v) <= 0 {
			f = func(a, _ float64) float64 { return 2 * a }
		}
		v := y.joined(y, f)
		limits(s.add("If", ss(yes), v, graphAttr("then_branch", then), graphAttr("else_branch", other)), v)
	}
}

// Graphs of random nodes, constants and branches, in any order and with dead nodes, compute the values that sketch computed node by
// node: on the reference and the cpu backend, in the first run, with the remembered plan, and with other contents of the inputs.
func TestRandomGraphs(t *testing.T) {
	for _, backend := range backends {
		dev := onStream(t, openBackend(t, backend))
		for seed := range uint64(40) {
			build := func(contents uint64) *sketch { // one structure, with other contents of the inputs
				s := &sketch{r: rand.New(rand.NewPCG(seed, 1)), graph: &pb.Graph{}, inputs: map[string]grid{}}
				for i := range 4 {
					s.given(i == 3)
				}
				if contents > 0 {
					other := rand.New(rand.NewPCG(seed, 1+contents))
					for i, name := range s.names {
						if g, ok := s.inputs[name]; ok {
							g.v = slices.Clone(g.v)
							for k := range g.v {
								g.v[k] = float64(other.IntN(9) - 4)
							}
							s.inputs[name], s.values[i] = g, g
						}
					}
				}
				for range 4 + s.r.IntN(20) {
					s.step()
				}
				return s
			}
			s := build(0)
			wanted := map[string]int{}
			for range 3 {
				at := 4 + s.r.IntN(len(s.names)-4)
				if _, twice := wanted[s.names[at]]; !twice {
					wanted[s.names[at]] = at
					s.graph.Outputs = append(s.graph.Outputs, bare(s.names[at])...)
				}
			}
			s.r.Shuffle(len(s.graph.Nodes), func(i, k int) { s.graph.Nodes[i], s.graph.Nodes[k] = s.graph.Nodes[k], s.graph.Nodes[i] })
			parsed, err := parse(modelOf(17, s.graph), onnx.Options{})
			require.NoError(t, err, "seed %d", seed)
			session, err := parsed.Open(dev)
			require.NoError(t, err)
			h := &harness{t, dev, session}
			for _, contents := range []uint64{0, 0, 1, 2, 0} {
				now := build(contents)
				feed := map[string]onnx.Value{}
				for name, g := range now.inputs {
					var f []float32
					for _, v := range g.v {
						f = append(f, float32(v))
					}
					feed[name] = h.f32([]int{g.rows, g.cols}, f...)
				}
				out := h.run(feed)
				for name, at := range wanted {
					g := now.values[at]
					compare(t, out[name], gives([]int{g.rows, g.cols}, g.v...))
				}
			}
			require.NoError(t, session.Close())
		}
	}
}
