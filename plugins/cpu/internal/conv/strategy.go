package conv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// strategy is one algorithm for convolutions. It has no state: what it derives
// from shapes is in the Plan, what it derives from weights is in the value that
// pack returns.
type strategy[T micro.Number] interface {
	// fits reports whether the strategy computes the plan on this processor.
	fits(p *Plan) bool
	// pack prepares the weights w of a plan that fits. It returns nil if the strategy cannot use these weights, or if packing costs more
	// than it saves in this use. The result may refer to w.
	pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T]
}

// prepared is a strategy with the weights that it packed. It is immutable and
// safe for concurrent use.
type prepared[T micro.Number] interface {
	// run computes the convolution. It reports false, and has written nothing,
	// if it refuses the input or the sum with the output.
	run(r *run[T]) bool
	// refuses reports whether run may report false.
	refuses() bool
	// elements returns how many weights are held.
	elements() int
}

// use says how many runs the weights are packed for.
type use int

const (
	kept     use = iota // many runs
	once                // one run
	fallback            // the runs that an earlier strategy refuses: packing does not pay
)

// strategies lists the algorithms in order of preference. The last fits every plan.
func strategies[T micro.Number]() []strategy[T] {
	return append([]strategy[T]{winogradTiles[T]{}}, exactStrategies[T]()...)
}

// exactStrategies lists the algorithms that multiply input elements by weights and only add the products. This bounds their rounding errors
// element by element.
func exactStrategies[T micro.Number]() []strategy[T] {
	return []strategy[T]{
		dotProducts[T]{}, depthwisePlanes[T]{}, directTaps[T]{}, longKernels[T]{}, jointPhases[T]{}, separatePhases[T]{},
		transposedProduct[T]{}, inPlaceProduct[T]{}, patchProduct[T]{},
	}
}

// pack prepares w for the first strategy of the list that accepts it, and for the following ones up to the first that never refuses a run.
func pack[T micro.Number](list []strategy[T], pool *par.Pool, p *Plan, w []T, use use) *Weights[T] {
	w = w[:p.outputs*p.depth()]
	ready := &Weights[T]{plan: p}
	for _, s := range list {
		if !s.fits(p) {
			continue
		}
		choice := s.pack(pool, p, w, use)
		if choice == nil {
			continue
		}
		ready.choices = append(ready.choices, choice)
		if !choice.refuses() {
			break
		}
		use = fallback
	}
	return ready
}

// isFloat32 reports whether T is float32, the type of the loops in assembly.
func isFloat32[T micro.Number]() bool {
	_, ok := any(*new(T)).(float32)
	return ok
}

// total is embedded in prepared weights that refuse no run.
type total struct{}

func (total) refuses() bool { return false }

// partial is embedded in prepared weights that refuse some runs.
type partial struct{}

func (partial) refuses() bool { return true }
