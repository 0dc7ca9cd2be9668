package torch

import "github.com/ebitengine/purego"

// keepMemory makes C's allocator keep what is freed, and use it again: tensors of a step are as large as those of the step before, and
// memory that the system gives anew costs a fault for each page. All threads share one heap, as freed memory of the heap of one
// thread is of no use to the others. Allocators other than that of glibc stay as they are.
func keepMemory() {
	mallopt, err := purego.Dlsym(purego.RTLD_DEFAULT, "mallopt")
	if err != nil {
		return
	}
	for _, o := range []struct{ name, value int32 }{
		{-8, 1},         // M_ARENA_MAX
		{-4, 0},         // M_MMAP_MAX: no tensor has pages of its own
		{-1, 1<<31 - 1}, // M_TRIM_THRESHOLD, the bytes at the end of the heap that are kept
		{-2, 64 << 20},  // M_TOP_PAD, the bytes that the heap grows by
	} {
		purego.SyscallN(mallopt, uintptr(o.name), uintptr(o.value))
	}
}
