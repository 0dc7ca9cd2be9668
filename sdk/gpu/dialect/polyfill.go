package dialect

import (
	"regexp"
	"strings"
)

// portable are functions that WGSL lacks, written in WGSL. Metal's language lacks some of them too; function metal converts these. The
// stated errors hold for the formulas in correctly rounded f32 arithmetic.
var portable = append(portableMath[:len(portableMath):len(portableMath)], []helper{
	{"is_nan_f32", `
fn is_nan_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
`},
	// Bits in the order of the numbers. The bits of NaN are at both ends; subtracting a constant moves all bits of NaN to the end that
	// wins.
	{"order_f32", `
fn order_f32(x: f32) -> u32 {
	let a = bitcast<i32>(x);
	return bitcast<u32>(a ^ ((a >> 31u) & 0x7fffffff));
}
`},
	{"max_f32", `
fn max_f32(x: f32, y: f32) -> f32 { return select(x, y, order_f32(y) - 0x807fffffu > order_f32(x) - 0x807fffffu); }
`},
	{"min_f32", `
fn min_f32(x: f32, y: f32) -> f32 { return select(x, y, order_f32(y) - 0x7f800001u < order_f32(x) - 0x7f800001u); }
`},
	{"f32_f16", `
fn f32_f16(x: f32) -> u32 {
	let b = bitcast<u32>(x);
	let a = b & 0x7fffffffu;
	let s = (b >> 16u) & 0x8000u;
	if (a > 0x7f800000u) { return s | 0x7e00u; }
	if (a >= 0x477ff000u) { return s | 0x7c00u; }
	if (a >= 0x38800000u) { return s | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
	if (a < 0x33000000u) { return s; }
	let n = 126u - (a >> 23u);
	let m = (a & 0x7fffffu) | 0x800000u;
	return s | ((m + (1u << (n - 1u)) - 1u + ((m >> n) & 1u)) >> n);
}
`},
	{"bf16_f32", `
fn bf16_f32(x: u32) -> f32 { return f32_bits(x << 16u); }
`},
	{"f32_bf16", `
fn f32_bf16(x: f32) -> u32 {
	let b = bitcast<u32>(x);
	if ((b & 0x7fffffffu) > 0x7f800000u) { return (b >> 16u) | 0x40u; }
	return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}
`},
	// Rounding to odd: a later rounding to fewer bits returns the same result as a single rounding.
	{"u32_odd", `
fn u32_odd(x: u32) -> f32 {
	if (x < 0x1000000u) { return f32(x); }
	let n = 8u - countLeadingZeros(x);
	return f32(((x >> n) << n) | select(0u, 1u << n, (x & ((1u << n) - 1u)) != 0u));
}
`},
	{"i32_odd", `
fn i32_odd(x: i32) -> f32 { return select(u32_odd(u32(x)), -u32_odd(0u - u32(x)), x < 0i); }
`},
	// Below 1/2 the series up to x^9, with an error of at most 1 unit in the last place; beyond, exp(x) - 1, with 3 units.
	{"expm1_f32", `
fn expm1_f32(x: f32) -> f32 {
	if (abs(x) >= 0.5f) { return exp_f32(x) - 1.0f; }
	var p = 2.75573192e-6f;
	p = fma(p, x, 2.48015873e-5f);
	p = fma(p, x, 1.98412698e-4f);
	p = fma(p, x, 1.38888889e-3f);
	p = fma(p, x, 8.33333333e-3f);
	p = fma(p, x, 4.16666667e-2f);
	p = fma(p, x, 1.66666667e-1f);
	p = fma(p, x, 0.5f);
	return fma(p * x, x, x);
}
`},
	// Between -1/3 and 1/2 the series of 2·atanh(x / (2+x)), with an error of at most 3 units in the last place; beyond, log(1+x).
	{"log1p_f32", `
fn log1p_f32(x: f32) -> f32 {
	if (!(x > -0.33333333f && x < 0.5f)) { return log_f32(1.0f + x); }
	let s = x / (2.0f + x);
	let t = s * s;
	var p = 6.66666667e-2f;
	p = fma(p, t, 7.69230769e-2f);
	p = fma(p, t, 9.09090909e-2f);
	p = fma(p, t, 1.11111111e-1f);
	p = fma(p, t, 1.42857143e-1f);
	p = fma(p, t, 0.2f);
	p = fma(p, t, 3.33333333e-1f);
	let d = s + s;
	return fma(d * t, p, d);
}
`},
	// Up to 1 an even polynomial times x; beyond, 1 - exp of a polynomial. The error is at most 2 units in the last place.
	{"erf_f32", `
fn erf_f32(x: f32) -> f32 {
	let t = abs(x);
	if (!(t >= 1.0f)) {
		let s = x * x;
		var p = -9.66704457e-6f;
		p = fma(p, s, 1.12659590e-4f);
		p = fma(p, s, -8.48408041e-4f);
		p = fma(p, s, 5.22103181e-3f);
		p = fma(p, s, -2.68654307e-2f);
		p = fma(p, s, 1.12837825e-1f);
		p = fma(p, s, -3.76126385e-1f);
		return fma(fma(p, s, 0.128379167f), x, x);
	}
	let u = min(t, 4.0f);
	var q = 1.63715142e-6f;
	q = fma(q, u, -4.60580427e-5f);
	q = fma(q, u, 5.96805626e-4f);
	q = fma(q, u, -4.75959629e-3f);
	q = fma(q, u, 2.64211360e-2f);
	q = fma(q, u, -1.10080083e-1f);
	q = fma(q, u, -6.31826052e-1f);
	q = fma(q, u, -1.13023344f);
	q = fma(q, u, 3.20138050e-4f);
	let e = 1.0f - exp_f32(q);
	return select(e, -e, x < 0.0f);
}
`},
	// Below 1/2 from erf, beyond t·exp(-x²+p(t)) with t = 1/(1+x/2) (Press et al., Numerical Recipes, 6.2): a relative error of
	// 1.2e-7 plus the error of exp.
	{"erfc_f32", `
fn erfc_f32(x: f32) -> f32 {
	if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return x; }
	let a = min(abs(x), 12.0f);
	if (a < 0.5f) { return 1.0f - erf_f32(x); }
	let t = 1.0f / (1.0f + 0.5f * a);
	var p = 0.17087277f;
	p = fma(p, t, -0.82215223f);
	p = fma(p, t, 1.48851587f);
	p = fma(p, t, -1.13520398f);
	p = fma(p, t, 0.27886807f);
	p = fma(p, t, -0.18628806f);
	p = fma(p, t, 0.09678418f);
	p = fma(p, t, 0.37409196f);
	p = fma(p, t, 1.00002368f);
	p = fma(p, t, -1.26551223f);
	let z = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u); // its square is exact
	let y = t * exp_f32(-z * z) * exp_f32(fma(z - a, z + a, p));
	return select(y, 2.0f - y, x < 0.0f);
}
`},
	// The remainder is exact: the mantissas are divided bit by bit.
	{"fmod_f32", `
fn fmod_f32(x: f32, y: f32) -> f32 {
	let a = bitcast<u32>(x) & 0x7fffffffu;
	let b = bitcast<u32>(y) & 0x7fffffffu;
	if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) { return f32_bits(0x7fc00000u); }
	if (a < b) { return x; }
	let above = countLeadingZeros(a) - 8u;
	let below = countLeadingZeros(b) - 8u;
	var e = i32(a >> 23u);
	var m = (a & 0x7fffffu) | 0x800000u;
	if (e == 0) { m = a << above; e = 1 - i32(above); }
	var low = i32(b >> 23u);
	var d = (b & 0x7fffffu) | 0x800000u;
	if (low == 0) { d = b << below; low = 1 - i32(below); }
	loop {
		if (m >= d) { m = m - d; }
		if (e == low) { break; }
		m = m << 1u;
		e = e - 1;
	}
	let s = bitcast<u32>(x) & 0x80000000u;
	if (m == 0u) { return f32_bits(s); }
	let n = countLeadingZeros(m) - 8u;
	m = m << n;
	e = e - i32(n);
	if (e <= 0) { return f32_bits(s | (m >> u32(1 - e))); }
	return f32_bits(s | ((u32(e) << 23u) + (m - 0x800000u)));
}
`},
	{"mulhi_u32", `
fn mulhi_u32(x: u32, y: u32) -> u32 {
	let a = x >> 16u;
	let b = x & 0xffffu;
	let c = y >> 16u;
	let d = y & 0xffffu;
	let m = a * d + ((b * d) >> 16u);
	return a * c + (m >> 16u) + (((m & 0xffffu) + b * c) >> 16u);
}
`},
	{"mulhi_i32", `
fn mulhi_i32(x: i32, y: i32) -> i32 {
	let h = bitcast<i32>(mulhi_u32(bitcast<u32>(x), bitcast<u32>(y)));
	return h - select(0i, y, x < 0i) - select(0i, x, y < 0i);
}
`},
	// WGSL is compiled to SPIR-V, in which the remainder of negative numbers is undefined. NVIDIA's driver returns other results.
	{"rem_i32", `
fn rem_i32(x: i32, y: i32) -> i32 {
	return x - y * (x / y);
}
`},
	// Like cosh_f32: an error of 4 units.
	{"sinh_f32", `
fn sinh_f32(x: f32) -> f32 {
	let a = abs(x);
	if (!(a < 20.0f)) {
		let h = exp_f32(0.5f * a);
		let r = 0.5f * h * h;
		return select(r, -r, x < 0.0f);
	}
	let e = expm1_f32(a);
	let s = 0.5f * (e + e / (e + 1.0f));
	return select(s, -s, bitcast<u32>(x) >= 0x80000000u);
}
`},
}...)

var signature = regexp.MustCompile(`fn (\w+)\(([^)]*)\) -> (\w+) \{`)

// metal returns the portable helpers with these names in Metal's language.
func metal(names ...string) []helper {
	var out []helper
	for _, h := range portable {
		for _, n := range names {
			if h.name != n {
				continue
			}
			text := signature.ReplaceAllStringFunc(h.text, func(s string) string {
				m := signature.FindStringSubmatch(s)
				var params []string
				for _, p := range strings.Split(m[2], ", ") {
					name, typ, _ := strings.Cut(p, ": ")
					params = append(params, typ+" "+name)
				}
				return "DEVICE " + m[3] + " " + m[1] + "(" + strings.Join(params, ", ") + ") {"
			})
			text = strings.NewReplacer("let ", "const auto ", "var ", "auto ", "bitcast<", "as_type<", "loop {", "for (;;) {", "countLeadingZeros", "clz").Replace(text)
			out = append(out, helper{n, text})
		}
	}
	return out
}
