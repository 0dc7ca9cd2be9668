package autodiff_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// counted is a backend that counts the nodes of each op that its devices receive.
type counted struct {
	core.Backend
	ops map[op.Code]int
}

type countedDevice struct {
	core.Device
	ops map[op.Code]int
}

type countedStream struct {
	core.Stream
	ops map[op.Code]int
}

func (b counted) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return countedDevice{d, b.ops}, err
}

func (d countedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return countedStream{s, d.ops}, err
}

func (d countedDevice) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && d.Device.Extend(target)
}

func (s countedStream) Submit(nodes []op.Node, free []op.TensorID) error {
	for i := range nodes {
		s.ops[nodes[i].Op]++
	}
	return s.Stream.Submit(nodes, free)
}

// If slices partition a tensor, its gradient is the concatenation of theirs. Otherwise the gradients of the slices are padded with zeros
// and added. No tensor remains on the device.
func TestGradientsOfSlices(t *testing.T) {
	type part struct{ start, size, step int }
	for name, c := range map[string]struct {
		parts         []part
		leaf          bool      // the sliced tensor is a leaf
		whole         bool      // the sliced tensor is also used as a whole
		concats, pads int       // numbers of nodes in the backward pass
		want          []float64 // the gradient of the sum of squares of the parts and, with whole, of the tensor
	}{
		"split":         {[]part{{0, 2, 1}, {2, 1, 1}, {3, 3, 1}}, true, false, 1, 0, []float64{2, 4, 6, 8, 10, 12}},
		"any order":     {[]part{{3, 3, 1}, {0, 3, 1}}, false, false, 1, 0, []float64{2, 4, 6, 8, 10, 12}},
		"and the whole": {[]part{{3, 3, 1}, {0, 3, 1}}, false, true, 1, 0, []float64{4, 8, 12, 16, 20, 24}},
		"some":          {[]part{{1, 2, 1}, {4, 1, 1}}, true, false, 0, 2, []float64{0, 4, 6, 0, 10, 0}},
		"overlapping":   {[]part{{0, 4, 1}, {2, 4, 1}}, false, false, 0, 2, []float64{2, 4, 12, 16, 10, 12}},
		"twice":         {[]part{{0, 3, 1}, {0, 3, 1}}, false, false, 0, 2, []float64{4, 8, 12, 0, 0, 0}},
		"every other":   {[]part{{0, 3, 2}}, true, false, 0, 2, []float64{2, 0, 6, 0, 10, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			ops := map[op.Code]int{}
			r := device(t, 1, func(b core.Backend) core.Backend { return counted{b, ops} })
			leaf := r.write(r.s, 1, 2, 3, 4, 5, 6)
			require.NoError(t, r.Track(ids(leaf)))
			before := r.tensors()
			x := leaf
			var made []op.Desc
			if !c.leaf {
				x = r.do(r.s, op.Copy, []op.Desc{leaf})
				made = append(made, x)
			}
			var roots, seeds []op.Desc
			square := func(y op.Desc) {
				z := r.do(r.s, op.Mul, []op.Desc{y, y})
				ones := make([]float64, z.Shape.Size())
				for i := range ones {
					ones[i] = 1
				}
				roots, seeds = append(roots, z), append(seeds, r.write(r.s, ones...))
				made = append(made, z, seeds[len(seeds)-1])
			}
			for _, p := range c.parts {
				n, err := op.New(op.Slice, []op.Desc{x}, op.Ints("start", p.start), op.Ints("size", p.size), op.Ints("step", p.step))
				require.NoError(t, err)
				n.Outputs[0].ID = r.NewIDs(1)
				require.NoError(t, r.s.Submit([]op.Node{n}, nil))
				made = append(made, n.Outputs[0])
				square(n.Outputs[0])
			}
			if c.whole {
				square(x)
			}
			clear(ops)
			g, err := r.Backward(r.s, roots, seeds, nil)
			require.NoError(t, err)
			require.Len(t, g, 1)
			require.Equal(t, c.want, r.read(r.s, g[0].Desc))
			require.Equal(t, [2]int{c.concats, c.pads}, [2]int{ops[op.Concat], ops[op.Pad]})
			require.NoError(t, r.s.Submit(nil, append(ids(made...), g[0].Desc.ID)))
			require.Equal(t, before, r.tensors())
		})
	}
}

// living is a stream that counts the live tensors on the device below, as if each node ran when it is submitted. most is the greatest
// count.
type living struct {
	core.Stream
	now  map[op.TensorID]bool
	most *int
}

type livingBackend struct {
	core.Backend
	most *int
}

type livingDevice struct {
	core.Device
	most *int
}

func (b livingBackend) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return livingDevice{d, b.most}, err
}

func (d livingDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return living{s, map[op.TensorID]bool{}, d.most}, err
}

func (d livingDevice) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && d.Device.Extend(target)
}

func (s living) Submit(nodes []op.Node, free []op.TensorID) error {
	for i := range nodes {
		for _, d := range nodes[i].Outputs {
			s.now[d.ID] = true
		}
		*s.most = max(*s.most, len(s.now))
		for k, id := range nodes[i].Inputs {
			if nodes[i].Drop>>k&1 != 0 {
				delete(s.now, id)
			}
		}
	}
	for _, id := range free {
		delete(s.now, id)
	}
	return s.Stream.Submit(nodes, free)
}

// The node that reads a gradient last drops it: a backward pass does not hold its gradients until it has submitted all nodes.
func TestGradientsDieEarly(t *testing.T) {
	most := 0
	r := device(t, 1, func(b core.Backend) core.Backend { return livingBackend{b, &most} })
	const links = 20
	leaf := r.write(r.s, 0.5, 0.25)
	require.NoError(t, r.Track(ids(leaf)))
	y := leaf
	for range links {
		y = r.do(r.s, op.Exp, []op.Desc{y}) // its gradient is one product
	}
	seed := r.write(r.s, 1, 1)
	most = 0
	_, err := r.Backward(r.s, []op.Desc{y}, []op.Desc{seed}, ids(leaf))
	require.NoError(t, err)
	require.LessOrEqual(t, most, links+2, "more tensors are alive than the results of the chain and two gradients")
}
