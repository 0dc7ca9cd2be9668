package cpuid

import "golang.org/x/sys/cpu"

func detect() Features {
	a := &cpu.ARM64
	return NEON.add(NEONFP16, a.HasASIMDHP).add(NEONDot, a.HasASIMDDP)
}
