package template

import (
	"fmt"
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// A convolution of few channels is slow as a product: the depth and one of the dimensions are shorter than tiles, and tiles of the image
// are read once for each place of the filter. Here a block holds the filters and a strip of all channels of an image in shared memory, and
// a thread computes some neighbouring columns of two rows for some results. The thread reads a row of a channel once for all these results.

const (
	fewPixels = 1 << 12 // least elements of a channel of the result for which this is faster
	fewPairs  = 512     // most pairs of a channel and a result channel
	fewMost   = 32      // most channels, and most result channels
	fewTaps   = 49      // most places of a filter
	fewLines  = 2       // rows that a thread computes
	fewCols   = 4       // columns that a thread computes
)

// Direct reports whether Build computes the convolution from rows in shared memory. It does so for few channels and for gradients of small
// filters with few channels. This is faster than a product of matrices and than libraries.
func (v Convolution) Direct(t Target) bool {
	c, err := v.normal(t)
	return err == nil && c.m*c.n > 0 && (c.few() != nil || c.gradient() != nil)
}

// flat reports whether images have two dimensions of places and contiguous columns, there are neither groups nor a dilated image, all
// types are f32, and the target does not require products of matrices.
func (c *convolution) flat() bool {
	if c.t.Products || len(c.window) != 2 || c.batches() != 1 || c.imageDilation[0] != 1 || c.imageDilation[1] != 1 || c.index != dtype.I32 {
		return false
	}
	if c.compute != dtype.F32 || c.image.typ != dtype.F32 || c.filter.typ != dtype.F32 {
		return false
	}
	for _, n := range []int{c.image.row, c.image.col, c.imageStrides[0]} {
		if n < 0 {
			return false
		}
	}
	return c.imageStrides[1] == 1 && c.taps() > 0 && c.channels > 0
}

// fewKernel is the schedule of a convolution of few channels.
type fewKernel struct {
	results       int // results that a thread computes
	rows          int // rows of a strip
	items         int // pieces of work in a strip, one for a thread at a time
	threads       int
	stages        int // strips in shared memory at a time
	strip         strip
	filters       int // elements of all filters
	strips, total int // strips of an image, and of all images
	grid, blocks  int // blocks of the launch, and blocks that a multiprocessor holds
}

// few returns the schedule for a convolution of few channels, or nil if the convolution is not suitable.
func (c *convolution) few() *fewKernel {
	if !c.flat() {
		return nil
	}
	high, wide := c.outPlaces[1], c.outPlaces[2]
	if !c.columns || c.channels > fewMost || c.results > fewMost || c.channels*c.results > fewPairs || c.pixels < fewPixels ||
		c.taps() < 4 || c.taps() > fewTaps || wide < fewCols || slices.Max(c.stride) > 2 || slices.Max(c.dilation) > 2 {
		return nil
	}
	per := 4
	for c.results%per != 0 {
		per /= 2
	}
	across := ceil(wide, fewCols)
	cols := (across*fewCols-1)*c.stride[1] + (c.window[1]-1)*c.dilation[1] + 1
	var best *fewKernel
	least := 0.0
	for rows := fewLines; rows < high+fewLines; rows += fewLines {
		k := fewKernel{results: per, rows: rows, strips: ceil(high, rows), filters: c.taps() * c.channels * c.results}
		k.items = rows / fewLines * across * (c.results / per)
		k.strip = newStrip(c.t, c.channels, (rows-1)*c.stride[0]+(c.window[0]-1)*c.dilation[0]+1, cols, c.pad[1],
			c.in, []int{c.image.row, c.image.col, c.imageStrides[0]}, c.image.off)
		k.total = c.outPlaces[0] * k.strips
		for threads := 64; threads <= min(256, c.t.Threads); threads += 32 {
			for stages := 1; stages <= 2; stages++ {
				k.threads, k.stages = threads, stages
				bytes := 4 * (ceil(k.filters, 4)*4 + stages*k.strip.size())
				if bytes > c.t.Shared || stages > 1 && !c.t.Async {
					continue
				}
				k.blocks = resident(c.t, threads, bytes)
				if work := c.fewWork(k); best == nil || work < least {
					chosen := k
					best, least = &chosen, work
				}
			}
		}
	}
	if best != nil {
		best.grid = min(best.total, max(c.t.Units, 1)*best.blocks)
	}
	return best
}

// resident returns the occupancy: the number of blocks that one multiprocessor holds, for a kernel with about a hundred registers per
// thread and the given bytes of shared memory.
func resident(t Target, threads, bytes int) int {
	return max(1, min(t.Shared/(bytes+1024), 640/threads))
}

// fewWork estimates the time of a schedule: the instructions that all threads of a multiprocessor execute.
func (c *convolution) fewWork(k fewKernel) float64 {
	turn := float64(ceil(k.items, k.threads)) * (float64(fewLines*fewCols*k.results*c.taps()*c.channels)*1.1 + 350)
	copies := float64(k.strip.planes*k.strip.rows*ceil(k.strip.cols, k.strip.width)) / float64(k.threads) * 30
	if k.stages == 1 {
		copies += 600 // the cost of a wait
	}
	work := (turn + copies) * float64(k.threads)
	return work * rounds(c.t, k.total, k.blocks, k.threads)
}

// rounds returns the number of blocks that one multiprocessor computes. The number is increased if too few threads are resident to hide
// latency.
func rounds(t Target, total, blocks, threads int) float64 {
	n := ceil(total, max(t.Units, 1))
	return float64(n) * max(1, math.Sqrt(512/float64(min(blocks, n)*threads)))
}

// fewLaunch returns the launch of the convolution with this schedule.
func (c *convolution) fewLaunch(x *fewKernel) []ir.Launch {
	k := c.kernel(fmt.Sprintf("convolution_rows_%v", c.compute), x.threads)
	k.SetBlocks(x.blocks)
	image, filter := k.region("image", c.image, ir.Read, nil), k.region("filter", c.filter, ir.Read, nil)
	from := source{buf: image.buf, row: k.stride("image row of places", c.imageStrides[0]), high: c.imageStrides[0]}
	results, pixels := k.size("results", c.results), k.size("pixels", c.pixels)
	width := fewCols
	for c.outPlaces[2]%width != 0 {
		width /= 2
	}
	e := k.epilogue(k.Int(0), nil, results, pixels, width)
	weights := k.Shared("filters", c.compute, ceil(x.filters, 4)*4)
	held := k.Shared("strip", c.compute, x.stages*x.strip.size())
	sums := k.Local("sum", c.compute, fewLines*fewCols*x.results)

	// The order of filters in shared memory is channels, places, results: the weights of all results are neighbours.
	k.For(k.Thread(), k.Int(x.filters), x.threads, func(i ir.Value) {
		result, rest := k.Rem(i, k.Int(c.results)), k.Div(i, k.Int(c.results))
		tap, channel := k.Rem(rest, k.Int(c.taps())), k.Div(rest, k.Int(c.taps()))
		o := k.at(filter, result, channel)
		for n, at := range []ir.Value{k.Div(tap, k.Int(c.window[1])), k.Rem(tap, k.Int(c.window[1]))} {
			if y, ok := k.times(at, k.stride(fmt.Sprintf("filter place %d", n), c.filterStrides[n]), c.filterStrides[n]); ok {
				o = k.Add(o, y)
			}
		}
		k.SharedStore(weights, i, k.Load(filter.buf, o))
	})

	top := func(strip ir.Value) ir.Value { return k.Mul(k.Rem(strip, k.Int(x.strips)), k.Int(x.rows)) }
	stage := func(n ir.Value) ir.Value { return k.Mul(n, k.Int(x.strip.size())) }
	issue := func(strip, n ir.Value) {
		number := k.Div(strip, k.Int(x.strips))
		from.base = func(plane ir.Value) ir.Value { return k.at(image, number, plane) }
		k.load(x.strip, from, held, stage(n), k.plus(k.Mul(top(strip), k.Int(c.stride[0])), -c.pad[0]), x.threads)
	}
	across := ceil(c.outPlaces[2], fewCols)
	share := x.rows / fewLines * across // items that compute the same results
	k.strips(x.total, x.grid, x.stages, issue, func(strip, n ir.Value) {
		at, first, number := stage(n), top(strip), k.Div(strip, k.Int(x.strips))
		k.For(k.Thread(), k.Int(x.items), x.threads, func(item ir.Value) {
			part, place := k.Mul(k.Div(item, k.Int(share)), k.Int(x.results)), k.Rem(item, k.Int(share))
			row, col := k.Mul(k.Div(place, k.Int(across)), k.Int(fewLines)), k.Mul(k.Rem(place, k.Int(across)), k.Int(fewCols))
			k.fewSums(x, weights, held, sums, part, k.Add(at, k.Add(k.Mul(row, k.Int(c.stride[0]*x.strip.pitch)), k.Mul(col, k.Int(c.stride[1])))))
			for i := range fewLines {
				y := k.Add(first, k.plus(row, i))
				k.If(k.Lt(y, k.Int(c.outPlaces[1])), func() {
					for j := 0; j < fewCols; j += width {
						z := k.plus(col, j)
						k.If(k.Lt(z, k.Int(c.outPlaces[2])), func() {
							pixel := k.Add(k.Mul(k.Add(k.Mul(number, k.Int(c.outPlaces[1])), y), k.Int(c.outPlaces[2])), z)
							for r := range x.results {
								v := make([]ir.Value, width)
								for u := range v {
									v[u] = k.Get(sums, k.Int((r*fewLines+i)*fewCols+j+u))
								}
								e.put(k.plus(part, r), pixel, v)
							}
						})
					}
				})
			}
		})
	})
	return []ir.Launch{k.launch(x.grid)}
}

// fewSums computes the sums of a thread, in the order results, rows, columns. at is the offset of its first row and column in the strip,
// and part is the first of its results.
func (k *productKernel) fewSums(x *fewKernel, weights, held ir.Mem, sums ir.Var, part, at ir.Value) {
	c := k.c.conv
	for i := range fewLines * fewCols * x.results {
		k.Set(sums, k.Int(i), k.Const(c.compute, 0))
	}
	n := (fewCols-1)*c.stride[1] + (c.window[1]-1)*c.dilation[1] + 1
	k.For(k.Int(0), k.Int(c.channels), 1, func(channel ir.Value) {
		w := map[int][]ir.Value{} // weights by place of the filter
		filters := k.Add(k.Mul(channel, k.Int(c.taps()*c.results)), part)
		plane := k.Add(at, k.Mul(channel, k.Int(x.strip.plane)))
		for row := range (fewLines-1)*c.stride[0] + (c.window[0]-1)*c.dilation[0] + 1 {
			var v []ir.Value
			for i := range fewLines {
				from := row - i*c.stride[0]
				if from < 0 || from%c.dilation[0] != 0 || from/c.dilation[0] >= c.window[0] {
					continue
				}
				if v == nil {
					v = k.span(held, k.plus(plane, row*x.strip.pitch), n, fewCols)
				}
				for tap := range c.window[1] {
					p := from/c.dilation[0]*c.window[1] + tap
					if w[p] == nil {
						w[p] = k.span(weights, k.plus(filters, p*c.results), x.results, x.results)
					}
					for r := range x.results {
						for j := range fewCols {
							s := k.Int((r*fewLines+i)*fewCols + j)
							k.Set(sums, s, k.FMA(v[j*c.stride[1]+tap*c.dilation[1]], w[p][r], k.Get(sums, s)))
						}
					}
				}
			}
		}
	})
}
