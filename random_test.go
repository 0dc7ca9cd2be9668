package burn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
)

// tracked is a tensor of a random sequence, with the elements that the definitions of the ops require, or with the error that poisons it.
type tracked struct {
	desc op.Desc
	v    []float32
	err  error
}

// sequence sends random commands to a device and computes the expected results on slices.
type sequence struct {
	t       *testing.T
	r       *rand.Rand
	dev     core.Device
	streams []core.Stream
	last    int
	live    []tracked
	tickets []func() error
}

const width = 6 // number of elements of a tensor; they are small integers, whose sums and products are exact

// stream returns the stream of the next command, which follows the previous one.
func (s *sequence) stream() core.Stream {
	if k := s.r.IntN(len(s.streams)); s.r.IntN(4) == 0 && k != s.last {
		e := s.streams[s.last].Signal()
		require.NoError(s.t, s.streams[k].Wait(e))
		s.last = k
	}
	return s.streams[s.last]
}

func (s *sequence) desc(d dtype.DType, dims ...int) op.Desc {
	x := op.DescOf(d, dims...)
	x.ID = s.dev.NewIDs(1)
	return x
}

func (s *sequence) write() tracked {
	x := tracked{desc: s.desc(dtype.F32, width)}
	for range width {
		x.v = append(x.v, float32(s.r.IntN(7)-3))
	}
	require.NoError(s.t, s.stream().Write(context.Background(), x.desc, dtype.Bytes(x.v)))
	return x
}

// exactOps are ops whose results are exact for small integers.
var exactOps = []op.Code{op.Add, op.Sub, op.Max, op.Min, op.Neg, op.Abs, op.Relu, op.Add, op.Sub}

func exactly(c op.Code, a, b float32) float32 {
	switch c {
	case op.Add:
		return a + b
	case op.Sub:
		return a - b
	case op.Max:
		return max(a, b)
	case op.Min:
		return min(a, b)
	case op.Neg:
		return 0 - a // zeros are compared without their signs
	case op.Abs:
		return max(a, -a)
	}
	return max(a, 0)
}

// node makes a node of operands and computes its result. drop says which operands it drops.
func (s *sequence) node(c op.Code, drop uint64, in ...tracked) (op.Node, tracked) {
	var descs []op.Desc
	y := tracked{}
	for _, x := range in {
		descs = append(descs, x.desc)
		if y.err == nil {
			y.err = x.err
		}
	}
	n, err := op.New(c, descs)
	require.NoError(s.t, err)
	n.Outputs[0].ID, n.Drop = s.dev.NewIDs(1), drop
	y.desc = n.Outputs[0]
	for i := range width {
		if y.err == nil {
			y.v = append(y.v, exactly(c, in[0].v[i], in[len(in)-1].v[i]))
		}
	}
	return n, y
}

// submit sends some nodes, which may drop operands.
func (s *sequence) submit() {
	var nodes []op.Node
	for range 1 + s.r.IntN(5) {
		c := exactOps[s.r.IntN(len(exactOps))]
		at := []int{s.r.IntN(len(s.live)), s.r.IntN(len(s.live))}[:len(op.Lookup(c).Operands)]
		in := []tracked{}
		for _, k := range at {
			in = append(in, s.live[k])
		}
		drop := uint64(0)
		if s.r.IntN(2) == 0 && len(s.live) > 8 {
			drop = 1
		}
		n, y := s.node(c, drop, in...)
		nodes = append(nodes, n)
		if drop != 0 {
			s.live = slices.Delete(s.live, at[0], at[0]+1)
		}
		s.live = append(s.live, y)
	}
	require.NoError(s.t, s.stream().Submit(nodes, nil))
}

// loop sends the same nodes several times, each step dropping what the previous one made, as a training loop does.
func (s *sequence) loop() {
	type line struct {
		c    op.Code
		a, b int
	}
	var body []line
	for i := range 3 + s.r.IntN(6) {
		body = append(body, line{exactOps[s.r.IntN(len(exactOps))], s.r.IntN(2 + i), s.r.IntN(2 + i)})
	}
	state, weight := s.write(), s.live[s.r.IntN(len(s.live))]
	stream := s.stream()
	for range 3 + s.r.IntN(4) {
		values := []tracked{state, weight}
		var nodes []op.Node
		for _, l := range body {
			in := []tracked{values[l.a], values[l.b]}[:len(op.Lookup(l.c).Operands)]
			n, y := s.node(l.c, 0, in...)
			nodes, values = append(nodes, n), append(values, y)
		}
		n, next := s.node(op.Min, 0, values[len(values)-1], weight) // limits the growth of the numbers
		var free []op.TensorID
		for i, v := range values {
			if i != 1 {
				free = append(free, v.desc.ID)
			}
		}
		require.NoError(s.t, stream.Submit(append(nodes, n), free))
		for i := range next.v {
			if next.v[i] > 1<<20 || next.v[i] < -1<<20 {
				s.t.Fatalf("numbers that are not exact: %v", next.v)
			}
		}
		state = next
	}
	s.live = append(s.live, state)
}

// poison sends a gather whose index may be out of range, which a device finds when it computes.
func (s *sequence) poison() {
	x, index := s.live[s.r.IntN(len(s.live))], s.desc(dtype.I64, width)
	places := make([]int64, width)
	for i := range places {
		places[i] = int64(s.r.IntN(width))
	}
	y := tracked{err: x.err}
	if s.r.IntN(3) == 0 {
		if places[s.r.IntN(width)] = width + 5; y.err == nil {
			y.err = core.ErrIndex
		}
	}
	stream := s.stream()
	require.NoError(s.t, stream.Write(context.Background(), index, dtype.Bytes(places)))
	n, err := op.New(op.Gather, []op.Desc{x.desc, index}, op.Int("axis", 0))
	require.NoError(s.t, err)
	n.Outputs[0].ID, n.Drop = s.dev.NewIDs(1), 2
	y.desc = n.Outputs[0]
	for i := range width {
		if y.err == nil {
			y.v = append(y.v, x.v[places[i]])
		}
	}
	require.NoError(s.t, stream.Submit([]op.Node{n}, nil))
	s.live = append(s.live, y)
}

// read starts a read now; its comparison runs later, when the tensor may be freed.
func (s *sequence) read(x tracked) {
	dst := make([]byte, x.desc.Bytes())
	ticket := s.stream().Read(x.desc.ID, dst)
	s.tickets = append(s.tickets, func() error {
		err := ticket.Wait(context.Background())
		if x.err != nil {
			if !errors.Is(err, x.err) {
				return fmt.Errorf("%v: error is %v, want %w", x.desc, err, x.err)
			}
			return nil
		}
		if got := dtype.Slice[float32](dst); err != nil || !slices.Equal(got, x.v) {
			return fmt.Errorf("%v is %v, want %v (error %w)", x.desc, got, x.v, err)
		}
		return nil
	})
}

func (s *sequence) free() {
	if len(s.live) > 6 {
		k := s.r.IntN(len(s.live))
		require.NoError(s.t, s.stream().Submit(nil, []op.TensorID{s.live[k].desc.ID}))
		s.live = slices.Delete(s.live, k, k+1)
	}
}

// TestCompositionOfRandomCommands sends random sequences of commands to every order of decorators. Each read must return the numbers that
// the tensor has at that position of the sequence, or the error of the node that poisoned it. The decorator verify must find no fault.
func TestCompositionOfRandomCommands(t *testing.T) {
	each(t, func(t *testing.T, order []string) {
		for seed := range uint64(6) {
			var log verify.Log
			b, err := composed(order, &log)
			require.NoError(t, err)
			dev, err := b.Open(t.Context(), 0)
			require.NoError(t, err)
			s := &sequence{t: t, r: rand.New(rand.NewPCG(seed, 99)), dev: dev}
			for range 1 + seed%3 {
				stream, err := dev.OpenStream(t.Context())
				require.NoError(t, err)
				s.streams = append(s.streams, stream)
			}
			for range 4 {
				s.live = append(s.live, s.write())
			}
			for range 60 {
				switch s.r.IntN(12) {
				case 0:
					s.live = append(s.live, s.write())
				case 1, 2, 3, 4:
					s.submit()
				case 5, 6:
					s.loop()
				case 7:
					s.poison()
				case 8, 9:
					s.read(s.live[s.r.IntN(len(s.live))])
				case 10:
					s.free()
				default:
					if len(s.tickets) > 0 {
						require.NoError(t, s.tickets[0](), "seed %d", seed)
						s.tickets = s.tickets[1:]
					}
				}
			}
			for _, x := range s.live {
				s.read(x)
			}
			for _, check := range s.tickets {
				require.NoError(t, check(), "seed %d", seed)
			}
			for _, x := range s.live {
				require.NoError(t, s.stream().Submit(nil, []op.TensorID{x.desc.ID}))
			}
			if m, ok := core.Extension[core.MemoryStats](dev); ok {
				for _, stream := range s.streams {
					_ = core.Sync(context.Background(), stream) // reports the poison
				}
				require.Zero(t, m.Memory().Tensors, "seed %d", seed)
			}
			require.NoError(t, b.Close())
			faults, _ := log.Report()
			require.Empty(t, faults, "seed %d", seed)
		}
	})
}
