package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
)

func TestPlans(t *testing.T) {
	cache := t.TempDir()
	p, other := newPlans(cache, "cuDNN 1"), newPlans(cache, "cuDNN 2")
	require.Nil(t, p.get("a"))
	p.put("a", []byte("plan of a"))
	p.put("b", []byte{})
	require.Equal(t, "plan of a", string(p.get("a")))
	require.Equal(t, []byte{}, p.get("b"))
	require.Nil(t, p.get("c"))
	require.Nil(t, other.get("a"))
	p.drop("b")
	require.Nil(t, p.get("b"))

	_, file := p.name("a")
	sound, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range sound { // damage to each byte, and each truncation
		damaged := append([]byte{}, sound...)
		damaged[i] ^= 4
		require.NoError(t, os.WriteFile(file, damaged, 0o600))
		require.Nil(t, p.get("a"), i)
		require.NoError(t, os.WriteFile(file, sound[:i], 0o600))
		require.Nil(t, p.get("a"), i)
	}
	_, foreign := other.name("a")
	require.NoError(t, os.WriteFile(foreign, sound, 0o600))
	require.Nil(t, other.get("a"), "the plan of another library")

	var none *plans
	none.put("a", nil)
	none.drop("a")
	require.Nil(t, none.get("a"))
	require.Nil(t, newPlans("", "cuDNN 1"))
}

func TestPlansAreTrimmed(t *testing.T) {
	p := newPlans(t.TempDir(), "")
	old := time.Now().Add(-2 * time.Hour)
	for i := range maxPlans {
		key := fmt.Sprint(i)
		p.put(key, nil)
		_, file := p.name(key)
		require.NoError(t, os.Chtimes(file, old, old.Add(time.Duration(i)*time.Second)))
	}
	left := filepath.Join(p.folder, "new-1")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	require.NoError(t, os.Chtimes(left, old, old))
	require.NotNil(t, p.get("0")) // used: 1 is the oldest now
	p.put("last", nil)
	require.NoFileExists(t, left)
	require.Nil(t, p.get("1"))
	for _, key := range []string{"0", "2", "last"} {
		require.NotNil(t, p.get(key), key)
	}
}

// TestPlansOfAttention checks that a plan is built once and then loaded from the cache, and is built again if the library refuses it.
func TestPlansOfAttention(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build libraries with")
	}
	folder, cache := t.TempDir(), t.TempDir()
	text, err := os.ReadFile("internal/nv/testdata/cudnn.c")
	require.NoError(t, err)
	source := filepath.Join(t.TempDir(), "cudnn.c")
	require.NoError(t, os.WriteFile(source, append(text, "\nint cudnnDestroy(void) { return 0; }\n"...), 0o600))
	for name, from := range map[string]string{"libcuda.so.1": "testdata/cuda.c", "libcudnn.so.9": source} {
		out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-I", "internal/nv/testdata", "-o", filepath.Join(folder, name), from).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	handle, err := purego.Dlopen(filepath.Join(folder, "libcudnn.so.9"), purego.RTLD_NOW)
	require.NoError(t, err)
	var record func() string
	var set func(which, value int64)
	var wipe func()
	purego.RegisterLibFunc(&record, handle, "stub_record")
	purego.RegisterLibFunc(&wipe, handle, "stub_clear")
	purego.RegisterLibFunc(&set, handle, "stub_set")

	libs := nv.Open(nv.Search{Only: folder})
	require.NotNil(t, libs.DNN, "%s", libs.Report)
	a := gpu.Attention{Type: dtype.BF16, Batch: 1, Heads: 2, KeyHeads: 2, Queries: 4, Keys: 4, Width: 8, ValueWidth: 8, Scale: 1, Causal: true,
		QStrides: [4]int{64, 32, 8, 1}, KStrides: [4]int{64, 32, 8, 1}, VStrides: [4]int{64, 32, 8, 1}, OutStrides: [4]int{64, 32, 8, 1}}
	run := func() (engine int64, asked bool) {
		d, err := newDriver(libs, cache)
		require.NoError(t, err)
		x, err := d.open(0)
		require.NoError(t, err)
		defer x.Close()
		by := x.libraries[0].(*dnn)
		by.plans.slow = 0
		wipe()
		found, err := by.Attention(a)
		require.NoError(t, err)
		require.Len(t, found, 1)
		defer found[0].Close()
		return found[0].(*planned).plan.Engine, strings.Contains(record(), "4.201 ") // a query of the heuristics
	}
	check := func(wantEngine int64, wantAsked bool) {
		t.Helper()
		engine, asked := run()
		require.Equal(t, wantEngine, engine)
		require.Equal(t, wantAsked, asked)
	}
	check(100, true)
	check(100, false)
	a.Causal = false
	check(100, true)
	a.Causal = true
	set(0, 1) // engine 0 no longer works
	check(101, true)
	check(101, false)
}
