package movement

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// cacheWrite returns a kernel that writes into the cache itself if the call is its last user, and otherwise into a copy. The kernel writes
// nothing unless all positions are valid.
func cacheWrite(n *op.Node, in []op.Desc) kernel.Func {
	axis, cache, update := n.Attrs.Int("axis"), in[0].Shape, in[2].Shape
	if update.Size() == 0 { // positions are not checked without elements to write
		return func(c *kernel.Call) error { start(c); return nil }
	}
	steps := make([]int, len(cache))
	for i := range steps {
		steps[i] = 1
	}
	each := update.Clone() // shape of the elements that one position places
	if len(in[1].Shape) > 0 {
		each[0] = 1
	}
	last := cache[axis] - update[axis]
	return func(c *kernel.Call) error {
		at, err := indices(c, c.In[1], "cache_write", cache[axis])
		if err != nil {
			return err
		}
		for i, p := range at {
			if p > last {
				return fmt.Errorf("cache_write: %d elements from position %d (entry %d) along axis %d of %v, want a start in [0,%d]: %w",
					update[axis], p, i, axis, cache, last, core.ErrIndex)
			}
		}
		out := start(c)
		to, from := make([]int, len(cache)), make([]int, len(cache))
		for i, p := range at {
			to[axis] = p
			if len(in[1].Shape) > 0 {
				to[0], from[0] = i, i
			}
			dst, src := out, c.In[2]
			dst.View, src.View = out.View.Slice(to, steps, each), c.In[2].View.Slice(from, steps, each)
			kernel.Copy(c.Pool, dst, src)
		}
		return nil
	}
}
