package restore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/restore"
)

// TestConcurrent kills the backend repeatedly while goroutines compute, each on its own stream of one device.
func TestConcurrent(t *testing.T) {
	var x births
	b, err := restore.Open(ctx, restore.Options{Open: x.open, Attempts: 1000, Backoff: time.Microsecond})
	require.NoError(t, err)
	defer b.Close()
	l := newLoad(t, b, 4)
	soak(t, b, 20, x.kill, l, l)
}

// soak calls kill at random moments while four clients compute, until b was restarted kills times.
func soak(t *testing.T, b *restore.Backend, kills int64, kill func(), loads ...*load) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	var rounds [4]atomic.Int64
	for c := range rounds {
		wg.Go(func() {
			if err := loads[c%len(loads)].compute(t, c, &stop, &rounds[c]); err != nil {
				t.Errorf("client %d: %v", c, err)
				stop.Store(true)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for b.Restarts() < kills && !stop.Load() {
		time.Sleep(time.Duration(rnd.IntN(4000)) * time.Microsecond)
		progress(&rounds, &stop)
		kill()
	}
	stop.Store(true)
	wg.Wait()
	for _, l := range loads {
		require.NoError(t, core.Sync(ctx, stream(t, l.d)))
		require.EqualValues(t, 1, extension[core.MemoryStats](t, l.d).Memory().Tensors, "the weight")
	}
}

// progress waits until every client has completed two rounds, so that no command meets two losses and is blamed for them. TestKilledAgain
// tests kills in faster succession.
func progress(rounds *[4]atomic.Int64, stop *atomic.Bool) {
	for i := range rounds {
		for from := rounds[i].Load(); rounds[i].Load() < from+2 && !stop.Load(); {
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// load is a device with a program that computes -(x + weight) for vectors of n elements.
type load struct {
	d     core.Device
	prog  core.ProgramID
	ready core.Event
	n     int
}

func newLoad(t *testing.T, b core.Backend, n int) *load {
	d, s := on(t, b)
	weight := op.Desc{ID: d.NewIDs(1), DType: dtype.F32, Shape: []int{n}}
	write(t, s, weight, ramp(n, 1)...)
	prog, err := extension[core.Programs](t, d).Define(ctx, s, addProgram(t, n), []op.TensorID{weight.ID})
	require.NoError(t, err)
	return &load{d, prog, s.Signal(), n}
}

// ramp returns n values that cycle through from, from+1, ..., from+6.
func ramp(n int, from float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = from + float32(i%7)
	}
	return v
}

// compute runs rounds of a node and a run with a donated input on a new stream, and checks the results, until stop is set.
func (l *load) compute(t *testing.T, c int, stop *atomic.Bool, rounds *atomic.Int64) error {
	s, err := l.d.OpenStream(ctx)
	if err != nil {
		return err
	}
	if err := s.Wait(l.ready); err != nil {
		return err
	}
	ps := extension[core.Programs](t, l.d)
	got := make([]byte, 4*l.n)
	for k := 0; !stop.Load(); k++ {
		v := float32(100*c + k%50 + 2)
		at := l.d.NewIDs(3)
		x := op.Desc{ID: at, DType: dtype.F32, Shape: []int{l.n}}
		neg := node(t, "neg", at+1, x)
		neg.Drop = 1
		err := errors.Join(s.Write(ctx, x, f32(ramp(l.n, v)...)), s.Submit([]op.Node{neg}, nil),
			ps.Run(s, core.Run{Program: l.prog, Inputs: []op.TensorID{at + 1}, Donated: []bool{true}, Outputs: []op.TensorID{at + 2}}))
		if err != nil {
			return err
		}
		ticket := s.Read(at+2, got)
		if err := s.Submit(nil, []op.TensorID{at + 2}); err != nil {
			return err
		}
		if err := ticket.Wait(ctx); err != nil {
			return err
		}
		want := f32(v - 1) // -(1+j - (v+j))
		for i := 0; i < len(got); i += 4 {
			if string(got[i:i+4]) != string(want) {
				return fmt.Errorf("round %d: element %d is %x, want %x", k, i/4, got[i:i+4], want)
			}
		}
		if k%8 == 0 {
			if err := core.Sync(ctx, s); err != nil {
				return err
			}
		}
		rounds.Add(1)
	}
	return s.Close()
}
