package fusion_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/internal/long"
)

var seed = flag.Uint64("seed", 0, "of the random windows; 0: from the clock")

// windows returns the number of random windows and the seed of the first. It logs the seed.
func windows(t testing.TB) (n int, first uint64) {
	n, first = 400, *seed
	switch {
	case long.Tests():
		n = 10_000
	case testing.Short():
		n = 100
	}
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", first)
	return n, first
}

// script runs a random loop and returns the values that the loop read. The loop depends on the seed alone, not on the device. Each round
// repeats the nodes of the previous one, except for one node, which has one of three variants.
func script(r *rig, seed uint64) (read [][]float32) {
	between := rand.New(rand.NewPCG(seed, 2))
	state := make(ds, 3)
	for i := range state {
		v := make([]float32, 16)
		for k := range v {
			v[k] = between.Float32()*2 - 1
		}
		state[i] = op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{4, 4}}
		require.NoError(r.t, r.Write(ctx, state[i], dtype.Bytes(v)))
	}
	rounds := 6 + between.IntN(5)
	variant := 0
	for range rounds {
		if between.IntN(3) == 0 {
			variant = between.IntN(3)
		}
		read = append(read, body(r, rand.New(rand.NewPCG(seed, 1)), state, variant, seed)...)
	}
	for _, s := range state {
		read = append(read, r.read(s))
	}
	r.free(state...)
	return read
}

var (
	unary   = []op.Code{op.Neg, op.Abs, op.Tanh, op.Relu, op.Atan}
	binary  = []op.Code{op.Add, op.Sub, op.Mul, op.Max, op.Min}
	numbers = []float64{0.5, -1, 2, 0.25}
)

// body runs one round. It replaces the tensors of state in place and returns the values that it read.
func body(r *rig, g *rand.Rand, state ds, variant int, seed uint64) (read [][]float32) {
	live := append(ds(nil), state...)
	kept := len(state) // the first tensors of live, which are not dropped
	var batch []op.Node
	var dead []op.TensorID
	send := func() {
		if len(batch)+len(dead) > 0 {
			require.NoError(r.t, r.Submit(batch, dead))
		}
		batch, dead = nil, nil
	}
	add := func(c op.Code, in ds, attrs ...op.Attr) op.Desc {
		n := r.node(c, 0, in, attrs...)
		batch = append(batch, n)
		live = append(live, n.Outputs[0])
		return n.Outputs[0]
	}
	pick := func() op.Desc {
		for {
			if d := live[g.IntN(len(live))]; d.DType == dtype.F32 {
				return d
			}
		}
	}
	square := func() op.Desc {
		for {
			if d := pick(); len(d.Shape) == 2 && d.Shape[1] == 4 {
				return d
			}
		}
	}
	count := 2 + g.IntN(24)
	special := g.IntN(count)
	for i := range count {
		v := 0
		if i == special {
			v = variant
		}
		x, y := square(), pick()
		switch g.IntN(9) {
		case 0, 1:
			add(unary[(g.IntN(len(unary))+v)%len(unary)], ds{x})
		case 2, 3:
			if v == 1 {
				y = x
			}
			add(binary[g.IntN(len(binary))], ds{x, y})
		case 4:
			n := add(op.Full, nil, op.Dims("shape", nil), op.ScalarFloat("value", numbers[(g.IntN(len(numbers))+v)%len(numbers)]), op.Type("dtype", dtype.F32))
			add(op.Mul, ds{x, n})
		case 5:
			add(op.Sum, ds{x}, op.Ints("axes", (g.IntN(2)+v)%2), op.Flag("keep_dims", false))
		case 6:
			add(op.Tanh, ds{add(op.MatMul, ds{x, square()})})
		case 7:
			add(op.Permute, ds{x}, op.Ints("axes", 1, 0))
		case 8:
			h := add(op.Cast, ds{x}, op.Type("dtype", dtype.F16))
			add(op.Cast, ds{h}, op.Type("dtype", dtype.F32))
		}
		for g.IntN(4) == 0 && len(live) > kept+2 { // ends a tensor: drops it at its last use, or frees it separately
			k := kept + g.IntN(len(live)-kept)
			id := live[k].ID
			live = append(live[:k:k], live[k+1:]...)
			if !(g.IntN(2) == 0 && drop(batch, id)) {
				dead = append(dead, id)
			}
		}
		switch {
		case g.IntN(3) == 0:
			send()
		case g.IntN(25) == 0:
			send()
			read = append(read, r.values(pick()))
		case g.IntN(40) == 0:
			send()
			r.Signal()
		}
	}
	for k := range state {
		if g.IntN(3) > 0 || k == 0 && g.IntN(4) > 0 { // replaces a tensor of the state, perhaps by donation
			old := state[k]
			n := r.node(op.Tanh, 0, ds{square()})
			state[k] = n.Outputs[0]
			batch = append(batch, n)
			live[k] = n.Outputs[0]
			if !(g.IntN(2) == 0 && drop(batch, old.ID)) {
				dead = append(dead, old.ID)
			}
		}
	}
	for _, d := range live[kept:] {
		if !(g.IntN(2) == 0 && drop(batch, d.ID)) {
			dead = append(dead, d.ID)
		}
	}
	send()
	if g.IntN(2) == 0 {
		read = append(read, r.read(state[0]))
	} else {
		r.Signal()
	}
	return read
}

// drop marks a tensor as dropped by the last of the nodes that use it. It reports whether any node uses it.
func drop(nodes []op.Node, id op.TensorID) bool {
	for i := len(nodes) - 1; i >= 0; i-- {
		for k, in := range nodes[i].Inputs {
			if in == id {
				nodes[i].Drop |= 1 << k
				return true
			}
		}
	}
	return false
}

// values returns the elements of an f32 or f16 tensor.
func (r *rig) values(d op.Desc) []float32 {
	if d.DType == dtype.F32 {
		return r.read(d)
	}
	raw := make([]byte, d.Bytes())
	require.NoError(r.t, core.Read(ctx, r.Stream, d.ID, raw))
	v := make([]float32, d.Shape.Size())
	for i, h := range dtype.Slice[dtype.Float16](raw) {
		v[i] = h.Float32()
	}
	return v
}

// near reports whether all values agree within the rounding error of f16.
func near(a, b [][]float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for k := range a[i] {
			x, y := float64(a[i][k]), float64(b[i][k])
			if math.Abs(x-y) > 2e-2*(1+math.Abs(x)) || math.IsNaN(x) != math.IsNaN(y) {
				return false
			}
		}
	}
	return true
}

// differ runs n random loops on both devices and counts those with different results. It stops after the fourth.
func differ(t testing.TB, fused, plain *rig, n int, first uint64) (wrong int) {
	for i := range n {
		s := first + uint64(i)
		want := script(plain, s)
		if got := script(fused, s); !near(want, got) {
			wrong++
			t.Logf("seed %d: got %v, want %v", s, got, want)
			if wrong > 3 {
				return wrong
			}
		}
	}
	return wrong
}

func TestRandomWindows(t *testing.T) {
	n, first := windows(t)
	for name, open := range map[string]func() core.Backend{"cpu": func() core.Backend { return processor(t) }, "reference": reference} {
		t.Run(name, func(t *testing.T) {
			fused := over(t, open(), fusion.Idle(time.Hour))
			plain := bare(t, open())
			require.Zero(t, differ(t, fused, plain, n/2, first))
			require.Zero(t, plain.tensors())
			require.NoError(t, core.Sync(ctx, plain.Stream))
			require.NoError(t, core.Sync(ctx, fused.Stream))
			s := fused.stats()
			require.Greater(t, s.Hits, int64(n), "%+v", s)
			t.Logf("%d windows, %d hits, %d programs made, %d refused: %v", s.Windows, s.Hits, s.Compiled, s.Refused, s.Unfused)
			require.Zero(t, fused.tensors())
			require.Zero(t, s.Refused)
		})
	}
}

// tensors returns the number of live tensors.
func (r *rig) tensors() int64 {
	require.NoError(r.t, core.Sync(ctx, r.Stream))
	m, ok := core.Extension[core.MemoryStats](r.Device)
	require.True(r.t, ok)
	return m.Memory().Tensors
}
