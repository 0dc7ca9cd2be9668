package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// TestLanes checks that the element type of an array depends on the widest access, and on the narrowest store if a store of a component may
// write the whole vector.
func TestLanes(t *testing.T) {
	b := ir.New("lanes", 64)
	x, y, z := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write), b.Buffer("z", dtype.I32, ir.Write)
	tile := b.Shared("tile", dtype.F32, 256)
	i := b.Mul(b.Thread(), b.Int(4))
	v := b.LoadWide(x, i, 4)
	b.SharedStore(tile, i, v...)
	b.Barrier()
	w := b.SharedLoadWide(tile, b.Sub(b.Int(252), i), 2)
	b.Store(y, i, w[0], w[1], v[0], b.Load(x, b.Thread()))
	b.Store(y, b.Thread(), v[1])
	b.Store(z, b.Mul(b.Thread(), b.Int(2)), b.Thread(), b.Thread())
	k := b.Kernel()
	text := func(components bool) string {
		d := *WGSL
		d.Components = components
		s, err := d.Print([]*ir.Kernel{k})
		require.NoError(t, err)
		return s
	}
	for _, s := range []string{text(false), text(true)} {
		require.Contains(t, s, "p0_x: array<vec4<f32>>")
		require.Contains(t, s, "p2_z: array<vec2<i32>>")
		require.Contains(t, s, "s0_tile: array<vec4<f32>, 64>")
		require.Contains(t, s, "p0_x[(u32(v1) >> 2u)][(u32(v1)) & 3u]")
		require.NotContains(t, s, "storageBarrier")
	}
	require.Contains(t, text(false), "p1_y: array<f32>")
	require.Contains(t, text(true), "p1_y: array<vec4<f32>>")
	require.Contains(t, text(true), "p1_y[(u32(v1) >> 2u)][(u32(v1)) & 3u] = ")
}

// TestBarriers checks that a barrier orders accesses to buffers only if threads exchange values through them.
func TestBarriers(t *testing.T) {
	for name, c := range map[string]struct {
		access  ir.Access
		aliased bool
		ordered bool
	}{
		"read":                  {ir.Read, false, false},
		"written":               {ir.Write, false, false},
		"read and written":      {ir.Read | ir.Write, false, true},
		"atomic":                {ir.Atomic, false, true},
		"memory of two buffers": {ir.Read, true, true},
	} {
		b := ir.New("barriers", 64)
		x := b.Buffer("x", dtype.I32, c.access)
		if c.access&ir.Write != 0 {
			b.Store(x, b.Thread(), b.Int(1))
		}
		b.Barrier()
		switch {
		case c.access == ir.Atomic:
			b.Atomic(ir.AtomicAdd, x, b.Thread(), b.Int(1))
		case c.access&ir.Read != 0:
			b.Load(x, b.Thread())
		}
		k := b.Kernel()
		k.Params[0].Aliased = c.aliased
		s, err := WGSL.Print([]*ir.Kernel{k})
		require.NoError(t, err, name)
		require.Contains(t, s, "workgroupBarrier();", name)
		if c.ordered {
			require.Contains(t, s, "storageBarrier();", name)
		} else {
			require.NotContains(t, s, "storageBarrier();", name)
		}
	}
}
