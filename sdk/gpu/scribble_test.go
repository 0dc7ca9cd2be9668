package gpu

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestPoison checks that the poison byte fills the results and the scratch memory of a run, and not its operands.
func TestPoison(t *testing.T) {
	d, _ := openDevice(t, Options{Poison: 255}, nil)
	q := d.queue(t)
	m := newMaker(t, "poison")
	x := m.input(300)
	m.p.Outputs = ids(m.node(op.Sum, ids(m.node(op.CumSum, ids(m.node(op.CumSum, ids(x), op.Int("axis", 0))), op.Int("axis", 0))), op.Ints("axes", 0), op.Flag("keep_dims", true)))
	p, err := d.prepare(t.Context(), q, m.p, nil)
	require.NoError(t, err)
	defer p.Close()
	require.Positive(t, p.scratch)
	require.NoError(t, q.growScratch(p.scratch))
	in, err := d.pool.alloc(&q.tenant, 1200, forTensor)
	require.NoError(t, err)
	out, err := d.pool.alloc(&q.tenant, 4, forTensor)
	require.NoError(t, err)
	clear(in.ref().bytes())
	clear(q.arena.ref().bytes()[:p.scratch])
	require.NoError(t, p.scribble(q, []*block{in}, []*block{out, in}))
	require.NoError(t, q.driver.Synchronize())
	require.Equal(t, bytes.Repeat([]byte{255}, int(p.scratch)), q.arena.ref().bytes()[:p.scratch])
	require.Equal(t, []byte{255, 255, 255, 255}, out.ref().bytes()[:4])
	require.Equal(t, make([]byte, 1200), in.ref().bytes()[:1200])
	d.pool.release(in)
	d.pool.release(out)
}
