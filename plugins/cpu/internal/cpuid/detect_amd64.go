package cpuid

import "golang.org/x/sys/cpu"

// detect asks the processor; the AVX flags are set only where the operating
// system saves the registers.
func detect() Features {
	x := &cpu.X86
	return Features(0).add(AVX2, x.HasAVX2).add(FMA, x.HasFMA).add(F16C, x.HasAVX && x.HasF16C).
		add(AVX512F, x.HasAVX512F).add(AVX512BW, x.HasAVX512BW).
		add(AVX512DQ, x.HasAVX512DQ).add(AVX512VL, x.HasAVX512VL).
		add(AVX512VNNI, x.HasAVX512VNNI).add(AVX512BF16, x.HasAVX512BF16)
}
