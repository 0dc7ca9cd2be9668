package ref

import "math"

// The functions of package math that lose digits in some range (go1.26), in forms that do not.

// log returns the natural logarithm. It scales denormals into the normal range first, because math.Log is wrong for them on amd64.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// acos returns the arccosine. It is exact near 1, where math.Acos subtracts two angles.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// asin returns the arcsine. It is exact near 1 and -1.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// cosh returns the hyperbolic cosine. It overflows only if the result does.
func cosh(x float64) float64 {
	if a := math.Abs(x); a > 700 {
		half := math.Exp(a / 2)
		return half / 2 * half
	}
	return math.Cosh(x)
}

// sinh returns the hyperbolic sine. It overflows only if the result does, and is exact near 0.
func sinh(x float64) float64 {
	a := math.Abs(x)
	y := 0.0
	if a > 700 {
		half := math.Exp(a / 2)
		y = half / 2 * half
	} else {
		e := math.Expm1(a)
		y = (e + e/(e+1)) / 2
	}
	return math.Copysign(y, x)
}
