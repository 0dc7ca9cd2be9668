package elementwise

import "math"

// Angles near a multiple of a quarter turn are reduced in twice the precision of package math, which loses the digits of
// small results there.

func sin(x float64) float64 {
	y := math.Sin(x)
	if !delicate(x, y) {
		return y
	}
	k, r := reduced(x)
	return [4]float64{math.Sin(r), math.Cos(r), -math.Sin(r), -math.Cos(r)}[k]
}

func cos(x float64) float64 {
	y := math.Cos(x)
	if !delicate(x, y) {
		return y
	}
	k, r := reduced(x)
	return [4]float64{math.Cos(r), -math.Sin(r), -math.Cos(r), math.Sin(r)}[k]
}

func tan(x float64) float64 {
	y := math.Tan(x)
	if !delicate(x, y) && !delicate(x, 1/y) {
		return y
	}
	k, r := reduced(x)
	if k%2 == 1 {
		return -1 / math.Tan(r)
	}
	return math.Tan(r)
}

// delicate reports whether y, a function of the angle x, is small enough to have lost digits. From 2^29 on package math
// reduces with more of them.
func delicate(x, y float64) bool {
	return math.Abs(y) < 0x1p-12 && math.Abs(x) > 1 && math.Abs(x) < 1<<29
}

// reduced returns x - q·pi/2 for the nearest integer q, and q modulo 4. It subtracts pi in three parts (Cody and Waite).
func reduced(x float64) (quarter int, rest float64) {
	const first, second, third = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110
	q := math.RoundToEven(x * (2 / math.Pi))
	p1, p2 := float64(q*first), float64(q*second) // the conversions prevent fused multiply-add, which would not round the products
	low1, low2 := math.FMA(q, first, -p1), math.FMA(q, second, -p2)
	s, c1 := twoSum(x-p1, -low1) // x-p1 is exact, as they are close
	s, c2 := twoSum(s, -p2)
	return int(int64(q) & 3), s + (c1 + c2 - low2 - q*third)
}

// twoSum is a+b, and what rounding took from it (Knuth).
func twoSum(a, b float64) (sum, rest float64) {
	sum = a + b
	t := sum - a
	return sum, (a - (sum - t)) + (b - t)
}
