package attack

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/host"
)

// alternating are costs for which matmul runs on the member products and sort on the other.
type alternating struct{ products int }

func (a alternating) Unit(member int, p *program.Program) time.Duration {
	for i := range p.Nodes {
		if (p.Nodes[i].Op == op.MatMul) == (member == a.products) {
			return time.Millisecond
		}
	}
	return time.Second
}

func (alternating) Link(_, _ int, _ int64) time.Duration { return time.Microsecond }

// layers returns a model of count layers on f32[side, side]: a matmul with constant weights, then a sort of each row.
func layers(t *testing.T, count, side int) *program.Program {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	x := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{side, side}}
	p := &program.Program{Name: "layers", Inputs: []op.Desc{x}}
	b := op.NewBuilder(next)
	for range count {
		w := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{side, side}}
		p.Consts = append(p.Consts, w)
		x = b.All(op.Sort, []op.Desc{b.Do(op.MatMul, x, w)}, op.Int("axis", 1))[0]
	}
	require.NoError(t, b.Err())
	p.Nodes, p.Outputs = b.Nodes, []op.TensorID{x.ID}
	return p
}

// served is a model on a device. Its weights and its input are pseudorandom numbers from fixed seeds.
type served struct {
	t        *testing.T
	d        core.Device
	s        core.Stream
	programs core.Programs
	p        *program.Program
	id       core.ProgramID
}

func values(seed uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 6))
	v := make([]float32, n)
	for i := range v {
		v[i] = rnd.Float32() - 0.5
	}
	return dtype.Bytes(v)
}

// load writes the weights and defines the model.
func (m *served) load() error {
	var consts []op.TensorID
	for i, d := range m.p.Consts {
		d.ID = m.d.NewIDs(1)
		if err := m.s.Write(ctx, d, values(uint64(i+1), d.Shape.Size())); err != nil {
			return err
		}
		consts = append(consts, d.ID)
	}
	var err error
	if m.id, err = m.programs.Define(ctx, m.s, m.p, consts); err != nil {
		return err
	}
	return m.s.Submit(nil, consts)
}

// infer runs the model once and returns its output.
func (m *served) infer() ([]byte, error) {
	x := m.p.Inputs[0]
	x.ID = m.d.NewIDs(1)
	if err := m.s.Write(ctx, x, values(0, x.Shape.Size())); err != nil {
		return nil, err
	}
	out := m.d.NewIDs(1)
	if err := m.programs.Run(m.s, core.Run{Program: m.id, Inputs: []op.TensorID{x.ID}, Donated: []bool{true}, Outputs: []op.TensorID{out}}); err != nil {
		return nil, err
	}
	data := make([]byte, m.p.OutputDescs()[0].Bytes())
	if err := core.Read(ctx, m.s, out, data); err != nil {
		return nil, err
	}
	return data, m.s.Submit(nil, []op.TensorID{out})
}

func serving(t *testing.T, b core.Backend, p *program.Program) *served {
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	programs, ok := core.Extension[core.Programs](d)
	require.True(t, ok)
	m := &served{t: t, d: d, s: s, programs: programs, p: p}
	require.NoError(t, m.load())
	return m
}

// TestKillsUnderSplitModel kills a member at random moments during the inference of a model whose layers alternate between two members.
// Every result is right or core.ErrBackendLost, the other member takes the model over, and no process and no goroutine is left over.
func TestKillsUnderSplitModel(t *testing.T) {
	kills := size(4, 100)
	dir := plugins(t)
	p := layers(t, 4, 32)
	calm, err := host.Open(ctx, "builtin:cpu", host.Options{Config: core.Config{Threads: 1}})
	require.NoError(t, err)
	defer calm.Close()
	want, err := serving(t, calm.Backend, p).infer()
	require.NoError(t, err)

	round := func(r *rand.Rand) (lost bool) {
		members, pid := mortal(t, dir, r)
		b, err := router.New(members, router.Split(alternating{r.IntN(2)}))
		require.NoError(t, err)
		m := serving(t, b, p)
		used := map[string]bool{}
		for _, u := range b.Plans()[0].Units {
			used[u.Member] = true
		}
		require.Len(t, used, 2, "%v", b.Plans()[0])
		got, err := m.infer()
		require.NoError(t, err)
		require.Equal(t, want, got)
		timer := time.AfterFunc(time.Duration(r.IntN(6000))*time.Microsecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		answer := func() bool {
			got, err := m.infer()
			if err == nil {
				require.Equal(t, want, got)
				return true
			}
			require.ErrorIs(t, err, core.ErrBackendLost)
			lost = true
			return false
		}
		for range 20 {
			if !answer() {
				break
			}
		}
		timer.Stop()
		_ = syscall.Kill(pid, syscall.SIGKILL)
		right := 0
		for tries := 0; right < 3; tries++ {
			require.Less(t, tries, 20, "the other member must go on")
			if answer() {
				right++
				continue
			}
			if err := m.load(); err != nil { // the weights may have been on the lost member alone
				require.ErrorIs(t, err, core.ErrBackendLost)
			}
		}
		_ = m.d.Close() // may return the loss
		require.NoError(t, b.Close())
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, 30*time.Second, time.Millisecond)
		return lost
	}
	round(rand.New(rand.NewPCG(0, 7)))
	before, lost := runtime.NumGoroutine(), 0
	for i := range kills {
		if round(rand.New(rand.NewPCG(uint64(i), 7))) {
			lost++
		}
	}
	t.Logf("%d members killed, %d were missed", kills, lost)
	require.Positive(t, lost, "no kill met an inference")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 30*time.Second, 10*time.Millisecond, "goroutines are left")
}
