package conv

import "github.com/goburn/burn/plugins/cpu/internal/gemm"

// directItems computes groups lo to hi, counted over the whole batch, of a
// convolution whose groups have one input channel each.
func (r *run[T]) directItems(lo, hi int) {
	p := r.plan
	f := takeFrame[T](p)
	perGroup := p.outputs / p.groups
	for i := lo; i < hi; i++ {
		f.x = r.x[i*p.inSize:][:p.inSize]
		if !p.plain {
			f.reserve(1)
			f.pad(0, 1)
		}
		for o := range perGroup {
			channel := i%p.groups*perGroup + o
			out := r.out[(i*perGroup+o)*p.outSize:][:p.outSize]
			r.channel(out, f.source(), r.weights.plain[channel*p.taps:][:p.taps])
			if r.epilogue != nil {
				r.epilogue.Rows(channel).Apply(out, p.outSize, 1, p.outSize)
			}
		}
	}
	giveFrame(p, f)
}

// channel computes one output channel, row by row of the last axis: the taps
// of a kernel row are one pass over the output row.
func (r *run[T]) channel(out, src, weights []T) {
	p := r.plan
	last := p.axes[len(p.axes)-1]
	at := p.cursor(0)
	for len(out) > 0 {
		row := out[:last.out]
		clear(row)
		for t := 0; t < p.taps; t += last.kernel {
			from := src[at.offset+p.offsets[t]:]
			w := weights[t:][:last.kernel]
			for len(w) >= 3 {
				taps3(row, from, w[0], w[1], w[2], last.stride, last.kernelDilation)
				w = w[3:]
				if len(w) > 0 {
					from = from[3*last.kernelDilation:]
				}
			}
			for len(w) > 0 {
				tap(row, from, w[0], last.stride)
				w = w[1:]
				if len(w) > 0 {
					from = from[last.kernelDilation:]
				}
			}
		}
		out = out[last.out:]
		at.row()
	}
}

// row moves to the beginning of the next row of the last axis.
func (c *cursor) row() {
	last := len(c.axes) - 1
	a := &c.axes[last]
	c.at[last] = a.out - 1
	c.offset += (a.out - 1) * a.stride * a.step
	c.next()
}

func taps3[T gemm.Number](row, from []T, u, v, w T, stride, dilation int) {
	if stride == 1 {
		a, b, c := from[:len(row)], from[dilation:][:len(row)], from[2*dilation:][:len(row)]
		for i := range row {
			row[i] += u*a[i] + v*b[i] + w*c[i]
		}
		return
	}
	j := 0
	for i := range row {
		row[i] += u*from[j] + v*from[j+dilation] + w*from[j+2*dilation]
		j += stride
	}
}

func tap[T gemm.Number](row, from []T, w T, stride int) {
	if stride == 1 {
		from = from[:len(row)]
		for i := range row {
			row[i] += w * from[i]
		}
		return
	}
	j := 0
	for i := range row {
		row[i] += w * from[j]
		j += stride
	}
}
