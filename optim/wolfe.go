package optim

import (
	"math"
)

// place is a point on the line of a search.
type place struct {
	point
	t     float64 // distance along the direction
	slope float64
}

// search searches along o.direction for a point that satisfies the strong Wolfe conditions (Nocedal and Wright, Numerical
// Optimization, 2006, algorithms 3.5 and 3.6), with cubic interpolation; its points are the same as PyTorch's. from is the point at the
// current parameters, and slope the derivative there. search returns a point, its distance along the direction, and the number of
// evaluations, which is at most 1 more than the limit most. It restores the parameters unless an evaluation fails.
func (p *problem) search(o *LBFGS, from point, slope float64, most int) (point, float64, int, error) {
	const c1, c2 = 1e-4, 0.9
	reach, err := p.top(o.direction)
	if err != nil {
		return point{}, 0, 0, err
	}
	start := p.values()
	defer release(start)
	used := 0
	try := func(t float64) (place, error) {
		p.move(o.direction, t)
		at, err := p.evaluate()
		if err != nil {
			return place{}, err
		}
		p.set(start)
		used++
		s, err := p.dot(at.grad, o.direction)
		return place{at, t, s}, err
	}
	now, err := try(o.length)
	if err != nil {
		return point{}, 0, 0, err
	}
	zero := place{from, 0, slope}
	last := zero
	var bracket []place
	n := 0
	done := false
	for ; n < most; n++ {
		if now.loss > from.loss+c1*now.t*slope || n > 1 && now.loss >= last.loss {
			bracket = []place{last, now}
			break
		}
		if math.Abs(now.slope) <= -c2*slope {
			bracket, done = []place{now}, true
			break
		}
		if now.slope >= 0 {
			bracket = []place{last, now}
			break
		}
		t := cubic(last, now, now.t+0.01*(now.t-last.t), now.t*10)
		last = now
		if now, err = try(t); err != nil {
			return point{}, 0, used, err
		}
	}
	if bracket == nil {
		bracket = []place{zero, now}
	}
	low, high := 0, len(bracket)-1
	if bracket[0].loss > bracket[high].loss {
		low, high = high, 0
	}
	stuck := false
	for ; !done && n < most; n++ {
		a, b := min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
		if (b-a)*reach < o.ChangeTolerance {
			break
		}
		t := cubic(bracket[0], bracket[1], a, b)
		margin := 0.1 * (b - a)
		if min(b-t, t-a) >= margin {
			stuck = false
		} else if stuck || t >= b || t <= a {
			if math.Abs(t-b) < math.Abs(t-a) {
				t = b - margin
			} else {
				t = a + margin
			}
			stuck = false
		} else {
			stuck = true
		}
		if now, err = try(t); err != nil {
			return point{}, 0, used, err
		}
		if now.loss > from.loss+c1*t*slope || now.loss >= bracket[low].loss {
			bracket[high] = now
			low, high = 0, 1
			if bracket[0].loss > bracket[1].loss {
				low, high = 1, 0
			}
			continue
		}
		if math.Abs(now.slope) <= -c2*slope {
			done = true
		} else if now.slope*(bracket[high].t-bracket[low].t) >= 0 {
			bracket[high] = bracket[low]
		}
		bracket[low] = now
	}
	return bracket[low].point, bracket[low].t, used, nil
}

// cubic returns the minimum within [lo, hi] of the cubic through two places with their slopes.
func cubic(a, b place, lo, hi float64) float64 {
	d1 := a.slope + b.slope - 3*(a.loss-b.loss)/(a.t-b.t)
	square := d1*d1 - a.slope*b.slope
	if square < 0 {
		return (lo + hi) / 2
	}
	d2 := math.Sqrt(square)
	var t float64
	if a.t <= b.t {
		t = b.t - (b.t-a.t)*((b.slope+d2-d1)/(b.slope-a.slope+2*d2))
	} else {
		t = a.t - (a.t-b.t)*((a.slope+d2-d1)/(a.slope-b.slope+2*d2))
	}
	return min(max(t, lo), hi)
}
