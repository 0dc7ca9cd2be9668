package winograd

import "unsafe"

// partition is the division of an image and group into tasks: across parts of the units of tiles, and down parts of the panels of outputs.
type partition struct{ across, down int }

// The costs of an element, in cycles of a vector: of transforming an input, an
// output, and of a product.
const (
	inputCost, outputCost = 150, 130
	productCost           = elements / 2
)

// partition divides each of items images and groups such that the busiest thread has the least work. Tasks that share tiles each transform
// the inputs of these tiles.
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
