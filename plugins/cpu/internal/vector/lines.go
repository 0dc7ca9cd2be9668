package vector

import "math"

// lanes is the greatest number of lanes of any level.
const lanes = 16

// pairwise is the number of elements up to which each lane sums in order; a lane then sums at most some hundred numbers.
const pairwise = 4096

// Sum returns the sum of x. Sums of more than a few thousand elements are computed pairwise. Has must report true.
func Sum(x []float32) float32 {
	if len(x) > pairwise {
		half := len(x) / 2 &^ 63
		return Sum(x[:half]) + Sum(x[half:])
	}
	var sum float32
	step := 4 * active.lanes
	if n := len(x) / step * step; n > 0 {
		var out [lanes]float32
		sumLine(n, &x[0], &out[0])
		for w := active.lanes / 2; w > 0; w /= 2 {
			for i := range w {
				out[i] += out[i+w]
			}
		}
		sum, x = out[0], x[n:]
	}
	var rest float32
	for _, v := range x {
		rest += v
	}
	return sum + rest
}

// Greatest returns the greatest element of x, which is not empty: NaN if one of them is, and zero rather than minus zero. Has must report true.
func Greatest(x []float32) float32 {
	if m, ok := Maxima.quarters(x); ok {
		return m
	}
	n := wholeVectors(len(x))
	m := float32(math.Inf(-1))
	if n > 0 {
		var out [2 * lanes]int32
		maxLine(n, &x[0], &out[0])
		best := out[0]
		for i := range active.lanes {
			if out[active.lanes+i] != 0 {
				return float32(math.NaN())
			}
			best = max(best, out[i])
		}
		m = number(best)
	}
	for _, v := range x[n:] {
		m = max(m, v)
	}
	return m
}

// Least returns the least element of x, which is not empty: NaN if one of them is, and minus zero rather than zero. Has must report true.
func Least(x []float32) float32 {
	if m, ok := Minima.quarters(x); ok {
		return m
	}
	n := wholeVectors(len(x))
	m := float32(math.Inf(1))
	if n > 0 {
		var out [2 * lanes]int32
		minLine(n, &x[0], &out[0])
		best := out[0]
		for i := range active.lanes {
			if out[active.lanes+i] != 0 {
				return float32(math.NaN())
			}
			best = min(best, out[i])
		}
		m = number(best)
	}
	for _, v := range x[n:] {
		m = min(m, v)
	}
	return m
}

// number returns the float that a key represents.
func number(key int32) float32 {
	return math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32))
}

// Total returns the sum of x in float64. Has must report true.
func Total(x []float32) float64 {
	n := wholeVectors(len(x))
	var sum float64
	if n > 0 {
		var out [lanes]float64
		totalLine(n, &x[0], &out[0])
		for _, v := range out[:active.lanes/2] {
			sum += v
		}
	}
	for _, v := range x[n:] {
		sum += float64(v)
	}
	return sum
}

// Squares returns the sum in float64 of the squares of x[i]-mean. Has must report true.
func Squares(x []float32, mean float32) float64 {
	n := wholeVectors(len(x))
	var sum float64
	if n > 0 {
		var out [lanes]float64
		squareLine(n, &x[0], mean, &out[0])
		for _, v := range out[:active.lanes/2] {
			sum += v
		}
	}
	for _, v := range x[n:] {
		d := float64(v - mean)
		sum += d * d
	}
	return sum
}
