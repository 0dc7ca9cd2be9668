package peak

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// The loops require turns to be at least 1.

//go:noescape
func f32avx512(turns int)

//go:noescape
func f64avx512(turns int)

//go:noescape
func i8avx512(turns int)

//go:noescape
func f32avx2(turns int)

//go:noescape
func f64avx2(turns int)

func native(d dtype.DType) (Loop, bool) {
	f := cpuid.Active()
	wide, narrow := f.Has(cpuid.LevelAVX512), f.Has(cpuid.LevelAVX2)
	switch {
	case d == dtype.F32 && wide:
		return Loop{"avx512", 2 * 24 * 16, f32avx512}, true
	case d == dtype.F64 && wide:
		return Loop{"avx512", 2 * 24 * 8, f64avx512}, true
	case d == dtype.I8 && wide && f.Has(cpuid.AVX512VNNI):
		return Loop{"avx512", 2 * 24 * 64, i8avx512}, true
	case d == dtype.F32 && narrow:
		return Loop{"avx2", 2 * 12 * 8, f32avx2}, true
	case d == dtype.F64 && narrow:
		return Loop{"avx2", 2 * 12 * 4, f64avx2}, true
	}
	return Loop{}, false
}
