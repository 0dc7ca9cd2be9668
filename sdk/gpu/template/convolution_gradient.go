package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// The gradient of a small filter is a convolution whose window is a whole image: at most a few thousand sums over all pixels of all
// images. The images are the channels of this convolution, and the channels of the images are its batch. Blocks process strips of images
// in turns. A thread holds the sums of some results at the places of a filter and visits columns of a strip. A second launch adds the
// sums of the blocks in order.

const (
	gradientMost  = 4096    // most elements of the result
	gradientDepth = 1 << 13 // least pixels of a channel for which this is faster
	gradientSums  = 40      // most sums of a thread
	gradientWidth = 8       // least columns of a window
)

// gradientKernel is the schedule of the gradient of a filter.
type gradientKernel struct {
	results, taps  int // results, and rows of places, of a thread
	parts          int // number of parts of the results; result i belongs to part i mod parts
	roles, workers int // number of threads with different sums, and number of threads that share the same sums
	cols           int // columns that a thread processes at a time
	rows           int // rows of a strip of the window
	threads        int
	stages         int // strips in shared memory at a time
	image, window  strip
	strips, total  int // strips of an image, and of all images
	grid, blocks   int // blocks of the first launch, and blocks that a multiprocessor holds
}

// sums returns the number of sums of a thread.
func (x *gradientKernel) sums(c *convolution) int { return x.results * x.taps * c.outPlaces[2] }

// gradient returns the schedule for the gradient of a small filter, or nil if the convolution is not suitable.
func (c *convolution) gradient() *gradientKernel {
	if !c.flat() {
		return nil
	}
	high, wide := c.outPlaces[1], c.outPlaces[2]
	if c.filterStrides[1] != 1 || c.filter.row < 0 || c.filter.col < 0 || c.filterStrides[0] < 0 || high*wide < 4 || high*wide > fewTaps ||
		c.outPlaces[0] > fewMost || c.results > fewMost || c.m*c.n > gradientMost || c.channels*c.taps() < gradientDepth || c.window[1] < gradientWidth {
		return nil
	}
	x := gradientKernel{cols: 4}
	for c.window[1]%x.cols != 0 {
		x.cols /= 2
	}
	n := (x.cols-1)*c.dilation[1] + (wide-1)*c.stride[1] + 1 // columns of the image
	speed := 0.0
	for per := 8; per > 0; per /= 2 {
		for _, taps := range []int{high, 1} {
			y := gradientKernel{results: per, taps: taps}
			roles := c.outPlaces[0] * c.results / per * high / taps
			if c.results%per != 0 || y.sums(c) > gradientSums || roles > min(128, c.t.Threads) || n > 32 {
				continue
			}
			if s := float64(x.cols*y.sums(c)) / float64(per*x.cols+taps*n); s > speed {
				speed, x.results, x.taps, x.roles, x.parts = s, per, taps, roles, c.results/per
			}
		}
	}
	if speed == 0 {
		return nil
	}
	return c.gradientStrips(x)
}

// gradientStrips chooses the strips of a schedule.
func (c *convolution) gradientStrips(x gradientKernel) *gradientKernel {
	high, wide := c.outPlaces[1], c.outPlaces[2]
	var best *gradientKernel
	least := 0.0
	for threads := min(128, c.t.Threads); threads >= max(x.roles, 32); threads /= 2 {
		x.threads, x.workers = threads, threads/x.roles
		for rows := 1; rows <= c.window[0]; rows++ {
			x.rows, x.strips = rows, ceil(c.window[0], rows)
			x.total = c.channels * x.strips
			x.image = newStrip(c.t, c.outPlaces[0], (rows-1)*c.dilation[0]+(high-1)*c.stride[0]+1,
				(c.window[1]-1)*c.dilation[1]+(wide-1)*c.stride[1]+1, c.pad[1], c.in, []int{c.image.row, c.image.col, c.imageStrides[0]}, c.image.off)
			x.window = newStrip(c.t, c.results, rows, c.window[1], 0, c.window, []int{c.filter.row, c.filter.col, c.filterStrides[0]}, c.filter.off)
			for x.stages = 1; x.stages <= 2; x.stages++ {
				if bytes := 4 * x.held(c); bytes <= c.t.Shared && (x.stages == 1 || c.t.Async) {
					x.blocks = resident(c.t, threads, bytes)
					if work := c.gradientWork(x); best == nil || work < least {
						chosen := x
						best, least = &chosen, work
					}
				}
			}
		}
	}
	if best != nil {
		best.grid = min(best.total, max(c.t.Units, 1)*best.blocks)
	}
	return best
}

// held returns the number of elements of shared memory, which contains strips and at the end the sums of all threads.
func (x *gradientKernel) held(c *convolution) int {
	return max(x.stages*(x.image.size()+x.window.size()), x.workers*x.roles*x.sums(c))
}

// gradientWork estimates the time of a schedule: the instructions that all threads of a multiprocessor execute.
func (c *convolution) gradientWork(x gradientKernel) float64 {
	across := c.window[1] / x.cols
	turn := float64(ceil(x.rows*across, x.workers)) * (float64(x.cols*x.sums(c))*1.1 + 20)
	copies := 0
	for _, s := range []strip{x.image, x.window} {
		copies += s.planes * s.rows * ceil(s.cols, s.width)
	}
	wait := 100.0
	if x.stages == 1 {
		wait = 600
	}
	work := (turn + float64(copies)/float64(x.threads)*30 + wait) * float64(x.threads)
	return work * rounds(c.t, x.total, x.blocks, x.threads)
}

// gradientLaunches returns the launches of the convolution with this schedule.
func (c *convolution) gradientLaunches(x *gradientKernel) []ir.Launch {
	slot := c.temporary(x.grid * c.m * c.n * c.compute.Size())
	return []ir.Launch{c.gradientLaunch(x, slot), c.gradientSum(x.grid, slot)}
}

// gradientLaunch returns the launch that writes the sums of each block to slot, in the order images, results, places.
func (c *convolution) gradientLaunch(x *gradientKernel, slot int) ir.Launch {
	high, wide := c.outPlaces[1], c.outPlaces[2]
	k := c.kernel(fmt.Sprintf("convolution_sums_%v", c.compute), x.threads)
	k.SetBlocks(x.blocks)
	image, filter := k.region("image", c.image, ir.Read, nil), k.region("filter", c.filter, ir.Read, nil)
	out := k.memory("partial", c.compute, ir.Write, slot)
	held := k.Shared("strips", c.compute, x.held(c))
	sums := k.Local("sum", c.compute, x.sums(c))
	for i := range x.sums(c) {
		k.Set(sums, k.Int(i), k.Const(c.compute, 0))
	}
	a := source{buf: image.buf, row: k.stride("image row of places", c.imageStrides[0]), high: c.imageStrides[0]}
	b := source{buf: filter.buf, row: k.stride("filter row of places", c.filterStrides[0]), high: c.filterStrides[0]}
	stages := x.stages * x.image.size() // offset of the stages of the window
	top := func(strip ir.Value) ir.Value { return k.Mul(k.Rem(strip, k.Int(x.strips)), k.Int(x.rows)) }
	issue := func(strip, n ir.Value) {
		number := k.Div(strip, k.Int(x.strips))
		a.base = func(plane ir.Value) ir.Value { return k.at(image, plane, number) }
		b.base = func(plane ir.Value) ir.Value { return k.at(filter, plane, number) }
		k.load(x.image, a, held, k.Mul(n, k.Int(x.image.size())), k.plus(k.Mul(top(strip), k.Int(c.dilation[0])), -c.pad[0]), x.threads)
		k.load(x.window, b, held, k.plus(k.Mul(n, k.Int(x.window.size())), stages), top(strip), x.threads)
	}
	worker, role := k.Div(k.Thread(), k.Int(x.roles)), k.Rem(k.Thread(), k.Int(x.roles))
	part, channel := k.Rem(role, k.Int(x.parts)), k.Rem(k.Div(role, k.Int(x.parts)), k.Int(c.outPlaces[0]))
	tap := k.Mul(k.Div(role, k.Int(x.parts*c.outPlaces[0])), k.Int(x.taps)) // the first row of places
	working := func(f func()) {
		if x.roles*x.workers == x.threads {
			f()
			return
		}
		k.If(k.Lt(k.Thread(), k.Int(x.roles*x.workers)), f)
	}
	across := c.window[1] / x.cols
	k.strips(x.total, x.grid, x.stages, issue, func(strip, n ir.Value) {
		rows := k.Min(k.Int(x.rows), k.Sub(k.Int(c.window[0]), top(strip)))
		working(func() {
			k.For(worker, k.Mul(rows, k.Int(across)), x.workers, func(item ir.Value) {
				row, col := k.Min(k.Div(item, k.Int(across)), k.Int(x.rows-1)), k.Mul(k.Rem(item, k.Int(across)), k.Int(x.cols))
				first := k.Add(k.Mul(n, k.Int(x.image.size())), k.Mul(channel, k.Int(x.image.plane)))
				line := k.Add(k.Mul(row, k.Int(c.dilation[0])), k.Mul(tap, k.Int(c.stride[0])))
				first = k.Add(first, k.Add(k.Mul(line, k.Int(x.image.pitch)), k.Mul(col, k.Int(c.dilation[1]))))
				second := k.Add(k.plus(k.Mul(n, k.Int(x.window.size())), stages), k.Mul(part, k.Int(x.window.plane)))
				second = k.Add(second, k.Add(k.Mul(row, k.Int(x.window.pitch)), col))
				k.gradientSums(x, held, sums, first, second)
			})
		})
	})

	k.Barrier()
	pixels, size := high*wide, c.m*c.n
	working(func() {
		for r := range x.results {
			for i := range x.taps {
				for j := range wide {
					result := k.Add(part, k.Int(r*x.parts))
					at := k.Add(k.Mul(k.Add(k.Mul(channel, k.Int(c.results)), result), k.Int(pixels)), k.plus(k.Mul(k.plus(tap, i), k.Int(wide)), j))
					k.SharedStore(held, k.Add(k.Mul(worker, k.Int(size)), at), k.Get(sums, k.Int((r*x.taps+i)*wide+j)))
				}
			}
		}
	})
	k.Barrier()
	total := k.Local("total", c.compute, 1)
	k.For(k.Thread(), k.Int(size), x.threads, func(i ir.Value) {
		k.Put(total, k.SharedLoad(held, i))
		k.For(k.Int(1), k.Int(x.workers), 1, func(w ir.Value) {
			k.Put(total, k.Add(k.At(total), k.SharedLoad(held, k.Add(k.Mul(w, k.Int(size)), i))))
		})
		k.Store(out, k.Add(k.Mul(k.Block(0), k.Int(size)), i), k.At(total))
	})
	return k.launch(x.grid)
}

// gradientSums adds the products of some columns to the sums of a thread, which are in the order results, rows of places, places. image and
// window are the offsets of the first elements.
func (k *productKernel) gradientSums(x *gradientKernel, held ir.Mem, sums ir.Var, image, window ir.Value) {
	c := k.c.conv
	wide := c.outPlaces[2]
	w := make([][]ir.Value, x.results)
	for r := range w {
		w[r] = k.span(held, k.plus(window, r*x.parts*x.window.plane), x.cols, x.cols)
	}
	align := x.cols * c.dilation[1] & -(x.cols * c.dilation[1])
	for i := range x.taps {
		v := k.span(held, k.plus(image, i*c.stride[0]*x.image.pitch), (x.cols-1)*c.dilation[1]+(wide-1)*c.stride[1]+1, align)
		for r := range x.results {
			for j := range wide {
				s := k.Int((r*x.taps+i)*wide + j)
				sum := k.Get(sums, s)
				for u := range x.cols {
					sum = k.FMA(v[u*c.dilation[1]+j*c.stride[1]], w[r][u], sum)
				}
				k.Set(sums, s, sum)
			}
		}
	}
}

// gradientSum adds up the sums of the blocks, and writes the results. A block computes eight results.
func (c *convolution) gradientSum(parts, slot int) ir.Launch {
	const threads, each = 256, 8
	k := c.kernel(fmt.Sprintf("convolution_join_%v", c.compute), threads)
	size, pixels := c.m*c.n, c.outPlaces[1]*c.outPlaces[2]
	from := k.memory("partial", c.compute, ir.Read, slot)
	m, n := k.size("m", c.m), k.size("n", c.n)
	e := k.epilogue(k.Int(0), nil, m, n, 1)
	held := k.Shared("sums", c.compute, threads)
	sum := k.Local("sum", c.compute, 1)
	k.Put(sum, k.Const(c.compute, 0))
	lane, number := k.Rem(k.Thread(), k.Int(each)), k.Div(k.Thread(), k.Int(each))
	element := k.Add(k.Mul(k.Block(0), k.Int(each)), lane)
	last := k.Min(element, k.Int(size-1))
	k.For(number, k.size("parts", parts), threads/each, func(part ir.Value) {
		k.Put(sum, k.Add(k.At(sum), k.Load(from, k.Add(k.Mul(part, k.Int(size)), last))))
	})
	k.SharedStore(held, k.Thread(), k.At(sum))
	for n := threads / 2; n >= each; n /= 2 {
		k.Barrier()
		k.If(k.Lt(k.Thread(), k.Int(n)), func() {
			k.SharedStore(held, k.Thread(), k.Add(k.SharedLoad(held, k.Thread()), k.SharedLoad(held, k.plus(k.Thread(), n))))
		})
	}
	k.If(k.And(k.Lt(k.Thread(), k.Int(each)), k.Lt(element, k.Int(size))), func() {
		result, image := k.Rem(k.Div(last, k.Int(pixels)), k.Int(c.results)), k.Div(last, k.Int(pixels*c.results))
		pixel := k.Add(k.Mul(image, k.Int(pixels)), k.Rem(last, k.Int(pixels)))
		row, col := pixel, result
		if c.columns {
			row, col = result, pixel
		}
		e.put(row, col, []ir.Value{k.SharedLoad(held, k.Thread())})
	})
	return k.launch(ceil(size, each))
}
