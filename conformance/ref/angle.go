package ref

import (
	"math"
	"math/big"
	"sync"
)

// Sine, cosine and tangent of package math are inexact for large angles and for angles near a multiple of a quarter turn. Here, such angles
// are reduced with enough digits of pi for a float64.

func sin(x float64) float64 {
	if y := math.Sin(x); !cancels(x, y) {
		return y
	}
	k, r := reduced(x)
	return [4]float64{math.Sin(r), math.Cos(r), -math.Sin(r), -math.Cos(r)}[k]
}

func cos(x float64) float64 {
	if y := math.Cos(x); !cancels(x, y) {
		return y
	}
	k, r := reduced(x)
	return [4]float64{math.Cos(r), -math.Sin(r), -math.Cos(r), math.Sin(r)}[k]
}

func tan(x float64) float64 {
	if y := math.Tan(x); !cancels(x, y) && !cancels(x, 1/y) {
		return y
	}
	k, r := reduced(x)
	if k%2 == 1 {
		return -1 / math.Tan(r)
	}
	return math.Tan(r)
}

// cancels reports whether y, a function of the angle x, may have lost digits in the reduction of x.
func cancels(x, y float64) bool {
	x = math.Abs(x)
	return x > 1 && !math.IsInf(x, 0) && (x > 1e4 || math.Abs(y) < 1e-4)
}

// angleBits is the number of bits of pi that the greatest float64, its digits and cancellation require.
const angleBits = 1024 + 53 + 128

// reduced returns q modulo 4 and x - q·pi/2, where q is the whole number nearest to x/(pi/2).
func reduced(x float64) (quarter int, rest float64) {
	big0 := func() *big.Float { return new(big.Float).SetPrec(angleBits) }
	half := quarterTurn()
	q := big0().Quo(big0().SetFloat64(x), half)
	q.Add(q, big0().SetFloat64(math.Copysign(0.5, x)))
	whole, _ := q.Int(nil) // toward zero
	r := big0().Sub(big0().SetFloat64(x), big0().Mul(big0().SetInt(whole), half))
	rest, _ = r.Float64()
	return int(new(big.Int).And(whole, big.NewInt(3)).Int64()), rest
}

// quarterTurn returns pi/2 by Machin's formula, pi/4 = 4·atan(1/5) - atan(1/239).
var quarterTurn = sync.OnceValue(func() *big.Float {
	const bits = angleBits + 64
	arctan := func(n int64) *big.Int { // of 1/n, times 2^bits
		term := new(big.Int).Quo(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(n))
		sum := new(big.Int)
		for k := int64(1); term.Sign() > 0; k += 2 {
			t := new(big.Int).Quo(term, big.NewInt(k))
			if k%4 == 3 {
				t.Neg(t)
			}
			sum.Add(sum, t)
			term.Quo(term, big.NewInt(n*n))
		}
		return sum
	}
	q := new(big.Int).Sub(new(big.Int).Lsh(arctan(5), 2), arctan(239))
	f := new(big.Float).SetPrec(bits).SetInt(q.Lsh(q, 1))
	return f.SetMantExp(f, -bits)
})
