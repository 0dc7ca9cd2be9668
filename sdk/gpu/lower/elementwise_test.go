package lower

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func text(w ir.Work) string {
	s := ""
	for _, l := range w.Launches {
		s += fmt.Sprintf("grid %v args %v\n%v\n", l.Grid, l.Args, l.Kernel)
	}
	return s
}

var shapes = []shape.Shape{{}, {1}, {0}, {31}, {33}, {1023}, {1025}, {997}, {3, 0, 4}, {4, 8}, {5, 7}, {16, 64}, {1, 1, 3}, {3, 1, 5, 2}, {2, 3, 4, 5}, {4099}, {6, 7, 49}, {31, 37}, {5, 1, 33, 3, 2}}

// TestElementwise runs every elementwise op for every type of its row.
func TestElementwise(t *testing.T) {
	for _, code := range op.All() {
		row := op.Lookup(code)
		if row.Class == op.Custom || !row.Traits.Has(op.Elementwise) {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			types := row.Operands[0].Types
			if code == op.Where {
				types = dtype.Any
			}
			for i, d := range types.List() {
				for k := range 3 {
					if code == op.Cast && (i+k)%long.Every(3) != 0 { // each is a cast to all types
						continue
					}
					oneNode(t, code, d, shapes[(i*5+k*7)%len(shapes)], uint64(i*100+k))
				}
			}
		})
	}
}

func oneNode(t *testing.T, code op.Code, d dtype.DType, s shape.Shape, seed uint64) {
	row := op.Lookup(code)
	c := newRunner(t, tiny, seed)
	if seed%3 == 1 {
		c.target = narrowGrid
	}
	c.strewn = seed%2 == 1
	targets := []dtype.DType{dtype.Invalid}
	if code == op.Cast {
		targets = append(dtype.Any.List(), dtype.Smalls.List()...)
	}
	for _, to := range targets {
		b := newSketch()
		var in []op.Desc
		var data []ref.Tensor
		for i := range row.Operands {
			od := d
			if code == op.Where && i == 0 {
				od = dtype.Bool
			}
			is := s
			if i > 0 && c.r.IntN(2) == 0 { // broadcast
				is = s.Clone()
				for a := range is {
					if c.r.IntN(2) == 0 {
						is[a] = 1
					}
				}
				is = is[c.r.IntN(len(is)+1):]
				for len(is) > 0 && s.Size() == 0 {
					is = is[1:]
				}
			}
			in = append(in, b.input(od, is...))
			var domain op.Domain
			if i < len(row.Domain) {
				domain = row.Domain[i]
			}
			data = append(data, draw(c.r, in[i], domain, row.Tolerance.Exact || code == op.Cast))
		}
		var attrs []op.Attr
		if to != dtype.Invalid {
			attrs = []op.Attr{op.Type("dtype", to), op.Flag("saturate", c.r.IntN(2) == 0)}
		}
		y := b.With(code, in, attrs...)
		require.NoError(t, b.Err())
		c.run(b.graph(t, y), data)
	}
}
