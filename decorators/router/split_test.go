package router_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
)

// costs are planted costs of units, by member, with relative noise, and of transfers.
type costs struct {
	mu    sync.Mutex
	unit  func(member int, p *program.Program) time.Duration
	link  time.Duration
	noise float64
	rnd   *rand.Rand
}

func (c *costs) Unit(m int, p *program.Program) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(c.unit(m, p)) * (1 + c.noise*(2*c.rnd.Float64()-1)))
}

func (c *costs) Link(int, int, int64) time.Duration { return c.link }

// byOp returns a function that adds the times of a program's ops on one of two members.
func byOp(times map[op.Code][2]time.Duration) func(int, *program.Program) time.Duration {
	return func(m int, p *program.Program) time.Duration {
		sum := time.Duration(0)
		for i := range p.Nodes {
			sum += times[p.Nodes[i].Op][m]
		}
		return sum
	}
}

func fixed(link time.Duration, times map[op.Code][2]time.Duration) *costs {
	return &costs{unit: byOp(times), link: link, rnd: rand.New(rand.NewPCG(1, 2))}
}

// chain returns the program sort(matmul(sort(x), c)). Each of its three nodes is a unit.
func chain(t testing.TB) *program.Program {
	x, c := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{4, 4}}, op.Desc{ID: 2, DType: dtype.F32, Shape: []int{4, 4}}
	p := &program.Program{Name: "chain", Inputs: []op.Desc{x}, Consts: []op.Desc{c}}
	add := func(c op.Code, in []op.Desc, first op.TensorID, attrs ...op.Attr) op.Desc {
		n, err := op.New(c, in, attrs...)
		require.NoError(t, err)
		for i := range n.Outputs {
			n.Outputs[i].ID = first + op.TensorID(i)
		}
		p.Nodes = append(p.Nodes, n)
		return n.Outputs[0]
	}
	y := add(op.Sort, []op.Desc{x}, 10, op.Int("axis", 1))
	z := add(op.Sort, []op.Desc{add(op.MatMul, []op.Desc{y, c}, 20)}, 30, op.Int("axis", 0))
	p.Outputs = []op.TensorID{z.ID}
	return p
}

// members returns the members of a plan's units, in order.
func members(p *router.Plan) string {
	var all []string
	for _, u := range p.Units {
		all = append(all, u.Member)
	}
	return strings.Join(all, " ")
}

// define defines a program over fresh constants of random numbers.
func (r *rig) define(p *program.Program) (core.Programs, core.ProgramID) {
	x, ok := core.Extension[core.Programs](r.Device)
	require.True(r.t, ok)
	var consts []op.TensorID
	for i, d := range p.Consts {
		d.ID = r.NewIDs(1)
		require.NoError(r.t, r.s.Write(ctx, d, dtype.Bytes(numbers(uint64(i), d.Shape.Size()))))
		consts = append(consts, d.ID)
	}
	id, err := x.Define(ctx, r.s, p, consts)
	require.NoError(r.t, err)
	require.NoError(r.t, r.s.Submit(nil, consts))
	return x, id
}

func numbers(seed uint64, n int) []float32 {
	rnd := rand.New(rand.NewPCG(seed, 9))
	v := make([]float32, n)
	for i := range v {
		v[i] = rnd.Float32() - 0.5
	}
	return v
}

// result returns the first output of a run on random numbers.
func (r *rig) result(x core.Programs, id core.ProgramID, p *program.Program) []byte {
	run := core.Run{Program: id}
	for i, d := range p.Inputs {
		d.ID = r.NewIDs(1)
		require.NoError(r.t, r.s.Write(ctx, d, dtype.Bytes(numbers(uint64(100+i), d.Shape.Size()))))
		run.Inputs, run.Donated = append(run.Inputs, d.ID), append(run.Donated, true)
	}
	for range p.Outputs {
		run.Outputs = append(run.Outputs, r.NewIDs(1))
	}
	require.NoError(r.t, x.Run(r.s, run))
	data := make([]byte, p.OutputDescs()[0].Bytes())
	require.NoError(r.t, core.Read(ctx, r.s, run.Outputs[0], data))
	require.NoError(r.t, r.s.Submit(nil, run.Outputs))
	return data
}

// A unit runs on another member if this saves more time than its transfers take. The results are bitwise equal.
func TestSplit(t *testing.T) {
	p := chain(t)
	one := over(t, []*core.Place{place("one", processor(t))})
	x, id := one.define(p)
	want := one.result(x, id, p)
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		for _, c := range []struct {
			link time.Duration
			want string
		}{{time.Millisecond, "a b a"}, {10 * time.Millisecond, "a a a"}} {
			r := over(t, places(t), router.Split(fixed(c.link, map[op.Code][2]time.Duration{
				op.Sort: {time.Millisecond, 9 * time.Millisecond}, op.MatMul: {9 * time.Millisecond, time.Millisecond}})))
			x, id := r.define(p)
			plan := r.Plans()[0]
			require.Equal(t, c.want, members(plan), "%v", plan)
			require.Contains(t, plan.String(), "least time of the whole")
			require.Equal(t, time.Millisecond, plan.Units[0].Predicted)
			if c.want == "a b a" {
				require.Equal(t, int64(64), plan.Units[1].Bytes)
			}
			for range 3 {
				require.Equal(t, want, r.result(x, id, p))
			}
			require.NoError(t, x.Undefine(id))
			require.Eventually(t, func() bool { return r.live(r.s) == 0 }, 30*time.Second, time.Millisecond)
		}
	})
}

// Random programs that are split by random costs return the bits that one member returns. The plan does not count more bytes than are
// transferred.
func TestSplitBits(t *testing.T) {
	for g := range 40 {
		rnd := rand.New(rand.NewPCG(3, uint64(g)))
		p := &program.Program{Name: "random"}
		last := op.TensorID(0)
		next := func() op.TensorID { last++; return last }
		pool := []op.Desc{}
		for i := range 3 {
			d := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{5, 5}}
			if pool = append(pool, d); i < 2 {
				p.Inputs = append(p.Inputs, d)
			} else {
				p.Consts = append(p.Consts, d)
			}
		}
		for range 3 + rnd.IntN(9) {
			c := []op.Code{op.MatMul, op.Add, op.Tanh, op.Sort, op.Exp, op.CumSum}[rnd.IntN(6)]
			var in []op.Desc
			for range len(op.Lookup(c).Operands) {
				in = append(in, pool[rnd.IntN(len(pool))])
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
		p.Outputs = []op.TensorID{pool[len(pool)-1].ID, pool[rnd.IntN(len(pool))].ID, pool[0].ID}
		one := over(t, []*core.Place{place("one", processor(t))})
		x, id := one.define(p)
		want := one.result(x, id, p)
		random := &costs{rnd: rnd, unit: func(int, *program.Program) time.Duration { return time.Duration(rnd.IntN(9)) * time.Millisecond }}
		r := over(t, []*core.Place{place("a", processor(t)), place("b", processor(t)), place("c", processor(t))}, router.Split(random))
		x, id = r.define(p)
		require.Equal(t, want, r.result(x, id, p), "%v\n%v", p, r.Plans()[0])
		_, before := r.moved()
		require.Equal(t, want, r.result(x, id, p))
		_, after := r.moved()
		planned := int64(0)
		for _, u := range r.Plans()[0].Units {
			planned += u.Bytes
		}
		require.LessOrEqual(t, planned, after-before, "the plan counts bytes that were not transferred")
		require.NoError(t, x.Undefine(id))
		require.Eventually(t, func() bool { return r.live(r.s) == 0 }, 30*time.Second, time.Millisecond)
	}
}

// E2: every step transfers the same number of bytes, once constants and weights are on the members that use them. In "nodes", the main
// member lacks an op; in "program", the program is split between two members.
func TestBytesOfSteps(t *testing.T) {
	nodes := over(t, []*core.Place{place("main", plant(t, "exp")), place("helper", processor(t))})
	w := nodes.write(nodes.s, 1, 2, 3, 4)
	split := over(t, two(t), router.Split(fixed(time.Millisecond, map[op.Code][2]time.Duration{
		op.Sort: {time.Millisecond, 9 * time.Millisecond}, op.MatMul: {9 * time.Millisecond, time.Millisecond}})))
	p := chain(t)
	programs, id := split.define(p)
	for name, c := range map[string]struct {
		r    *rig
		step func()
		want int64 // bytes
	}{
		"nodes": {nodes, func() {
			x := nodes.do(nodes.s, op.Neg, w)
			y, e := nodes.do(nodes.s, op.Exp, x), nodes.do(nodes.s, op.Exp, w)
			z := nodes.do(nodes.s, op.Add, y, e)
			nodes.read(nodes.s, z)
			nodes.free(nodes.s, x, y, e, z)
		}, 3 * 16}, // an operand of exp and two results; the copy of the weights remains on the helper
		"program": {split, func() { split.result(programs, id, p) }, 2 * 64}, // the operand and the result of matmul
	} {
		t.Run(name, func(t *testing.T) {
			c.step()
			_, before := c.r.moved()
			for range 20 {
				c.step()
				_, after := c.r.moved()
				require.Equal(t, c.want, after-before)
				before = after
			}
		})
	}
}

// Noise of 20 % in all costs changes no plan in 100 definitions. A lasting change of the costs changes the plan.
func TestNoise(t *testing.T) {
	for seed := range uint64(10) {
		times := map[op.Code][2]time.Duration{op.Sort: {time.Millisecond, 4 * time.Millisecond}, op.MatMul: {4 * time.Millisecond, time.Millisecond}}
		c := fixed(time.Millisecond, times)
		c.noise, c.rnd = 0.2, rand.New(rand.NewPCG(seed, 1))
		r := over(t, two(t), router.Split(c))
		plan := func() string {
			x, id := r.define(chain(t))
			defer func() { require.NoError(t, x.Undefine(id)) }()
			return members(r.Plans()[0])
		}
		for range 100 {
			require.Equal(t, "a b a", plan())
		}
		c.mu.Lock()
		times[op.MatMul] = [2]time.Duration{time.Millisecond, 4 * time.Millisecond}
		c.mu.Unlock()
		changed := 0
		for last := "a b a"; changed < 100 && last == "a b a"; changed++ {
			last = plan()
		}
		require.Less(t, changed, 60)
		for range 30 {
			require.Equal(t, "a a a", plan())
		}
	}
}

// A unit does not run on a member whose memory limit its constants, operands and results exceed, however fast the member is.
func TestMemoryLimits(t *testing.T) {
	c := fixed(0, map[op.Code][2]time.Duration{op.Sort: {time.Millisecond, 0}, op.MatMul: {time.Second, 0}})
	r := over(t, two(t), router.Split(c), router.MemoryLimits(0, 64+256))
	r.define(chain(t))
	require.Equal(t, "b b b", members(r.Plans()[0]), "a sort has 256 bytes of operands and results")
	r = over(t, two(t), router.Split(c), router.MemoryLimits(0, 64+128))
	r.define(chain(t))
	require.Equal(t, "a b a", members(r.Plans()[0]), "a product has 128 bytes of operands and results")
	r = over(t, two(t), router.Split(c), router.MemoryLimits(0, 191))
	r.define(chain(t))
	require.Equal(t, "a a a", members(r.Plans()[0]))
	r = over(t, two(t), router.Split(c), router.MemoryLimits(1, 1))
	x, _ := core.Extension[core.Programs](r.Device)
	w := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{4, 4}}
	require.NoError(t, r.s.Write(ctx, w, make([]byte, 64)))
	_, err := x.Define(ctx, r.s, chain(t), []op.TensorID{w.ID})
	require.ErrorContains(t, err, "limits of memory")
}

// Measured costs are saved and reused. A file with foreign content is reported and replaced.
func TestMeasured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "costs.json")
	p := chain(t)
	one := over(t, []*core.Place{place("one", processor(t))})
	x, id := one.define(p)
	want := one.result(x, id, p)
	var faults []error
	option := router.OnError(func(err error) { faults = append(faults, err) })
	r := over(t, two(t), router.SplitMeasured(file), option)
	x, id = r.define(p)
	for _, u := range r.Plans()[0].Units {
		require.Positive(t, u.Predicted)
	}
	for range 40 {
		require.Equal(t, want, r.result(x, id, p))
	}
	for end := time.Now().Add(2 * time.Minute); r.Plans()[0].Units[0].Measured == 0; time.Sleep(time.Millisecond) {
		require.Equal(t, want, r.result(x, id, p))
		require.True(t, time.Now().Before(end), "the units are not measured")
	}
	plan := r.Plans()[0]
	require.GreaterOrEqual(t, len(plan.Tried), 2)
	for _, w := range plan.Tried {
		require.Positive(t, w.Predicted)
	}
	require.NoError(t, r.Router.Close())
	first, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(first), "burn router costs 1")
	require.Empty(t, faults)

	r = over(t, two(t), router.SplitMeasured(file), option)
	r.define(p)
	require.NoError(t, r.Router.Close())
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, first, again, "nothing is measured twice")
	for _, foreign := range []string{"", "[1,2", `{"Format":"other"}`, `{"Format":"burn router costs 1","More":1}`,
		`{"Format":"burn router costs 1","Units":{"x":{"y":-1}}}`, `{"Format":"burn router costs 1","Links":{"x":{"y":[0,1e300]}}}`} {
		require.NoError(t, os.WriteFile(file, []byte(foreign), 0o666))
		faults = nil
		r = over(t, two(t), router.SplitMeasured(file), option)
		require.Len(t, faults, 1)
		require.ErrorIs(t, faults[0], core.ErrProtocol)
		x, id = r.define(p)
		require.Equal(t, want, r.result(x, id, p))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotEqual(t, foreign, string(data))
	}
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1)
}
