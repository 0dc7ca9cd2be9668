package winograd

import "unsafe"

// partition describes the tasks of an image and group: the units of tiles are divided into across parts, and the panels of outputs into
// down parts.
type partition struct{ across, down int }

// The costs of a vector of tiles in cycles: of the transform of an input channel, of the transform of an output channel, and of the products
// of one input and one output channel.
const (
	inputCost, outputCost = 150, 130
	productCost           = elements / 2
)

// partition returns the division of each of items images and groups for which the busiest thread has the least work. Tasks that share tiles
// all transform the inputs of these tiles.
func (p *Plan) partition(threads, items int, w *Weights) partition {
	panels := w.panels()
	cost := func(c partition) int {
		outputs := ceil(panels, c.down) * w.height
		each := ceil(p.units, c.across) * active.unit * (p.Channels*inputCost + outputs*(p.Channels*productCost+outputCost))
		return ceil(items*c.across*c.down, threads) * each
	}
	best := partition{1, 1}
	least := cost(best)
	for down := 1; threads > 1 && down <= min(panels, 2*threads); down++ {
		for across := 1; across <= min(p.units, max(2*threads/down, 1)); across++ {
			if c := cost(partition{across, down}); c < least {
				best, least = partition{across, down}, c
			}
		}
	}
	return best
}

// aligned returns n elements that begin at a cache line.
func aligned(n int) []float32 {
	const line = 64
	s := make([]float32, n+line/4-1)
	at := 0
	if over := int(uintptr(unsafe.Pointer(&s[0])) % line); over > 0 {
		at = (line - over) / 4
	}
	return s[at:][:n:n]
}
