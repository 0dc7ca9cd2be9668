package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// fence returns a copy of a slice that ends where memory that may
// not be touched begins: assembly that reads or writes past an operand faults.
func fence[T Number](t *testing.T, from []T) []T {
	page := unix.Getpagesize()
	bytes := len(from) * sizeOf[T]()
	size := ceil(bytes, page) * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	require.NoError(t, unix.Mprotect(memory[size:], unix.PROT_NONE))
	if len(from) == 0 {
		return nil
	}
	fenced := unsafe.Slice((*T)(unsafe.Pointer(&memory[size-bytes])), len(from))
	copy(fenced, from)
	return fenced
}

func TestNothingBeyondIsTouched(t *testing.T) {
	t.Run("float32", checkFence[float32])
	t.Run("float64", checkFence[float64])
}

func checkFence[T Number](t *testing.T) {
	defer func() { require.NoError(t, Select("")) }()
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(41, 42))
	for _, kernel := range Names() {
		require.NoError(t, Select(kernel))
		for _, size := range [][3]int{{1, 37, 21}, {37, 1, 21}, {3, 45, 9}, {14, 33, 17}, {15, 31, 40}, {90, 71, 401}, {5, 7, 9}, {60, 300, 90}} {
			m, n, k := size[0], size[1], size[2]
			for _, layout := range layouts[:3] {
				t.Run(fmt.Sprintf("%s %v %s", kernel, size, layout.name), func(t *testing.T) {
					ar, ac, an := layout.make(rng, m, k)
					br, bc, bn := layout.make(rng, k, n)
					g := &Args[T]{M: m, N: n, K: k, LDC: n, C: fence(t, random[T](rng, m*n)), Accumulate: n%2 == 0,
						A: Mat[T]{fence(t, random[T](rng, an)), ar, ac}, B: Mat[T]{fence(t, random[T](rng, bn)), br, bc},
						Epilogue: &Epilogue[T]{BiasRow: fence(t, random[T](rng, m)), BiasCol: fence(t, random[T](rng, n))}}
					want := naive(g, g.A, g.B)
					Mul(pool, g)
					equal(t, want, g.C, k, "fenced")
				})
			}
		}
	}
}
