package router_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	placement "github.com/goburn/burn/core/program/place"
	"github.com/goburn/burn/decorators/router"
)

// planet has the true costs of programs on some members, in seconds: for each unit by its structure, for each part (consecutive units on
// one member) an overhead, and for transfers. Measured costs have noise, and each measured unit includes the overhead.
type planet struct {
	members  int
	units    map[string][]float64
	overhead []float64
	links    [][]float64 // cost of an empty tensor; each byte adds a thousandth of it
	rnd      *rand.Rand
}

func newPlanet(rnd *rand.Rand, members int) *planet {
	w := &planet{members: members, units: map[string][]float64{}, rnd: rnd}
	for range members {
		w.overhead = append(w.overhead, rnd.Float64()*1e-4)
		var row []float64
		for range members {
			row = append(row, rnd.Float64()*2e-3)
		}
		w.links = append(w.links, row)
	}
	return w
}

func (w *planet) noise() float64 { return 0.9 + 0.2*w.rnd.Float64() }

// unit returns the true time of a unit without its overhead.
func (w *planet) unit(p *program.Program, member int) float64 {
	key := placement.Key(p)
	if w.units[key] == nil {
		for range w.members {
			w.units[key] = append(w.units[key], w.rnd.Float64()*1e-2)
		}
	}
	return w.units[key][member]
}

func (w *planet) link(from, to int, bytes int64) float64 {
	return w.links[from][to] * (1 + float64(bytes)/1000)
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * 1e9) }

// Unit and Link return measured times.
func (w *planet) Unit(member int, p *program.Program) time.Duration {
	return duration((w.unit(p, member) + w.overhead[member]) * w.noise())
}

func (w *planet) Link(from, to int, bytes int64) time.Duration {
	return duration(w.link(from, to, bytes) * w.noise())
}

// cost returns the true cost of a placement of units on members.
func (w *planet) cost(p *program.Program, units []*placement.Unit, members []int) float64 {
	q := placement.NewProblem(p, units)
	q.Link = w.link
	for range w.members {
		q.Limit = append(q.Limit, math.Inf(1))
	}
	for i := range units {
		unit := placement.Alone(p, units, i)
		var row []float64
		for m := range w.members {
			row = append(row, w.unit(unit, m))
		}
		q.Time = append(q.Time, row)
	}
	sum := q.Cost(members)
	for _, x := range placement.Parts(p, units, members) {
		sum += w.overhead[x.Member]
	}
	return sum
}

// tangle returns a random program of small ops.
func tangle(t testing.TB, rnd *rand.Rand) *program.Program {
	p := &program.Program{Name: "tangle"}
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	pool := []op.Desc{{ID: next(), DType: dtype.F32, Shape: []int{4, 4}}, {ID: next(), DType: dtype.F32, Shape: []int{4, 4}}}
	p.Inputs = append(p.Inputs, pool...)
	for range 3 + rnd.IntN(8) {
		c := []op.Code{op.MatMul, op.Add, op.Sort, op.CumSum}[rnd.IntN(4)]
		var in []op.Desc
		for range len(op.Lookup(c).Operands) {
			in = append(in, pool[max(0, len(pool)-1-rnd.IntN(3))])
		}
		var attrs []op.Attr
		if c == op.Sort || c == op.CumSum {
			attrs = append(attrs, op.Int("axis", rnd.IntN(2)))
		}
		n, err := op.New(c, in, attrs...)
		require.NoError(t, err)
		for i := range n.Outputs {
			n.Outputs[i].ID = next()
		}
		p.Nodes = append(p.Nodes, n)
		pool = append(pool, n.Outputs[0])
	}
	p.Outputs = []op.TensorID{pool[len(pool)-1].ID}
	return p.Live()
}

// If the measured costs are off by up to 10 %, a split program settles, within the greatest number of runs of a trial, on a placement whose
// true cost is at most 3 % above that of the best single member. All results are right meanwhile. The test does not use the clock.
func TestSplitIsNeverSlowerThanOneMember(t *testing.T) {
	programs := 200
	if testing.Short() {
		programs = 40
	}
	var runs, corrected int
	for seed := range uint64(programs) {
		rnd := rand.New(rand.NewPCG(seed, 21))
		p := tangle(t, rnd)
		places := []*core.Place{place("a", processor(t)), place("b", processor(t))}
		if seed%4 == 0 {
			places = append(places, place("c", processor(t)))
		}
		w := newPlanet(rnd, len(places))
		var q *program.Program
		var units []*placement.Unit
		var first []int
		count := 0
		r := over(t, places, router.Split(w), router.TrialBy(func(p *program.Program, us []*placement.Unit, members []int) time.Duration {
			if q, units = p, us; count == 0 {
				first = members
			}
			count++
			return duration(w.cost(p, us, members) * w.noise())
		}))
		x, id := r.define(p)
		want := r.result(x, id, p)
		for !slices.ContainsFunc(r.Plans()[0].Tried, func(t placement.Tried) bool { return t.Chosen }) {
			require.Less(t, count, placement.Bound(len(places)+1), "seed %d", seed)
			require.Equal(t, want, r.result(x, id, p), "seed %d", seed)
		}
		runs += count
		for range 3 {
			require.Equal(t, want, r.result(x, id, p))
			way := make([]int, len(units))
			for i, u := range r.Plans()[0].Units {
				way[i] = slices.IndexFunc(places, func(p *core.Place) bool { return p.Spec == u.Member })
			}
			cost := w.cost(q, units, way)
			for m := range places {
				require.LessOrEqual(t, cost, 1.03*w.cost(q, units, slices.Repeat([]int{m}, len(units))), "seed %d, member %d: %v", seed, m, r.Plans()[0])
			}
			if w.cost(q, units, first) > 1.03*cost {
				corrected++
			}
		}
		require.NoError(t, x.Undefine(id))
		require.Eventually(t, func() bool { return r.live(r.s) == 0 }, 30*time.Second, time.Millisecond)
	}
	require.Positive(t, corrected)
	t.Logf("%d first choices of %d were corrected, by %d runs on average", corrected/3, programs, runs/programs)
}

// sleepy returns a reference backend on which each sort takes at least d.
func sleepy(d time.Duration) core.Backend {
	return ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		if n.Op == op.Sort {
			time.Sleep(d)
		}
		return ref.Eval(n, in)
	}))
}

// The time of a run covers the whole run, also if its parts are timed too or other placements are defined meanwhile: no run takes less time
// than its sorts.
func TestTimesOfRuns(t *testing.T) { synctest.Test(t, timesOfRuns) }

func timesOfRuns(t *testing.T) {
	const sort = 2 * time.Millisecond
	for range 4 {
		r := over(t, []*core.Place{place("a", sleepy(sort)), place("b", sleepy(4*sort))}, router.SplitMeasured(""))
		p := chain(t)
		x, id := r.define(p)
		for !slices.ContainsFunc(r.Plans()[0].Tried, func(t placement.Tried) bool { return t.Chosen }) {
			r.result(x, id, p)
		}
		for _, w := range r.Plans()[0].Tried {
			if w.Runs > 0 {
				require.Equal(t, map[string]time.Duration{"a": 2 * sort, "b": 8 * sort}[w.Members[0]], w.Time, "%v", r.Plans()[0])
			}
		}
		r.result(x, id, p)
		require.Equal(t, "a a a", members(r.Plans()[0]), "the next run uses the chosen placement")
		require.NoError(t, x.Undefine(id))
	}
}
