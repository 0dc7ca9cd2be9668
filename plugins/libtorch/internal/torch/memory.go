package torch

import "github.com/ebitengine/purego"

// keepMemory configures C's allocator to keep and reuse freed memory: tensors of successive steps have equal sizes, and new memory from the
// system costs a page fault per page. All threads share one heap, because a thread cannot reuse memory that was freed in the heap of
// another. Only the allocator of glibc is configured.
func keepMemory() {
	mallopt, err := purego.Dlsym(purego.RTLD_DEFAULT, "mallopt")
	if err != nil {
		return
	}
	for _, o := range []struct{ name, value int32 }{
		{-8, 1},         // M_ARENA_MAX
		{-4, 0},         // M_MMAP_MAX: no tensor is mapped separately
		{-1, 1<<31 - 1}, // M_TRIM_THRESHOLD: bytes at the end of the heap that are not returned to the system
		{-2, 64 << 20},  // M_TOP_PAD: bytes by which the heap grows
	} {
		purego.SyscallN(mallopt, uintptr(o.name), uintptr(o.value))
	}
}
