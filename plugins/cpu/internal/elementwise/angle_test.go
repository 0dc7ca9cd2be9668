package elementwise

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const precision = 1400 // bits: the greatest exponent, the digits of the result and those that cancel

// machin returns pi by Machin's formula, 16·atan(1/5) - 4·atan(1/239).
func machin() *big.Float {
	unit := new(big.Int).Lsh(big.NewInt(1), precision+64)
	atan := func(inverse int64) *big.Int {
		sum, power, square := new(big.Int), new(big.Int).Quo(unit, big.NewInt(inverse)), big.NewInt(inverse*inverse)
		for k := int64(1); power.Sign() != 0; k += 2 {
			if term := new(big.Int).Quo(power, big.NewInt(k)); k%4 == 1 {
				sum.Add(sum, term)
			} else {
				sum.Sub(sum, term)
			}
			power.Quo(power, square)
		}
		return sum
	}
	pi := new(big.Int).Sub(new(big.Int).Mul(big.NewInt(16), atan(5)), new(big.Int).Mul(big.NewInt(4), atan(239)))
	return new(big.Float).SetPrec(precision).SetMantExp(new(big.Float).SetInt(pi), -(precision + 64))
}

// series returns sine and cosine of x by their Taylor series, after it reduces x to an angle between -pi/4 and pi/4.
func series(x float64, pi *big.Float) (sine, cosine float64) {
	float := func() *big.Float { return new(big.Float).SetPrec(precision) }
	quarter := float().Quo(pi, big.NewFloat(2))
	turns := float().Quo(float().SetFloat64(x), quarter)
	halfUp := float().Add(turns, float().SetFloat64(math.Copysign(0.5, x)))
	k, _ := halfUp.Int(nil)
	rest := float().Sub(float().SetFloat64(x), float().Mul(float().SetInt(k), quarter))
	rest.SetPrec(300)
	square := new(big.Float).Mul(rest, rest)
	power := func(from int64, term *big.Float) float64 {
		sum := new(big.Float).SetPrec(300).Set(term)
		for n := from; n < 60; n += 2 {
			term = new(big.Float).Mul(term, square)
			term.Quo(term, big.NewFloat(float64(n*(n+1))))
			term.Neg(term)
			sum.Add(sum, term)
		}
		f, _ := sum.Float64()
		return f
	}
	s, c := power(2, rest), power(1, new(big.Float).SetPrec(300).SetInt64(1))
	switch new(big.Int).And(k, big.NewInt(3)).Int64() {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// TestAnglesAgainstSeries compares sine, cosine and tangent of angles of every size, most of them next to a multiple of a quarter
// turn, with their series in 1,400 bits.
func TestAnglesAgainstSeries(t *testing.T) {
	pi := machin()
	if got, _ := pi.Float64(); got != math.Pi {
		t.Fatalf("pi is %v", got)
	}
	r := rand.New(rand.NewPCG(51, 52))
	x := []float64{0, 1, -1, math.Pi, math.Pi / 2, 0x1p29, 0x1.fffffffffffffp28, math.MaxFloat64, 6381956970095103 * 0x1p797, 1e22, 5e-324, 22, 355.0 / 2}
	for exponent := -10; exponent < 1024; exponent += 3 {
		x = append(x, math.Ldexp(1+r.Float64(), exponent))
		k := math.Floor(math.Ldexp(1+r.Float64(), min(exponent+4, 52)))
		near := k * (math.Pi / 2)
		x = append(x, near, math.Nextafter(near, 0), -near)
	}
	for _, x := range x {
		sine, cosine := series(x, pi)
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"sin", sin(x), sine}, {"cos", cos(x), cosine}, {"tan", tan(x), sine / cosine}} {
			if math.Abs(c.got-c.want) > 4e-15*math.Abs(c.want) { // math.Tan omits the cubic term below 1e-7
				t.Errorf("%s(%v) is %v, want %v", c.name, x, c.got, c.want)
			}
		}
	}
}

// TestLossySides checks functions where package math loses digits, by series, known values and limits.
func TestLossySides(t *testing.T) {
	near := func(name string, got, want, rel float64) {
		t.Helper()
		if got != want && !(math.Abs(got-want) <= rel*math.Abs(want)) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, e := range []float64{1e-4, 1e-6, 1e-9, 0x1p-52} {
		// acos(1-e) is sqrt(2e)·(1 + e/12 + 3e²/160 + ...); 1-e is rounded, so d is computed from it.
		x := 1 - e
		d := 1 - x
		near("acos", acos(x), math.Sqrt(2*d)*(1+d/12+3*d*d/160+5*d*d*d/896), 1e-15)
		near("asin", asin(x), math.Pi/2-math.Sqrt(2*d)*(1+d/12+3*d*d/160+5*d*d*d/896), 1e-15)
		near("asin", asin(-x), -asin(x), 0)
		near("sinh", sinh(e), e*(1+e*e/6+e*e*e*e/120), 1e-15)
	}
	near("sinh", sinh(710), 1.1169973830808557e308, 1e-13) // exp(710)/2 by Python's decimal; exp(710) is beyond float64
	near("sinh", sinh(-710), -1.1169973830808557e308, 1e-13)
	near("cosh", cosh(710), 1.1169973830808557e308, 1e-13)
	near("sinh", sinh(711), math.Inf(1), 0)
	near("cosh", cosh(-711), math.Inf(1), 0)
	for x, want := range map[float64]float64{5e-324: -744.4400719213812, 0x1p-1023: -1023 * math.Ln2, 0x1p-1022: -1022 * math.Ln2} {
		near("log", log(x), want, 1e-15)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"asin", asin(1.0000001), math.NaN()}, {"acos", acos(-2), math.NaN()}, {"acos", acos(1), 0}, {"acos", acos(-1), math.Pi}, {"asin", asin(1), math.Pi / 2},
		{"log", log(0), math.Inf(-1)}, {"log", log(-1), math.NaN()}, {"sinh", sinh(math.Inf(-1)), math.Inf(-1)}, {"cosh", cosh(math.Inf(-1)), math.Inf(1)},
		{"sinh", sinh(math.NaN()), math.NaN()}, {"sin", sin(math.Inf(1)), math.NaN()}, {"tan", tan(math.NaN()), math.NaN()}} {
		near(c.name, c.got, c.want, 0)
	}
	for _, f := range []func(float64) float64{asin, sinh, sin, tan} {
		if y := f(math.Copysign(0, -1)); y != 0 || !math.Signbit(y) {
			t.Errorf("of -0: %v", y)
		}
	}
}
