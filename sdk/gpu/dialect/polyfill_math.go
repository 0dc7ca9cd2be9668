package dialect

// portableMath are the functions of f32 for which WGSL allows large or unspecified errors, written in WGSL with sums, products, quotients,
// roots and fma. The stated errors are in units in the last place, in correctly rounded arithmetic. Compilers may factor products and
// reassociate terms that must cancel; a maximum with a value that is never reached prevents this. Polynomials were fitted at Chebyshev
// nodes.
var portableMath = []helper{
	{"f32_bits", `
fn f32_bits(x: u32) -> f32 { var y = x; return bitcast<f32>(y); }
`},
	// y·2^n with n from -252 to 252, in two steps. Each step multiplies by a power of two that is a normal number.
	{"ldexp_f32", `
fn ldexp_f32(y: f32, n: i32) -> f32 {
	let a = n >> 1u;
	return y * f32_bits(u32(a + 127) << 23u) * f32_bits(u32(n - a + 127) << 23u);
}
`},
	// exp(r) for r between -0.35 and 0.35: the series up to r^7.
	{"expnear_f32", `
fn expnear_f32(r: f32) -> f32 {
	var p = 1.98412698e-4f;
	p = fma(p, r, 1.38888889e-3f);
	p = fma(p, r, 8.33333333e-3f);
	p = fma(p, r, 4.16666667e-2f);
	p = fma(p, r, 1.66666667e-1f);
	p = fma(p, r, 0.5f);
	return 1.0f + fma(p * r, r, r);
}
`},
	// x = n·log(2) + r, where the first part of log(2) has 9 bits: an error of 2 units. Beyond the bounds the result is infinite or 0. The
	// integer n is read from the low bits of n + 1.5·2^23, which is faster than a conversion.
	{"exp_f32", `
fn exp_f32(x: f32) -> f32 {
	let c = min(max(x, -104.0f), 88.8f);
	let n = floor(fma(c, 1.44269504f, 0.5f));
	let r = fma(n, 2.12194440e-4f, max(fma(n, -0.693359375f, c), -1.0f));
	let y = ldexp_f32(expnear_f32(r), bitcast<i32>(n + 12582912.0f) - 0x4b400000);
	return select(y, x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
`},
	{"exp2_f32", `
fn exp2_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return x; }
	if (x >= 128.0f) { return f32_bits(0x7f800000u); }
	if (x < -150.0f) { return 0.0f; }
	let n = floor(x + 0.5f);
	return ldexp_f32(expnear_f32((x - n) * 0.693147181f), i32(n));
}
`},
	// For finite x = m·2^e above 0, with m between sqrt(1/2) and sqrt(2), mantissa_f32 returns the bits of m, and exponent_f32 returns e.
	{"mantissa_f32", `
fn mantissa_f32(x: f32) -> u32 {
	let b = bitcast<u32>(x);
	let m = (b << select(0u, countLeadingZeros(b) - 8u, b < 0x800000u)) & 0x7fffffu;
	return m | select(0x3f800000u, 0x3f000000u, m > 0x3504f3u);
}
`},
	{"exponent_f32", `
fn exponent_f32(x: f32) -> i32 {
	let b = bitcast<u32>(x);
	let e = select(i32(b >> 23u), 9 - i32(countLeadingZeros(b)), b < 0x800000u);
	return e - i32(mantissa_f32(x) >> 23u);
}
`},
	// The difference f - log(1+f): f²/2 - s·(f²/2 + R(s²)) with s = f / (2+f), from 2·atanh(s).
	{"logrest_f32", `
fn logrest_f32(f: f32) -> f32 {
	let s = f / (2.0f + f);
	let z = s * s;
	var p = 0.181818182f;
	p = fma(p, z, 0.222222222f);
	p = fma(p, z, 0.285714286f);
	p = fma(p, z, 0.4f);
	p = fma(p, z, 0.666666667f);
	let h = 0.5f * f * f;
	return h - s * fma(p, z, h);
}
`},
	// 2 units.
	{"log_f32", `
fn log_f32(x: f32) -> f32 {
	let b = bitcast<u32>(x);
	if ((b & 0x7fffffffu) == 0u) { return f32_bits(0xff800000u); }
	if (b > 0x80000000u) { return f32_bits(0x7fc00000u); }
	if (b >= 0x7f800000u) { return x; }
	let k = f32(exponent_f32(x));
	let f = f32_bits(mantissa_f32(x)) - 1.0f;
	return fma(k, 0.693359375f, max(f - fma(k, 2.12194440e-4f, logrest_f32(f)), -1.0f));
}
`},
	{"log2_f32", `
fn log2_f32(x: f32) -> f32 {
	let b = bitcast<u32>(x);
	if ((b & 0x7fffffffu) == 0u) { return f32_bits(0xff800000u); }
	if (b > 0x80000000u) { return f32_bits(0x7fc00000u); }
	if (b >= 0x7f800000u) { return x; }
	let f = f32_bits(mantissa_f32(x)) - 1.0f;
	return fma(f - logrest_f32(f), 1.44269504f, f32(exponent_f32(x)));
}
`},
	// For |x| up to 12,800, quadrant_f32 returns the number n for which n·π/2 is nearest to x, and beyond_f32 returns x - n·π/2. The parts of
	// π/2 have so few bits that their products with n are exact.
	{"quadrant_f32", `
fn quadrant_f32(x: f32) -> f32 { return floor(fma(x, 0.636619772f, 0.5f)); }
`},
	{"beyond_f32", `
fn beyond_f32(x: f32, n: f32) -> f32 {
	let a = max(fma(n, -1.5703125f, x), -1.0e5f);
	let b = max(fma(n, -4.837512969970703e-04f, a), -1.0e5f);
	let c = max(fma(n, -7.549533620476723e-08f, b), -1.0e5f);
	return fma(n, -2.56334415e-12f, c);
}
`},
	// Sine and cosine between -π/4 and π/4: the series.
	{"sinnear_f32", `
fn sinnear_f32(r: f32) -> f32 {
	if (abs(r) < 2.0e-4f) { return r; }
	let z = r * r;
	var p = 2.75573192e-6f;
	p = fma(p, z, -1.98412698e-4f);
	p = fma(p, z, 8.33333333e-3f);
	p = fma(p, z, -1.66666667e-1f);
	return fma(p * z, r, r);
}
`},
	{"cosnear_f32", `
fn cosnear_f32(r: f32) -> f32 {
	let z = r * r;
	var p = -2.75573192e-7f;
	p = fma(p, z, 2.48015873e-5f);
	p = fma(p, z, -1.38888889e-3f);
	p = fma(p, z, 4.16666667e-2f);
	return fma(p * z, z, fma(z, -0.5f, 1.0f));
}
`},
	// An error of 3 units where |x| is at most 12,800; beyond, the function of the language.
	{"sine_f32", `
fn sine_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u) { return f32_bits(0x7fc00000u); }
	if (abs(x) > 12800.0f) { return sin(x); }
	let n = quadrant_f32(x);
	let r = beyond_f32(x, n);
	let q = u32(i32(n));
	let v = select(sinnear_f32(r), cosnear_f32(r), (q & 1u) != 0u);
	return select(v, -v, (q & 2u) != 0u);
}
`},
	{"cosine_f32", `
fn cosine_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u) { return f32_bits(0x7fc00000u); }
	if (abs(x) > 12800.0f) { return cos(x); }
	let n = quadrant_f32(x);
	let r = beyond_f32(x, n);
	let q = u32(i32(n)) + 1u;
	let v = select(sinnear_f32(r), cosnear_f32(r), (q & 1u) != 0u);
	return select(v, -v, (q & 2u) != 0u);
}
`},
	// 4 units.
	{"tangent_f32", `
fn tangent_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u) { return f32_bits(0x7fc00000u); }
	if (abs(x) > 12800.0f) { return tan(x); }
	let n = quadrant_f32(x);
	let r = beyond_f32(x, n);
	let s = sinnear_f32(r);
	let c = cosnear_f32(r);
	if ((u32(i32(n)) & 1u) != 0u) { return -c / s; }
	return s / c;
}
`},
	// asin(x) between -1/2 and 1/2.
	{"asinnear_f32", `
fn asinnear_f32(x: f32) -> f32 {
	if (abs(x) < 2.0e-4f) { return x; }
	let z = x * x;
	var p = 0.0338053852f;
	p = fma(p, z, 0.0170781072f);
	p = fma(p, z, 0.0311160944f);
	p = fma(p, z, 0.0445980392f);
	p = fma(p, z, 0.0750009865f);
	p = fma(p, z, 0.166666657f);
	return fma(p * z, x, x);
}
`},
	// Beyond 1/2 from asin(x) = π/2 - 2·asin(sqrt((1-x) / 2)): 3 units.
	{"asin_f32", `
fn asin_f32(x: f32) -> f32 {
	let a = abs(x);
	if (!(a <= 1.0f)) { return f32_bits(0x7fc00000u); }
	if (a <= 0.5f) { return asinnear_f32(x); }
	let r = fma(asinnear_f32(sqrt(0.5f - 0.5f * a)), -2.0f, 1.57079633f);
	return select(r, -r, x < 0.0f);
}
`},
	{"acos_f32", `
fn acos_f32(x: f32) -> f32 {
	let a = abs(x);
	if (!(a <= 1.0f)) { return f32_bits(0x7fc00000u); }
	if (a <= 0.5f) { return 1.57079633f - asinnear_f32(x); }
	let r = 2.0f * asinnear_f32(sqrt(0.5f - 0.5f * a));
	return select(r, 3.14159265f - r, x < 0.0f);
}
`},
	// atan(x) for x from 0 to 1, from a polynomial up to tan(π/8) and atan(x) = π/4 + atan((x-1) / (x+1)).
	{"atannear_f32", `
fn atannear_f32(x: f32) -> f32 {
	let far = x > 0.414213562f;
	let t = select(x, (x - 1.0f) / (x + 1.0f), far);
	if (abs(x) < 2.0e-4f) { return x; }
	let z = t * t;
	var p = -0.0645904467f;
	p = fma(p, z, 0.107461989f);
	p = fma(p, z, -0.14264223f);
	p = fma(p, z, 0.199995503f);
	p = fma(p, z, -0.333333313f);
	return select(0.0f, 0.785398163f, far) + fma(p * z, t, t);
}
`},
	// 3 units.
	{"atan_f32", `
fn atan_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return x; }
	let a = abs(x);
	if (a < 2.0e-4f) { return x; }
	var r = 1.57079633f;
	if (a <= 1.0f) { r = atannear_f32(a); } else if (a < 1.0e30f) { r = 1.57079633f - atannear_f32(1.0f / a); }
	return select(r, -r, x < 0.0f);
}
`},
	// The angle is computed in the first eighth of the circle. From it follows the angle in the quadrant of the operands.
	{"atan2_f32", `
fn atan2_f32(y: f32, x: f32) -> f32 {
	let u = bitcast<u32>(y);
	let v = bitcast<u32>(x);
	let a = u & 0x7fffffffu;
	let b = v & 0x7fffffffu;
	if (a > 0x7f800000u || b > 0x7f800000u) { return f32_bits(0x7fc00000u); }
	let scale = select(1.0f, 2.32830644e-10f, max(a, b) > 0x70000000u);
	var t = (scale * f32_bits(min(a, b))) / (scale * f32_bits(max(a, b)));
	if (max(a, b) == 0u || (min(a, b) != max(a, b) && max(a, b) == 0x7f800000u)) { t = 0.0f; }
	if (max(a, b) - 1u < 0x7fffffu) { t = f32(min(a, b)) / f32(max(a, b)); }
	if (min(a, b) == max(a, b) && a != 0u) { t = 1.0f; }
	var r = atannear_f32(t);
	if (a > b) { r = 1.57079633f - r; }
	if (v >= 0x80000000u) { r = 3.14159265f - r; }
	return f32_bits(bitcast<u32>(r) | (u & 0x80000000u));
}
`},
	// Where exp would overflow although the result does not, exp of half the operand is squared: an error of 4 units.
	{"cosh_f32", `
fn cosh_f32(x: f32) -> f32 {
	let a = abs(x);
	if (!(a < 20.0f)) {
		let h = exp_f32(0.5f * a);
		return 0.5f * h * h;
	}
	let e = exp_f32(a);
	return 0.5f * (e + 1.0f / e);
}
`},
	// Up to 5/8 a polynomial; beyond, 1 - 2 / (exp(2x) + 1): an error of 3 units.
	{"tanh_f32", `
fn tanh_f32(x: f32) -> f32 {
	let a = abs(x);
	if (a < 2.0e-4f || (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return x; }
	if (a < 0.625f) {
		let z = x * x;
		var p = 0.00229592342f;
		p = fma(p, z, -0.00834705681f);
		p = fma(p, z, 0.0217699856f);
		p = fma(p, z, -0.0539594106f);
		p = fma(p, z, 0.133333042f);
		p = fma(p, z, -0.333333343f);
		return fma(p * z, x, x);
	}
	let r = 1.0f - 2.0f / (exp_f32(2.0f * min(a, 10.0f)) + 1.0f);
	return select(r, -r, x < 0.0f);
}
`},
	// 2^(y·log2(x)) of finite x above 0, where the logarithm and its product are sums of two numbers: an error of 3 units with an fma that
	// rounds once.
	{"powabove_f32", `
fn powabove_f32(x: f32, y: f32) -> f32 {
	let k = f32(exponent_f32(x));
	let f = f32_bits(mantissa_f32(x)) - 1.0f;
	let c = logrest_f32(f);
	let h = max(f - c, -1.0f);
	let l = (f - h) - c;
	let p = max(h * 1.44269502f, -1.0f);
	let s = max(k + p, -1.0e4f);
	let rest = ((k - s) + p) + (fma(h, 1.44269502f, -p) + fma(h, 1.92596303e-8f, l * 1.44269502f));
	let t = max(y * s, -1.0e4f);
	if (!(abs(t) < 160.0f)) { return exp2_f32(t); }
	let n = floor(t + 0.5f);
	let r = (t - n) + fma(y, rest, fma(y, s, -t));
	return ldexp_f32(expnear_f32(r * 0.693147181f), i32(n));
}
`},
	{"pow_f32", `
fn pow_f32(x: f32, y: f32) -> f32 {
	if (y == 0.0f || x == 1.0f) { return 1.0f; }
	let u = bitcast<u32>(x) & 0x7fffffffu;
	let v = bitcast<u32>(y) & 0x7fffffffu;
	if (u > 0x7f800000u || v > 0x7f800000u) { return f32_bits(0x7fc00000u); }
	if (u == 0x3f800000u && v == 0x7f800000u) { return 1.0f; }
	let whole = floor(y) == y;
	let odd = whole && abs(y) < 16777216.0f && floor(0.5f * y) != 0.5f * y;
	let negative = bitcast<u32>(x) >= 0x80000000u;
	var p = 0.0f;
	if (u == 0u || u == 0x7f800000u || v == 0x7f800000u) {
		p = select(0.0f, f32_bits(0x7f800000u), (u < 0x3f800000u) == (y < 0.0f));
	} else {
		p = powabove_f32(f32_bits(u), y);
	}
	if (negative && u != 0u && u != 0x7f800000u && !whole) { p = f32_bits(0x7fc00000u); }
	return select(p, -p, negative && odd);
}
`},
	// Compilers may replace 0/0 of constants by 0. On hardware that multiplies by a reciprocal, the reciprocal of numbers above 2^126 is 0.
	{"over_f32", `
fn over_f32(x: f32, y: f32) -> f32 {
	let a = bitcast<u32>(x);
	let b = bitcast<u32>(y);
	if ((b & 0x7fffffffu) == 0u) {
		return f32_bits(select(0x7f800000u | ((a ^ b) & 0x80000000u), 0x7fc00000u, (a & 0x7fffffffu) == 0u || (a & 0x7fffffffu) > 0x7f800000u));
	}
	if ((b & 0x7fffffffu) > 0x7e000000u) { return (0.25f * x) / (0.25f * y); }
	return x / y;
}
`},
	// The quotient of the hardware, wrong by a few units, is corrected by its remainder, which fma computes exactly.
	{"quotient_f32", `
fn quotient_f32(x: f32, y: f32) -> f32 {
	let q = max(x / y, -3.4e38f);
	let safe = abs(q) > 1.0e-30f && abs(q) < 1.0e30f && abs(x) > 1.0e-25f && abs(y) > 1.0e-30f && abs(y) < 1.0e30f;
	if (!safe) { return over_f32(x, y); }
	return fma(fma(-q, y, x), 1.0f / y, q);
}
`},
	{"root_f32", `
fn root_f32(x: f32) -> f32 {
	let s = sqrt(x);
	if (!(x > 1.0e-25f && x < 3.0e38f)) { return s; }
	return fma(fma(-s, s, x), 0.5f / s, s);
}
`},
}
