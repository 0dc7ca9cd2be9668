package peak

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

// The loops require turns to be at least 1.

//go:noescape
func f32neon(turns int)

//go:noescape
func f64neon(turns int)

func native(d dtype.DType) (Loop, bool) {
	has := cpuid.Active().Has(cpuid.LevelNEON)
	switch {
	case d == dtype.F32 && has:
		return Loop{"neon", 2 * 24 * 4, f32neon}, true
	case d == dtype.F64 && has:
		return Loop{"neon", 2 * 24 * 2, f64neon}, true
	}
	return Loop{}, false
}
