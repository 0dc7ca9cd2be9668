package fusion_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/plugins/cpu"
)

// A learning rate that changes in each round needs only one plan, because the full node with the rate becomes an operand of the program.
func TestNumberThatChanges(t *testing.T) {
	r := over(t, reference())
	w, want := r.write(1, 2), []float32{1, 2}
	x := r.write(0.5, 0.25)
	const rounds = 50
	for i := range rounds {
		lr := 1 / float64(i+2)
		next, sum := r.step(w, r.write(0.5, 0.25), lr)
		r.free(sum)
		w = next
		for k, xk := range []float32{0.5, 0.25} {
			want[k] -= float32(lr) * (want[k]*xk + xk)
		}
		require.InDeltaSlice(t, want, r.read(w), 1e-5)
	}
	r.free(x)
	s := r.stats()
	require.EqualValues(t, 1, s.Compiled, "%+v", s)
	require.GreaterOrEqual(t, s.Hits, int64(rounds-4))
}

// A large source (a full node) is not executed before the window: the window is split at it.
func TestSplitAtLargeSource(t *testing.T) {
	r := over(t, reference())
	x := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{4096}}
	require.NoError(t, r.Write(ctx, x, make([]byte, x.Bytes())))
	for i := range 20 {
		a := r.do(op.Exp, 0, ds{x})
		a = r.do(op.Neg, 1, ds{a})
		u := r.full(float64(i), 4096)
		a = r.do(op.Mul, 3, ds{a, u})
		a = r.do(op.Abs, 1, ds{a})
		require.Len(t, r.read(a), 4096)
		r.free(a)
	}
	s := r.stats()
	require.Greater(t, s.Hits, int64(20), "%+v", s)
	require.EqualValues(t, 2, s.Compiled)
}

// If an attribute of a node that is not a source has many values, the cache stays within its limits, and few of the values are compiled.
func TestAttributesOfManyValues(t *testing.T) {
	r := over(t, reference(), fusion.Cache(4, 1<<20))
	x := r.write(1, 2, 3, 4)
	for i := range 100 {
		for range 2 {
			y := r.do(op.LeakyRelu, 0, ds{x}, op.Float("alpha", float64(i)))
			y = r.do(op.Neg, 1, ds{y})
			require.Equal(t, []float32{-1, -2, -3, -4}, r.read(y))
			r.free(y)
		}
	}
	s := r.stats()
	require.LessOrEqual(t, s.Compiled, int64(8))
	require.LessOrEqual(t, s.Programs, 4)
}

func TestEviction(t *testing.T) {
	b := &planted{Backend: reference()}
	r := over(t, b, fusion.Cache(3, 1<<30))
	for n := 1; n <= 10; n++ {
		x := r.write(make([]float32, n)...)
		for range 4 {
			y := r.do(op.Exp, 0, ds{x})
			y = r.do(op.Neg, 1, ds{y})
			require.Len(t, r.read(y), n)
			r.free(y)
		}
	}
	s := r.stats()
	require.EqualValues(t, 10, s.Compiled)
	require.Equal(t, 3, s.Programs)
	require.EqualValues(t, 7, s.Evictions)
	require.EqualValues(t, 20, s.Hits)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.LessOrEqual(t, b.defined, 4)
}

// Two windows that differ in one attribute have two plans, in either order.
func TestOneAttribute(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		r := over(t, reference())
		x := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{2, 2}}
		require.NoError(t, r.Write(ctx, x, dtype.Bytes([]float32{1, 2, 3, 4})))
		want := [][]float32{{-4, -6}, {-3, -7}}
		for range 5 {
			for _, axis := range order {
				y := r.do(op.Neg, 0, ds{x})
				y = r.do(op.Sum, 1, ds{y}, op.Ints("axes", axis), op.Flag("keep_dims", false))
				require.Equal(t, want[axis], r.read(y))
				r.free(y)
			}
		}
		require.EqualValues(t, 2, r.stats().Compiled)
		require.EqualValues(t, 6, r.stats().Hits)
	}
}

// A plan for two distinct operands does not serve a window in which both are one tensor, nor the other way round.
func TestAliases(t *testing.T) {
	r := over(t, reference())
	x, y := r.write(1, 2), r.write(10, 20)
	f := func(a, b op.Desc) []float32 {
		n := r.do(op.Neg, 0, ds{a})
		m := r.do(op.Mul, 0, ds{a, b})
		z := r.do(op.Add, 3, ds{n, m})
		v := r.read(z)
		r.free(z)
		return v
	}
	for range 4 {
		require.Equal(t, []float32{0, 2}, f(x, x))
		require.Equal(t, []float32{9, 38}, f(x, y))
	}
}

// A dropped input is donated, even if other nodes of the window use it too. Inputs that are not dropped keep their values.
func TestDonation(t *testing.T) {
	r := over(t, processor(t))
	for i := range 6 {
		x := r.write(1, 2, 3)
		y := r.do(op.Exp, 0, ds{x})
		z := r.do(op.Mul, 0, ds{x, x})
		w := r.do(op.Add, 3, ds{z, x}) // the last use of z and x
		u := r.do(op.Neg, 0, ds{y})
		require.Equal(t, []float32{2, 6, 12}, r.read(w), "round %d", i)
		require.InDeltaSlice(t, []float32{-2.718282, -7.389056, -20.085537}, r.read(u), 1e-4)
		require.InDeltaSlice(t, []float32{2.718282, 7.389056, 20.085537}, r.read(y), 1e-4)
		r.free(w, u, y)
		require.Zero(t, r.tensors())
	}
	require.EqualValues(t, 4, r.stats().Hits)
}

// Nodes with the id of a freed tensor, an id of another generation or the id of a tensor dropped within the window fail with the error that
// the device returns for single nodes.
func TestUnknownTensors(t *testing.T) {
	r := over(t, reference())
	loop := func(x op.Desc) op.Desc {
		y := r.do(op.Exp, 0, ds{x})
		return r.do(op.Neg, 1, ds{y})
	}
	x := r.write(1, 2)
	for range 4 {
		r.free(loop(x))
		r.Signal()
	}
	dead := r.write(3, 4)
	r.free(dead)
	stale := op.Desc{ID: op.NewTensorID(x.ID.Generation()+1, x.ID.Sequence()), DType: dtype.F32, Shape: []int{2}}
	require.ErrorIs(t, r.fetch(loop(dead)), core.ErrUnknownTensor)
	require.ErrorIs(t, r.fetch(loop(stale)), core.ErrUnknownTensor) // the error of the reference backend
	n := r.node(op.Exp, 1, ds{x})
	m := r.node(op.Neg, 0, ds{x})
	require.NoError(t, r.Submit([]op.Node{n, m}, nil))
	require.ErrorIs(t, r.fetch(m.Outputs[0]), core.ErrUnknownTensor)
	require.NoError(t, r.fetch(n.Outputs[0]))
}

// planted is a backend whose programs fail with planted errors: Define with refuse, Run with run.
type planted struct {
	core.Backend
	refuse, run error

	mu      sync.Mutex
	defined int // programs that are alive
}

func (b *planted) Open(c context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(c, i)
	return &plantedDevice{d, b}, err
}

type plantedDevice struct {
	core.Device
	b *planted
}

func (d *plantedDevice) Extend(target any) bool {
	if t, ok := target.(*core.Programs); ok {
		return core.WrapExtension(d.Device, t, func(x core.Programs) core.Programs { return &plantedPrograms{x, d.b} })
	}
	return d.Device.Extend(target)
}

type plantedPrograms struct {
	core.Programs
	b *planted
}

func (x *plantedPrograms) Define(c context.Context, s core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	x.b.mu.Lock()
	defer x.b.mu.Unlock()
	if x.b.refuse != nil {
		return 0, x.b.refuse
	}
	x.b.defined++
	return x.Programs.Define(c, s, p, consts)
}

func (x *plantedPrograms) Run(s core.Stream, r core.Run) error {
	x.b.mu.Lock()
	defer x.b.mu.Unlock()
	if x.b.run != nil {
		return x.b.run
	}
	return x.Programs.Run(s, r)
}

func (x *plantedPrograms) Undefine(id core.ProgramID) error {
	x.b.mu.Lock()
	defer x.b.mu.Unlock()
	x.b.defined--
	return x.Programs.Undefine(id)
}

// If a program cannot be compiled, defined or run, its nodes run one by one, and there is no second attempt.
func TestRefusedPrograms(t *testing.T) {
	broken := errors.New("broken")
	calls := 0
	for name, c := range map[string]struct {
		b      *planted
		option fusion.Option
		panics int64
	}{
		"define": {&planted{Backend: reference(), refuse: broken}, nil, 0},
		"run":    {&planted{Backend: reference(), run: broken}, nil, 0},
		"panic":  {&planted{Backend: reference()}, fusion.OnCompile(func() { calls++; panic("rewrite") }), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var options []fusion.Option
			if c.option != nil {
				options = append(options, c.option)
			}
			r := over(t, c.b, options...)
			for range 8 {
				x := r.write(1, 2)
				s := r.full(3)
				y := r.do(op.Mul, 3, ds{x, s})
				y = r.do(op.Neg, 1, ds{y})
				require.Equal(t, []float32{-3, -6}, r.read(y))
				r.free(y)
				require.Zero(t, r.tensors())
			}
			s := r.stats()
			require.Zero(t, s.Hits)
			require.EqualValues(t, 1, s.Refused)
			require.Equal(t, c.panics, s.Panics)
			var b strings.Builder
			require.NoError(t, r.report.Explain(&b))
			require.Contains(t, b.String(), "not run any more")
		})
	}
	require.Equal(t, 1, calls)
}

// The error of a failed run names the original node and its output tensor, and the plan does not run again.
func TestErrorsNameNodes(t *testing.T) {
	for name, b := range map[string]core.Backend{"cpu": processor(t), "reference": reference()} {
		t.Run(name, func(t *testing.T) {
			r := over(t, b)
			x := r.write(1, 2, 3)
			index := func(at int32) op.Desc {
				d := op.Desc{ID: r.NewIDs(1), DType: dtype.I32, Shape: []int{1}}
				require.NoError(t, r.Write(ctx, d, dtype.Bytes([]int32{at})))
				return d
			}
			loop := func(at int32) (g, y op.Desc) {
				i := index(at)
				a := r.do(op.Neg, 0, ds{x})
				g = r.do(op.Gather, 3, ds{a, i}, op.Int("axis", 0))
				return g, r.do(op.Exp, 0, ds{g})
			}
			for range 5 {
				g, y := loop(1)
				r.read(y)
				r.free(g, y)
			}
			require.Positive(t, r.stats().Hits)
			g, y := loop(7)
			err := r.fetch(y)
			require.ErrorIs(t, err, core.ErrIndex)
			var n *core.NodeError
			require.ErrorAs(t, err, &n)
			require.Equal(t, "gather", n.Op)
			require.Empty(t, n.Program)
			require.Equal(t, g.ID, n.Outputs[0].ID)
			hits := r.stats().Hits
			g, y = loop(2)
			require.NoError(t, r.fetch(y))
			require.Equal(t, hits, r.stats().Hits, "a plan that failed is not run")
			require.NoError(t, r.fetch(g))
		})
	}
}

// Held nodes are passed on when the stream has been idle.
func TestIdle(t *testing.T) { synctest.Test(t, idle) }

func idle(t *testing.T) {
	r := over(t, reference(), fusion.Idle(time.Millisecond))
	x := r.write(1, 2)
	loop := func() op.Desc {
		y := r.do(op.Exp, 0, ds{x})
		return r.do(op.Neg, 1, ds{y})
	}
	for range 3 {
		y := loop()
		r.read(y)
		r.free(y)
	}
	hits := r.stats().Hits
	loop()
	require.Equal(t, hits, r.stats().Hits)
	time.Sleep(2 * time.Millisecond) // the timer looks twice, because calls came after it was set
	synctest.Wait()
	require.Equal(t, hits+1, r.stats().Hits)
}

// If the host occasionally pauses in the middle of a program, for longer than Idle, the program still runs. If it does so regularly, the
// nodes are passed on.
func TestPauses(t *testing.T) { synctest.Test(t, pauses) }

func pauses(t *testing.T) {
	r := over(t, reference(), fusion.Idle(4*time.Millisecond))
	x := r.write(1, 2)
	step := func(pause time.Duration) {
		y := r.do(op.Exp, 0, ds{x})
		time.Sleep(pause)
		y = r.do(op.Neg, 1, ds{y})
		require.InDeltaSlice(t, []float32{-2.7182818, -7.389056}, r.read(y), 1e-5)
		r.free(y)
	}
	for range 4 {
		step(0)
	}
	for range 5 {
		before := r.stats()
		step(10 * time.Millisecond)
		now := r.stats()
		require.Equal(t, before.Hits+1, now.Hits)
		require.Equal(t, before.Passed, now.Passed)
	}
	before := r.stats()
	step(600 * time.Millisecond)
	require.Equal(t, before.Passed+2, r.stats().Passed, "the program has run too few times for the pause to count as occasional")
	for range 3 {
		before = r.stats()
		step(40 * time.Millisecond)
		require.Equal(t, before.Hits, r.stats().Hits, "the nodes must be passed on at the pause")
	}
}

// Sixteen goroutines, each with its own stream, use one device concurrently.
func TestStreams(t *testing.T) {
	r := over(t, processor(t), fusion.Idle(100*time.Microsecond))
	plain := bare(t, processor(t))
	want := script(plain, 5)
	var group sync.WaitGroup
	for range 16 {
		s, err := r.OpenStream(ctx)
		require.NoError(t, err)
		group.Go(func() {
			own := *r
			own.Stream = s
			for range 6 {
				if got := script(&own, 5); !near(want, got) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		m, _ := core.Extension[core.MemoryStats](r.Device)
		m.Memory()
	}
	group.Wait()
	require.Positive(t, r.stats().Hits)
	require.Zero(t, r.tensors())
}

// A loop that runs unfused within a memory limit also runs fused within it. The loop has chains of large tensors, each dropped by its last
// user or freed after it, and operands of the window that end within the window.
func TestPeakOfMemory(t *testing.T) {
	const size = 64 << 10
	loop := func(r *rig) error {
		for range 5 {
			var kept ds
			for i := range 4 {
				x := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{size / 4}}
				if err := r.Write(ctx, x, make([]byte, size)); err != nil {
					return err
				}
				y := r.do(op.Exp, 1, ds{x})
				if i%2 == 0 {
					kept = append(kept, r.do(op.CumSum, 1, ds{y}, op.Int("axis", 0)))
				} else {
					kept = append(kept, r.do(op.Neg, 0, ds{y}))
					r.free(y)
				}
			}
			if err := core.Sync(ctx, r.Stream); err != nil {
				return err
			}
			z := kept[0]
			for _, k := range kept[1:] {
				a := r.do(op.CumSum, 1, ds{k}, op.Int("axis", 0))
				b := r.do(op.Flip, 1, ds{a}, op.Ints("axes", 0))
				z = r.do(op.Add, 3, ds{z, b})
			}
			if err := r.fetch(z); err != nil {
				return err
			}
			r.free(z)
		}
		return core.Sync(ctx, r.Stream)
	}
	open := func(limit int64) core.Backend {
		b, err := cpu.New(core.Config{Threads: 1, Options: map[string]string{"memory_limit": fmt.Sprint(limit)}})
		require.NoError(t, err)
		return b
	}
	limit := int64(size)
	for ; loop(bare(t, open(limit))) != nil; limit += size / 4 {
		require.Less(t, limit, int64(100*size))
	}
	r := over(t, open(limit))
	require.NoError(t, loop(r), "within %d KiB", limit>>10)
	require.Positive(t, r.stats().Hits)
}
