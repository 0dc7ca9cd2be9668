package elementwise

import (
	"math"
	"math/big"
	"sync"
)

// Angles near a multiple of a quarter turn are reduced modulo pi/2 in twice the precision of package math, whose small results there have
// few correct digits.

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

// far is the angle from which on package math reduces with more digits. Even there, the error of package math does not decrease with the
// result.
const far = 1 << 29

// delicate reports whether y, a function of the angle x, is so small that it may have lost digits.
func delicate(x, y float64) bool {
	x, y = math.Abs(x), math.Abs(y)
	return y < 0x1p-12 && x > 1 && x < far || y < 0x1p-2 && x >= far
}

// reduced returns x - q·pi/2 for the nearest integer q, and q modulo 4. It subtracts pi in three parts (Cody and Waite).
func reduced(x float64) (quarter int, rest float64) {
	if math.Abs(x) >= far {
		return reducedFar(x)
	}
	const first, second, third = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110
	q := math.RoundToEven(x * (2 / math.Pi))
	p1, p2 := float64(q*first), float64(q*second) // the conversions prevent fused multiply-add, which would not round the products
	low1, low2 := math.FMA(q, first, -p1), math.FMA(q, second, -p2)
	s, c1 := twoSum(x-p1, -low1) // x-p1 is exact, as they are close
	s, c2 := twoSum(s, -p2)
	return int(int64(q) & 3), s + (c1 + c2 - low2 - q*third)
}

// reducedFar is like reduced for the greatest angles: it multiplies by as many digits of 2/pi as the exponent of x requires (Payne and
// Hanek).
func reducedFar(x float64) (quarter int, rest float64) {
	fraction, exponent := math.Frexp(x)
	turns := new(big.Int).Mul(big.NewInt(int64(fraction*(1<<53))), perQuarter())
	point := uint(quarterBits + 53 - exponent) // number of fractional bits in turns
	whole := new(big.Int).Rsh(new(big.Int).Add(turns, new(big.Int).Lsh(big.NewInt(1), point-1)), point)
	turns.Sub(turns, new(big.Int).Lsh(whole, point))
	part := new(big.Float).SetInt(turns)
	rest, _ = part.SetMantExp(part, -int(point)).Float64()
	return int(new(big.Int).And(whole, big.NewInt(3)).Int64()), rest * (math.Pi / 2)
}

// quarterBits is the number of bits of 2/pi that the greatest exponent, the digits of a float64 and cancellation require.
const quarterBits = 1152

// perQuarter returns 2/pi times 2^quarterBits.
var perQuarter = sync.OnceValue(func() *big.Int {
	const digits = "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c" +
		"fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f" +
		"ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
	q, _ := new(big.Int).SetString(digits, 16)
	return q
})

// twoSum returns the rounded sum a+b, and its rounding error (Knuth).
func twoSum(a, b float64) (sum, rest float64) {
	sum = a + b
	t := sum - a
	return sum, (a - (sum - t)) + (b - t)
}
