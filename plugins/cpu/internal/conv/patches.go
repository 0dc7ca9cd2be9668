package conv

import "github.com/goburn/burn/plugins/cpu/internal/gemm/micro"

// patches is a gemm.PackFunc: row p of B is element p of the patches, column j is position j of the output.
func (in *input[T]) patches(dst []T, width, k0, k1, j0, j1 int) {
	src, offsets := in.source(), in.plan.offsets[k0:k1]
	at := in.plan.cursor(j0)
	last := in.plan.lastAxis()
	if kern := micro.Active[T](); kern.Collect != nil && last.advance == 1 && last.out >= minRun {
		in.collect(kern, dst, width, offsets, &at, j0, j1)
		return
	}
	size := width * (k1 - k0)
	var starts [maxWidth]int
	for ; j0 < j1; j0 += width {
		panel := dst[:size]
		dst = dst[size:]
		n := min(width, j1-j0)
		for i := range n {
			starts[i] = at.offset
			at.next()
		}
		switch {
		case n == width && width == 2:
			gather2(panel, src, offsets, starts[0], starts[1])
		case n == width && width == 4:
			gather4(panel, src, offsets, starts[0], starts[1], starts[2], starts[3])
		case n == width && starts[n-1]-starts[0] == n-1:
			for _, k := range offsets {
				copy(panel, src[k+starts[0]:][:width])
				panel = panel[width:]
			}
		default:
			if n < width {
				clear(panel)
			}
			for _, k := range offsets {
				for i, start := range starts[:n] {
					panel[i] = src[k+start]
				}
				panel = panel[width:]
			}
		}
	}
}

// minRun is the least length of an output row whose patches are copied as contiguous runs.
const minRun = 4

// collect is like patches, for plans in which neighbouring outputs of a row read neighbouring elements.
func (in *input[T]) collect(kern *micro.Kernel[T], dst []T, width int, offsets []int, at *cursor, j0, j1 int) {
	src, size := in.source(), width*len(offsets)
	last := len(at.axes) - 1
	row := at.axes[last].out
	for ; j0 < j1; j0 += width {
		panel := dst[:size]
		dst = dst[size:]
		n := min(width, j1-j0)
		if n < width {
			clear(panel)
		}
		for i := 0; i < n; {
			run := min(row-at.at[last], n-i)
			kern.Collect(panel[i:], src[at.offset:], run, offsets, width)
			at.skip(run)
			i += run
		}
	}
}

// maxWidth is the widest panel that a kernel may ask for.
const maxWidth = 128

func gather2[T micro.Number](panel, src []T, offsets []int, a, b int) {
	for _, k := range offsets {
		to := (*[2]T)(panel)
		to[0], to[1] = src[k+a], src[k+b]
		panel = panel[2:]
	}
}

func gather4[T micro.Number](panel, src []T, offsets []int, a, b, c, d int) {
	for _, k := range offsets {
		to := (*[4]T)(panel)
		to[0], to[1], to[2], to[3] = src[k+a], src[k+b], src[k+c], src[k+d]
		panel = panel[4:]
	}
}

// cursor iterates over the output positions in order and tracks the offset of
// the patch in the padded input.
type cursor struct {
	axes   []axis
	at     [MaxRank]int
	offset int
}

// cursor returns a cursor at position j.
func (p *Plan) cursor(j int) cursor {
	c := cursor{axes: p.axes}
	for i := len(p.axes) - 1; i >= 0; i-- {
		a := &p.axes[i]
		c.at[i] = j % a.out
		j /= a.out
		c.offset += c.at[i] * a.advance
	}
	return c
}

func (c *cursor) next() {
	for i := len(c.axes) - 1; i >= 0; i-- {
		a := &c.axes[i]
		c.at[i]++
		c.offset += a.advance
		if c.at[i] < a.out {
			return
		}
		c.offset -= a.out * a.advance
		c.at[i] = 0
	}
}

// skip advances by n positions, at most to the start of the next row.
func (c *cursor) skip(n int) {
	last := len(c.axes) - 1
	c.at[last] += n - 1
	c.offset += (n - 1) * c.axes[last].advance
	c.next()
}
