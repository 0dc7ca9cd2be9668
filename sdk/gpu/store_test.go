package gpu

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// threeOps runs three kernels on a device that compiles kernels. It returns the statistics of its kernels and the number of compilations.
func threeOps(t *testing.T, folder string) (KernelStats, int64) {
	r := newRig(t, Options{Cache: folder}, func(d *fakeDevice) { d.dialect = dialect.CUDA })
	d := op.DescOf(dtype.F32, 2)
	x := r.floats([]int{2}, 1, 4)
	for _, c := range []op.Code{op.Neg, op.Abs, op.Sqrt} {
		x = r.run(c, ids(x), []op.Desc{d}, 0)[0]
	}
	require.Equal(t, []float32{1, 2}, r.read(x, 2))
	return r.stats().Kernels, r.fake.compiles.Load()
}

func files(t *testing.T, folder string) []string {
	f, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	return f
}

func TestCompiledKernelsAreKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kernels")
	s, compiles := threeOps(t, folder)
	require.EqualValues(t, 3, compiles)
	require.EqualValues(t, 3, s.Compiled)
	require.EqualValues(t, 3, s.Stored)
	require.Len(t, files(t, folder), 3)
	s, compiles = threeOps(t, folder)
	require.Zero(t, compiles)
	require.EqualValues(t, 3, s.Loaded)
	require.Zero(t, s.Compiled)
}

// TestStoreRefusesDamagedFiles damages the files of a store: the kernels are compiled again and the files replaced.
func TestStoreRefusesDamagedFiles(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"short": func(b []byte) []byte { return b[:len(b)-1] },
		"head":  func(b []byte) []byte { return b[:30] },
		"bit":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"foreign": func([]byte) []byte {
			return []byte("something else that is long enough to have a checksum behind it, or so")
		},
		"compiler":   func(b []byte) []byte { return bytes.Replace(b, []byte("fake 1"), []byte("fake 2"), 1) },
		"many names": func(b []byte) []byte { b[len(storeMagic)+4+len("fake 1")+3] = 0x7f; return b },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			threeOps(t, folder)
			for _, f := range files(t, folder) {
				b, err := os.ReadFile(f)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(f, damage(b), 0o600))
			}
			s, compiles := threeOps(t, folder)
			require.EqualValues(t, 3, compiles)
			require.Zero(t, s.Loaded)
			s, compiles = threeOps(t, folder)
			require.Zero(t, compiles)
			require.EqualValues(t, 3, s.Loaded)
		})
	}
}

func TestStoreIsBounded(t *testing.T) {
	folder := t.TempDir()
	s := newStore(folder, "c", 10_000)
	for i := range 20 {
		require.NoError(t, s.put([]digest{{byte(i)}}, make([]byte, 1000)))
	}
	left := filepath.Join(folder, "new-7")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(left, old, old))
	require.NoError(t, s.put([]digest{{19}}, make([]byte, 1000)))
	require.NoFileExists(t, left)
	total := int64(0)
	for _, f := range files(t, folder) {
		info, err := os.Stat(f)
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, int64(10_000))
	require.Empty(t, s.find([]digest{{0}}))
	found := s.find([]digest{{19}, {18}, {77}})
	require.Len(t, found, 2)
	code, err := s.read(found[0].file)
	require.NoError(t, err)
	require.Len(t, code, 1000)
	other := newStore(folder, "d", 10_000)
	require.Empty(t, other.find([]digest{{19}}), "another compiler")
}

func TestStoreFindsSeveralKernelsInAFile(t *testing.T) {
	s := newStore(t.TempDir(), "c", 1<<20)
	require.NoError(t, s.put([]digest{{1}, {2}, {3}}, []byte("code")))
	again := newStore(s.folder, "c", 1<<20)
	got := again.find([]digest{{3}, {9}, {1}}) // reads the folder
	require.Equal(t, []found{{file: again.at[digest{1}].unit.file, kernels: 3, places: []int{2, 0}, wanted: []int{0, 2}}}, got)
}

func FuzzStore(f *testing.F) {
	s := newStore(f.TempDir(), "c", 1<<20)
	if err := s.put([]digest{{1}, {2}}, []byte("code")); err != nil {
		f.Fatal(err)
	}
	for p := range s.units {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-33])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := s.readHead(bytes.NewReader(data))
		if err == nil && len(names) == 0 {
			t.Fatal("no names and no error")
		}
		if code, err := s.code(data); err == nil && len(code) > len(data) {
			t.Fatal("more code than data")
		}
	})
}

// TestCompilerFailure checks that a kernel that does not compile fails with the compiler's error, and that the other kernel of the unit
// compiles.
func TestCompilerFailure(t *testing.T) {
	bad := errors.New("line 7: no")
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) {
		d.dialect = dialect.CUDA
		d.compile = func(text string) ([]byte, error) {
			if bytes.Contains([]byte(text), []byte("bad")) {
				return nil, bad
			}
			return nil, nil
		}
	})
	d.kernels.slots = make(chan struct{}, 1)
	good, wrong := ir.New("good", 32).Kernel(), ir.New("bad", 32).Kernel()
	_, err := d.kernels.get(context.Background(), []*ir.Kernel{good, wrong})
	require.ErrorIs(t, err, bad)
	fns, err := d.kernels.get(context.Background(), []*ir.Kernel{good})
	require.NoError(t, err)
	require.Same(t, good, fns[0].Kernel())
	require.EqualValues(t, 1, d.kernels.statistics().Compiled)
	require.NotErrorIs(t, err, core.ErrBackendLost)
}
