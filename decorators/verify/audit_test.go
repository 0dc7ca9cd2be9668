package verify_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/plugins/cpu"
)

// audited opens b behind verify, which compares a share of the work with the reference backend.
func audited(t *testing.T, b core.Backend, share float64, c *tally) *rig {
	second := ref.New()
	d, err := second.Open(ctx, 0)
	require.NoError(t, err)
	r := over(t, b, verify.PassOn(), verify.Audit(d, share, c.note))
	t.Cleanup(func() { require.NoError(t, errors.Join(r.backend.Close(), d.Close(), second.Close())) })
	return r
}

// batch submits a chain of n nodes in one call, each of which drops its operand, and returns the last result.
func (r *rig) batch(s core.Stream, c op.Code, n int) op.Desc {
	x := r.write(s, 1, -2, 3)
	var nodes []op.Node
	for range n {
		m := r.node(c, x)
		m.Drop = 1
		nodes, x = append(nodes, m), m.Outputs[0]
	}
	require.NoError(r.t, s.Submit(nodes, nil))
	return x
}

func TestAuditOfNodes(t *testing.T) {
	var c tally
	r := audited(t, ref.New(), 1, &c)
	s := r.stream()
	require.Equal(t, []float32{1, 2, 3}, r.read(s, r.batch(s, op.Abs, 8)))
	require.Equal(t, 8, c.compared)
	require.Empty(t, c.skipped)
	r.clean()

	c = tally{}
	r = audited(t, wrong(op.Neg, 1.001), 1, &c)
	s = r.stream()
	x := r.batch(s, op.Neg, 2)
	require.Len(t, r.read(s, x), 3, "results stay those of the checked device")
	require.NoError(t, core.Sync(ctx, s))
	faults, n := r.log.Report()
	require.Equal(t, 2, n)
	require.Equal(t, verify.Difference, faults[0].Kind)
	require.ErrorContains(t, faults[0], "neg (command")

	// A node that drops one operand and keeps the other.
	x, y := r.write(s, 1, 2), r.write(s, 3, 4)
	m := r.node(op.Add, x, y)
	m.Drop = 1
	require.NoError(t, s.Submit([]op.Node{m}, nil))
	require.Equal(t, []float32{4, 6}, r.read(s, m.Outputs[0]))
	require.Equal(t, []float32{3, 4}, r.read(s, y))
	_, n = r.log.Report()
	require.Equal(t, 2, n)
	require.Equal(t, 3, c.compared)
}

// The share is the fraction of nodes that are compared: none with 0, all with 1.
func TestAuditShare(t *testing.T) {
	for share, bounds := range map[float64][2]int{0: {0, 0}, 0.1: {20, 200}, 1: {1000, 1000}} {
		var c tally
		r := audited(t, ref.New(), share, &c)
		s := r.stream()
		for range 10 {
			require.NoError(t, r.free(s, r.batch(s, op.Abs, 100)))
		}
		require.NoError(t, core.Sync(ctx, s))
		require.GreaterOrEqual(t, c.compared, bounds[0])
		require.LessOrEqual(t, c.compared, bounds[1])
		r.clean()
	}
}

// An audit runs a program unchanged, as a whole and with its donations, and compares its outputs.
func TestAuditOfPrograms(t *testing.T) {
	for name, open := range map[string]func() core.Backend{"right": func() core.Backend { return ref.New() }, "wrong": func() core.Backend { return wrong(op.Mul, 1.001) }} {
		for _, donated := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var c tally
				r := audited(t, open(), 1, &c)
				s := r.stream()
				k := r.write(s, 3, 5)
				id, err := r.programs().Define(ctx, s, doubling(t, 2), []op.TensorID{k.ID})
				require.NoError(t, err)
				require.NoError(t, r.free(s, k))
				x, out := r.write(s, 1, 2), r.desc(2)
				require.NoError(t, r.programs().Run(s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Outputs: []op.TensorID{out.ID}, Donated: []bool{donated}}))
				require.NoError(t, core.Sync(ctx, s))
				require.Equal(t, 1, c.compared)
				require.Empty(t, c.skipped)
				got := r.read(s, out)
				if name == "right" {
					r.clean()
					require.Equal(t, []float32{4, 12}, got)
					return
				}
				faults, n := r.log.Report()
				require.Equal(t, 1, n)
				require.ErrorContains(t, faults[0], `run "doubling"`)
				require.ErrorContains(t, faults[0], "output 0")
				require.InDelta(t, 4.003, got[0], 1e-5, "results stay those of the checked device")
			})
		}
	}
}

// An audit reports no fault for models and graphs on the cpu backend, whose rounding differs from the reference. It reports faults in most
// models with a matmul on a backend whose matmul is off by a thousandth.
func TestAuditOfModels(t *testing.T) {
	for name, x := range map[string]struct {
		b     func() core.Backend
		wrong bool
	}{
		"cpu":   {func() core.Backend { b, err := cpu.New(core.Config{Threads: 1}); require.NoError(t, err); return b }, false},
		"wrong": {func() core.Backend { return wrong(op.MatMul, 1.001) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var c tally
			r := audited(t, x.b(), 1, &c)
			blamed, products := 0, 0
			for seed := range uint64(150) {
				rng := rand.New(rand.NewPCG(seed, 3))
				g := graphs.Model(rng)
				if seed%2 == 1 {
					g = graphs.Random(rng)
				}
				before := c.compared
				_, faults := r.log.Report()
				_, err := g.Run(ctx, r.backend, graphs.Donating)
				require.NoError(t, err)
				require.GreaterOrEqual(t, c.compared, before+2, "%v %v", seed, c.skipped)
				kept, after := r.log.Report()
				if !x.wrong {
					require.Equal(t, faults, after, "graph %d: %v\n%v", seed, kept, g.Program)
				}
				for i := range g.Nodes {
					if g.Nodes[i].Op == op.MatMul && seed%2 == 0 {
						products++
						break
					}
				}
				if after > faults && seed%2 == 0 {
					blamed++
				}
			}
			if x.wrong {
				require.Greater(t, blamed, products/2, "of %d models with products", products)
			}
		})
	}
}
