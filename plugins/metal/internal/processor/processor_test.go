//go:build linux

package processor

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func open(t *testing.T) calls.Device {
	t.Helper()
	include, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "sdk", "gpu", "dialect", "testdata", "include"))
	require.NoError(t, err)
	api, err := New(Options{Include: include, Folder: t.TempDir()})
	if err != nil && os.Getenv("BURN_METAL_REQUIRED") == "" {
		t.Skipf("needs clang++, run make metal: %v", err)
	}
	require.NoError(t, err)
	all, err := api.Devices()
	require.NoError(t, err)
	return all[0]
}

const header = "#include <metal_stdlib>\nusing namespace metal;\n"

const inputs = `uint3 thread_at [[thread_position_in_threadgroup]], uint3 block_at [[threadgroup_position_in_grid]],
	uint3 blocks [[threadgroups_per_grid]], uint lane_at [[thread_index_in_simdgroup]]`

// run executes a kernel with the given body on one buffer of words, and returns the words.
func run(t *testing.T, d calls.Device, body string, words, groups, threads int) ([]uint32, error) {
	t.Helper()
	l, err := d.NewLibrary(header + "kernel void probe(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], " + inputs + ") {\n" + body + "\n}\n")
	if err != nil {
		return nil, err
	}
	p, err := l.Pipeline("probe")
	require.NoError(t, err)
	b, err := d.NewBuffer(int64(4 * words))
	require.NoError(t, err)
	defer b.Release()
	q, err := d.NewQueue(4)
	require.NoError(t, err)
	defer q.Release()
	e, err := d.NewEvent()
	require.NoError(t, err)
	c, err := q.NewCommands()
	require.NoError(t, err)
	c.SetPipeline(p)
	c.SetBuffer(0, b, 0)
	c.SetBytes(1, dtype.Bytes([]uint32{uint32(threads)}))
	c.Dispatch([3]int{groups, 1, 1}, threads)
	c.Commit(e, 1)
	require.Eventually(t, func() bool { done, _ := c.Done(); return done }, 30*time.Second, time.Millisecond)
	if _, err := c.Done(); err != nil {
		require.False(t, e.Wait(1, time.Millisecond), "a fault signals no event")
		return nil, err
	}
	require.True(t, e.Wait(1, time.Second))
	return append([]uint32(nil), dtype.Slice[uint32](b.Contents())...), nil
}

// TestThreads checks the barriers and arrays of threadgroups, and the exchanges and votes of simdgroups.
func TestThreads(t *testing.T) {
	d := open(t)
	const threads, groups = 96, 3
	for name, x := range map[string]struct {
		body string
		want func(group, thread int) uint32
	}{
		"position": {"out[block_at.x * n + thread_at.x] = blocks.x * 1000000u + block_at.x * 1000u + thread_at.x;",
			func(g, i int) uint32 { return uint32(groups*1000000 + g*1000 + i) }},
		"backwards": {"threadgroup alignas(16) uint s[96];\ns[thread_at.x] = block_at.x * 1000u + thread_at.x;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[block_at.x * n + thread_at.x] = s[n - 1u - thread_at.x];",
			func(g, i int) uint32 { return uint32(g*1000 + threads - 1 - i) }},
		"loop of barriers": {"threadgroup alignas(16) uint s[96];\ns[thread_at.x] = thread_at.x;\nfor (uint k = 0; k < 5u; k++) {\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nconst uint v = s[(thread_at.x + 1u) % n];\nthreadgroup_barrier(mem_flags::mem_threadgroup);\ns[thread_at.x] = v;\n}\nout[block_at.x * n + thread_at.x] = s[thread_at.x];",
			func(_, i int) uint32 { return uint32((i + 5) % threads) }},
		"xor":  {"out[block_at.x * n + thread_at.x] = simd_shuffle_xor(thread_at.x, ushort(5));", func(_, i int) uint32 { return uint32(i ^ 5) }},
		"up":   {"const uint v = simd_shuffle_up(thread_at.x, ushort(3));\nout[block_at.x * n + thread_at.x] = lane_at < 3u ? 7u : v;", func(_, i int) uint32 { return map[bool]uint32{true: 7, false: uint32(i) - 3}[i%32 < 3] }},
		"from": {"out[block_at.x * n + thread_at.x] = simd_shuffle(thread_at.x * 3u, ushort((lane_at + 1u) % 32u));", func(_, i int) uint32 { return uint32(3 * (i/32*32 + (i+1)%32)) }},
		"sum":  {"uint v = thread_at.x;\nfor (ushort k = 16; k > 0; k /= 2) v += simd_shuffle_xor(v, k);\nout[block_at.x * n + thread_at.x] = v;", func(_, i int) uint32 { return uint32(32*(i/32*32) + 31*32/2) }},
		"votes": {"out[block_at.x * n + thread_at.x] = uint(ulong(simd_ballot(thread_at.x % 3u == 0u)));", func(_, i int) uint32 {
			v := uint32(0)
			for k := range 32 {
				if (i/32*32+k)%3 == 0 {
					v |= 1 << k
				}
			}
			return v
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the order of threads changes
				got, err := run(t, d, x.body, groups*threads, groups, threads)
				require.NoError(t, err)
				for i, v := range got {
					require.Equal(t, x.want(i/threads, i%threads), v, "thread %d of threadgroup %d", i%threads, i/threads)
				}
			}
		})
	}
}

// TestSimdgroupMatrices compares products of simdgroup matrices with sums. Each simdgroup has its own matrices, and threads hold elements in the
// order of ir.Quarters.
func TestSimdgroupMatrices(t *testing.T) {
	d := open(t)
	const threads = 64
	got, err := run(t, d, `threadgroup alignas(16) float s[2][3][80];
	const uint group = thread_at.x / 32u;
	for (uint i = lane_at; i < 80u; i += 32u) s[group][0][i] = float((i * 7u + group * 11u) % 13u) - 6.0f, s[group][1][i] = float((i * 5u + group) % 11u) - 5.0f;
	simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.25f);
	simdgroup_barrier(mem_flags::mem_threadgroup);
	simdgroup_load(a, s[group][0], 10);
	simdgroup_load(b, s[group][1] + 1, 9);
	simdgroup_multiply_accumulate(c, a, b, c);
	simdgroup_multiply_accumulate(c, b, a, c);
	c.thread_elements()[1] += 1000.0f;
	simdgroup_store(c, s[group][2], 10);
	simdgroup_barrier(mem_flags::mem_threadgroup);
	for (uint i = lane_at; i < 64u; i += 32u) out[group * 128u + i] = as_type<uint>(s[group][2][i / 8u * 10u + i % 8u]);
	out[group * 128u + 64u + 2u * lane_at] = as_type<uint>(c.thread_elements()[0]);
	out[group * 128u + 64u + 2u * lane_at + 1u] = as_type<uint>(c.thread_elements()[1]);`, 256, 1, threads)
	require.NoError(t, err)
	order := ir.MMA{M: 16, N: 8, K: 16, Order: ir.Quarters}
	for group := range 2 {
		a := func(row, column int) float32 { return float32(((row*10+column)*7+group*11)%13) - 6 }
		b := func(row, column int) float32 { return float32(((row*9+column+1)*5+group)%11) - 5 }
		var want [8][8]float32
		for row := range 8 {
			for column := range 8 {
				want[row][column] = 0.25
				for k := range 8 {
					want[row][column] += a(row, k)*b(k, column) + b(row, k)*a(k, column)
				}
			}
		}
		for lane := range 32 {
			row, column := order.Accumulator(32, lane, 1)
			want[row][column] += 1000
		}
		for i := range 64 {
			require.Equal(t, want[i/8][i%8], math.Float32frombits(got[group*128+i]), "simdgroup %d, element %d", group, i)
			row, column := order.Accumulator(32, i/2, i%2)
			require.Equal(t, want[row][column], math.Float32frombits(got[group*128+64+i]), "simdgroup %d, thread %d", group, i/2)
		}
	}
	_, err = run(t, d, "simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(1.0f), c = a;\nif (lane_at < 9u) simdgroup_multiply_accumulate(c, a, a, c);\nout[0] = as_type<uint>(c.thread_elements()[0]);", 64, 1, 64)
	require.ErrorIs(t, err, core.ErrKernel, "a part of a simdgroup")
}

// TestFaults checks that the error is core.ErrKernel if threads wait for other threads that never arrive, or if a text does not compile.
func TestFaults(t *testing.T) {
	d := open(t)
	for name, body := range map[string]string{
		"barrier in a branch":  "if (thread_at.x < 32u) threadgroup_barrier(mem_flags::mem_threadgroup);\nout[0] = 1u;",
		"exchange in a branch": "if (thread_at.x % 2u == 0u) out[0] = simd_shuffle_xor(thread_at.x, ushort(2));",
		"end before a barrier": "if (thread_at.x == 3u) return;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[0] = 1u;",
		"not a text":           "out[0] = nothing;",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, d, body, 64, 1, 64)
			require.ErrorIs(t, err, core.ErrKernel)
		})
	}
	_, err := d.NewLibrary(header + "kernel void probe(device uint* out) {\n}\n")
	require.ErrorContains(t, err, "no attribute")
	_, err = d.NewBuffer(1 << 50)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
}
