package router_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
)

// A stream that runs ahead of its transfers holds at most HeldBytes bytes on the host: beyond that, the caller waits. Closing the device
// and canceling the context of a write end this wait.
func TestHeldBytes(t *testing.T) {
	b := slow{processor(t), make(chan struct{})}
	r := over(t, []*core.Place{place("main", processor(t)), place("slow", b)}, router.HeldBytes(16))
	first := r.do(r.on(r.s, 0), op.Neg, r.write(r.on(r.s, 1), 1, 2)) // a transfer of 8 bytes
	require.NoError(t, r.s.Write(ctx, op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{2}}, make([]byte, 8)))
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	refused := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
	require.ErrorIs(t, r.s.Write(short, refused, make([]byte, 8)), core.ErrCanceled)
	require.ErrorIs(t, core.Read(short, r.s, refused.ID, make([]byte, 8)), core.ErrCanceled)

	third := r.write(r.on(r.s, 1), 3, 4)
	passed := make(chan op.Desc)
	go func() { passed <- r.do(r.on(r.s, 0), op.Neg, third) }()
	select {
	case <-passed:
		t.Fatal("the command did not wait, although HeldBytes bytes are held")
	case <-time.After(20 * time.Millisecond):
	}
	close(b.let)
	second := <-passed
	require.Equal(t, []float32{-1, -2}, r.read(r.s, first))
	require.Equal(t, []float32{-3, -4}, r.read(r.s, second))
	require.Equal(t, []float32{-1, -1, -1, -1, -1, -1}, r.read(r.s, r.do(r.on(r.s, 0), op.Neg, r.write(r.on(r.s, 1), 1, 1, 1, 1, 1, 1))), "a tensor larger than HeldBytes")

	b = slow{processor(t), make(chan struct{})}
	r = over(t, []*core.Place{place("main", processor(t)), place("slow", b)}, router.HeldBytes(8))
	r.do(r.on(r.s, 0), op.Neg, r.write(r.on(r.s, 1), 1, 2))
	late := r.write(r.on(r.s, 1), 1, 2)
	done := make(chan struct{})
	go func() {
		n := r.node(op.Neg, []op.Desc{late})
		_ = r.on(r.s, 0).Submit([]op.Node{n}, nil)
		close(done)
	}()
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, r.Device.Close())
	<-done
}

// A profile of the router includes the nodes of all members. The statistics have the time of each member.
func TestProfile(t *testing.T) {
	r := over(t, two(t))
	p, ok := core.Extension[core.Profiling](r.Device)
	require.True(t, ok)
	_, err := p.StopProfile(ctx)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NoError(t, p.StartProfile(ctx))
	require.ErrorIs(t, p.StartProfile(ctx), core.ErrAttr)
	x := r.write(r.s, make([]float32, 1<<16)...)
	for range 3 {
		x = r.do(r.s, op.Neg, x)
	}
	y := r.do(r.on(r.s, 1), op.Exp, x)
	ps, _ := core.Extension[core.Programs](r.Device)
	in := op.Desc{ID: 1, DType: dtype.F32, Shape: y.Shape}
	build := op.NewBuilder(func() op.TensorID { return 2 })
	out := build.Do(op.Sin, in)
	id, err := ps.Define(ctx, r.s, &program.Program{Name: "sine", Inputs: []op.Desc{in}, Nodes: build.Nodes, Outputs: []op.TensorID{out.ID}}, nil)
	require.NoError(t, err)
	require.NoError(t, ps.Run(r.s, core.Run{Program: id, Inputs: []op.TensorID{y.ID}, Outputs: []op.TensorID{r.NewIDs(1)}}))
	require.NoError(t, core.Sync(ctx, r.s))
	profile, err := p.StopProfile(ctx)
	require.NoError(t, err)
	count, streams := map[string]int{}, map[string]map[int]bool{}
	var whole time.Duration
	for _, rec := range profile.Records {
		s := profile.Steps[rec.Step]
		name := s.Program
		if name == "" {
			name = s.Ops[0]
		}
		if s.Program == "" || s.Index == core.WholeRun {
			count[name]++
			whole += rec.Duration
		}
		if streams[name] == nil {
			streams[name] = map[int]bool{}
		}
		streams[name][rec.Stream] = true
	}
	require.Equal(t, map[string]int{"neg": 3, "exp": 1, "sine": 1}, count)
	require.NotEqual(t, streams["neg"], streams["exp"], "members have streams of their own")
	members := r.Stats().Members
	require.Positive(t, members[0].Time)
	require.Positive(t, members[1].Time)
	require.Equal(t, whole, members[0].Time+members[1].Time)

	bare := over(t, []*core.Place{place("a", processor(t)), place("b", plant(t))})
	_, ok = core.Extension[core.Profiling](bare.Device)
	require.False(t, ok, "member b has no profile")
}

// pinned is a backend that registers memory, or refuses to.
type pinned struct {
	core.Backend
	open *int
	err  error
}

func (b pinned) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return pinnedDevice{d, b}, err
}

type pinnedDevice struct {
	core.Device
	b pinned
}

func (d pinnedDevice) Extend(target any) bool {
	if p, ok := target.(*core.Pinning); ok {
		*p = d
		return true
	}
	return d.Device.Extend(target)
}

func (d pinnedDevice) Pin([]byte) (func(), error) {
	if d.b.err != nil {
		return nil, d.b.err
	}
	*d.b.open++
	return func() { *d.b.open-- }, nil
}

// Pin pins memory with every member that can pin it, and fails if none can. If no member has Pinning, the router lacks it too.
func TestPin(t *testing.T) {
	open, broken := 0, errors.New("no more")
	good := pinned{processor(t), &open, nil}
	r := over(t, []*core.Place{place("a", processor(t)), place("b", good), place("c", pinned{processor(t), &open, broken}), place("d", pinned{processor(t), &open, nil})})
	p, ok := core.Extension[core.Pinning](r.Device)
	require.True(t, ok)
	unpin, err := p.Pin(make([]byte, 8))
	require.NoError(t, err)
	require.Equal(t, 2, open)
	unpin()
	require.Equal(t, 0, open)
	r = over(t, []*core.Place{place("c", pinned{processor(t), &open, broken})})
	p, _ = core.Extension[core.Pinning](r.Device)
	_, err = p.Pin(make([]byte, 8))
	require.ErrorIs(t, err, broken)
	_, ok = core.Extension[core.Pinning](over(t, two(t)).Device)
	require.False(t, ok)
}
