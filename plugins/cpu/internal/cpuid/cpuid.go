// Package cpuid reports the vector instructions that kernels may use: the instructions that the processor and the operating system support,
// except instructions that the environment variable BURN_CPU disables. With BURN_CPU, every level can be tested on one machine. All
// packages with assembly ask this package; none may detect instructions itself.
package cpuid

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strings"
)

// Features is a set of instruction sets.
type Features uint32

// The instruction sets that kernels ask for.
const (
	AVX2       Features = 1 << iota // AVX2, with AVX registers that the system saves
	FMA                             // three-operand fused multiply-add
	F16C                            // half precision conversions
	AVX512F                         // foundation
	AVX512BW                        // bytes and words
	AVX512DQ                        // double and quad words
	AVX512VL                        // the same on shorter vectors
	AVX512VNNI                      // byte dot products
	AVX512BF16                      // bfloat16 dot products
	NEON                            // arm64 vectors
	NEONFP16                        // arm64 half precision arithmetic
	NEONDot                         // arm64 byte dot products
)

// The levels that kernels are written for.
const (
	LevelAVX2   = AVX2 | FMA
	LevelAVX512 = LevelAVX2 | AVX512F | AVX512BW | AVX512DQ | AVX512VL
	LevelNEON   = NEON
)

var names = [...]string{"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl",
	"avx512vnni", "avx512bf16", "neon", "neonfp16", "neondot"}

// Has reports whether all of want are in f.
func (f Features) Has(want Features) bool { return f&want == want }

// String lists the set, separated by spaces.
func (f Features) String() string {
	var list []string
	for ; f != 0; f &= f - 1 {
		list = append(list, names[bits.TrailingZeros32(uint32(f))])
	}
	return strings.Join(list, " ")
}

// Level names the highest level that f allows: avx512, avx2, neon or portable.
func (f Features) Level() string {
	switch {
	case f.Has(LevelAVX512):
		return "avx512"
	case f.Has(LevelAVX2):
		return "avx2"
	case f.Has(LevelNEON):
		return "neon"
	}
	return "portable"
}

// Env is the environment variable that restricts Active. Its value is a level (portable, avx2, avx512, neon), which switches off all
// higher levels, or a comma-separated list of features to switch off. Features that the machine lacks cannot be switched on.
const Env = "BURN_CPU"

var (
	detected       = detect()
	active, envErr = Restrict(detected, os.Getenv(Env))
)

// Detected returns the features that the processor and the operating system support.
func Detected() Features { return detected }

// Active returns the features that kernels may use. It is constant after the program has started.
func Active() Features { return active }

// Err returns an error if the environment variable is invalid, in which case it
// disables nothing.
func Err() error { return envErr }

// String describes the machine as `burn devices` prints it: architecture,
// level in use, instruction sets in use.
func String() string {
	s := runtime.GOARCH + " " + active.Level()
	if active != 0 {
		s += " (" + active.String() + ")"
	}
	return s
}

// Restrict returns f as restricted by a setting of Env. If the setting is invalid it returns an error, and f unchanged.
func Restrict(f Features, setting string) (Features, error) {
	setting = strings.ToLower(strings.TrimSpace(setting))
	off := Features(0)
	switch setting {
	case "", "avx512", "neon":
	case "avx2":
		off = LevelAVX512&^LevelAVX2 | AVX512VNNI | AVX512BF16
	case "portable":
		off = ^Features(0)
	default:
		for _, field := range strings.Split(setting, ",") {
			one := named(strings.TrimSpace(field))
			if one == 0 {
				return f, fmt.Errorf("cpuid: %s, got %q, want portable, avx2, avx512, neon or a list of %s to switch off",
					Env, field, strings.Join(names[:], ", "))
			}
			off |= one
		}
	}
	return f &^ off, nil
}

func named(name string) Features {
	for i, n := range names {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// add returns f with one more feature if the machine has it.
func (f Features) add(one Features, has bool) Features {
	if has {
		return f | one
	}
	return f
}
