package torch

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

var library = sync.OnceValues(func() (*Library, error) {
	p, err := DefaultSearch().Find()
	if err != nil {
		return nil, err
	}
	return Load(p.Folder, Options{Threads: 1, CPU: true})
})

// thread returns a Thread of the test's goroutine.
func thread(t *testing.T) *Thread {
	t.Helper()
	l, err := library()
	if err != nil {
		t.Skip("torch is not on this machine: ", err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return l.Thread()
}

func vector(t *testing.T, th *Thread, v ...float32) Handle {
	h, err := th.Over(unsafe.Pointer(&v[0]), []int{len(v)}, Float32)
	require.NoError(t, err)
	own, err := th.Converted(h, []int{len(v)}, Float32, Device{})
	require.NoError(t, err)
	th.Delete(h)
	t.Cleanup(func() { th.Delete(own) })
	return own
}

func elements(t *testing.T, th *Thread, h Handle, n int) []float32 {
	p, err := th.Data(h)
	require.NoError(t, err)
	return append([]float32(nil), unsafe.Slice((*float32)(p), n)...)
}

// TestNoTF32 checks that Load sets NVIDIA_TF32_OVERRIDE=0, so that f32 keeps its precision on NVIDIA's devices.
func TestNoTF32(t *testing.T) {
	thread(t)
	getenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "getenv")
	require.NoError(t, err)
	p, _, _ := purego.SyscallN(getenv, uintptr(unsafe.Pointer(cString("NVIDIA_TF32_OVERRIDE"))))
	require.NotZero(t, p)
	require.EqualValues(t, '0', **(**byte)(unsafe.Pointer(&p)))
}

func TestCall(t *testing.T) {
	th := thread(t)
	a, b := vector(t, th, 1, 2, 3), vector(t, th, 4, 5, 6)
	var y Handle
	th.Begin(NewOperator("aten::mul.Tensor"))
	th.Tensor(a)
	th.Tensor(b)
	require.NoError(t, th.Call(&y))
	require.Equal(t, []float32{4, 10, 18}, elements(t, th, y, 3))
	th.Delete(y)

	y, err := th.AddScaled(th.lib.Symbol("aoti_torch_cpu_add_Tensor"), a, b, -2)
	require.NoError(t, err)
	require.Equal(t, []float32{-7, -8, -9}, elements(t, th, y, 3))
	th.Delete(y)

	v, err := th.View(a, []int{2, 2}, []int{1, 1}, 0)
	require.NoError(t, err)
	s, d, err := th.Sizes(v)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, s)
	require.Equal(t, Float32, d)
	strides := make([]int, 2)
	require.NoError(t, th.Strides(v, strides))
	require.Equal(t, []int{1, 1}, strides)
	th.Delete(v)
}

// TestArguments passes arguments of all kinds, and more of them than one batch of calls contains.
func TestArguments(t *testing.T) {
	th := thread(t)
	if !th.lib.Lists() {
		t.Skip("lists in calls of operators are not on this machine: torch is older than 2.10")
	}
	a := vector(t, th, 1, 2, 3)
	var y Handle
	th.Begin(NewOperator("aten::sum.dim_IntList"))
	th.Tensor(a)
	th.SomeInts(0)
	th.Bool(true)
	th.SomeInt(int(Float64))
	require.NoError(t, th.Call(&y))
	p, err := th.Data(y)
	require.NoError(t, err)
	require.Equal(t, 6.0, *(*float64)(p))
	th.Delete(y)

	th.Begin(NewOperator("aten::div.Tensor_mode"))
	th.Tensor(a)
	th.Tensor(vector(t, th, 2, 2, 2))
	th.SomeText("floor")
	require.NoError(t, th.Call(&y))
	require.Equal(t, []float32{0, 1, 1}, elements(t, th, y, 3))
	th.Delete(y)

	axes := make([]int, 2*maxFrames)
	for i := range axes {
		axes[i] = 1
	}
	th.Begin(NewOperator("aten::reshape"))
	th.Tensor(a)
	th.Ints(append(axes[:40], 3)...)
	require.NoError(t, th.Call(&y))
	s, _, err := th.Sizes(y)
	require.NoError(t, err)
	require.Len(t, s, 41)
	th.Delete(y)

	th.Begin(NewOperator("aten::cat"))
	parts := make([]Handle, 2*maxFrames)
	for i := range parts {
		parts[i] = a
	}
	th.Tensors(parts...)
	th.Int(0)
	require.NoError(t, th.Call(&y))
	s, _, err = th.Sizes(y)
	require.NoError(t, err)
	require.Equal(t, []int{3 * len(parts)}, s)
	th.Delete(y)
}

// TestFailure checks that a call that fails returns torch's message, and that the next call works.
func TestFailure(t *testing.T) {
	th := thread(t)
	a := vector(t, th, 1, 2, 3)
	var y Handle
	for range 200 {
		th.Begin(NewOperator("aten::mm"))
		th.Tensor(a)
		th.Tensor(a)
		require.ErrorContains(t, th.Call(&y), "must be a matrix")
	}
	th.Begin(NewOperator("aten::no_such_operator"))
	th.Tensor(a)
	require.ErrorContains(t, th.Call(&y), "aten::no_such_operator")
	_, err := th.Empty([]int{1 << 45}, Float32, Device{})
	require.ErrorIs(t, err, ErrOutOfMemory)
	require.Equal(t, []float32{1, 2, 3}, elements(t, th, a, 3))
}

func TestHidden(t *testing.T) {
	l, err := library()
	if err != nil {
		t.Skip("torch is not on this machine: ", err)
	}
	without, err := Load(l.Folder, Options{CPU: true, Hide: []string{"torch_from_blob", "torch_new_list_reserve_size"}})
	require.NoError(t, err)
	require.False(t, without.Adopts())
	require.False(t, without.Lists())
	_, err = Load(l.Folder, Options{CPU: true, Hide: []string{"aoti_torch_empty_strided"}})
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "does not export aoti_torch_empty_strided: torch 2.9 or later is needed")
}

func TestPlaces(t *testing.T) {
	root := t.TempDir()
	put := func(parts ...string) string {
		folder := filepath.Join(append([]string{root}, parts...)...)
		require.NoError(t, os.MkdirAll(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "libtorch_cpu.so"), nil, 0o600))
		return folder
	}
	venv := put("venv", "lib", "python3.12", "site-packages", "torch", "lib")
	older := put("venv", "lib", "python3.9", "site-packages", "torch", "lib")
	user := put("home", ".local", "lib", "python3.11", "site-packages", "torch", "lib")
	conda := put("conda", "lib")
	system := put("usr", "lib", "python3.11", "dist-packages", "torch", "lib")
	plain := put("plain", "lib")
	for name, c := range map[string]struct {
		env  map[string]string
		want []Place
	}{
		"nothing set":   {nil, []Place{{system, "system"}}},
		"environment":   {map[string]string{"VIRTUAL_ENV": filepath.Join(root, "venv")}, []Place{{venv, "VIRTUAL_ENV"}, {older, "VIRTUAL_ENV"}, {system, "system"}}},
		"conda, user":   {map[string]string{"CONDA_PREFIX": filepath.Join(root, "conda"), "HOME": filepath.Join(root, "home")}, []Place{{conda, "CONDA_PREFIX"}, {user, "user"}, {system, "system"}}},
		"named":         {map[string]string{"LIBTORCH": filepath.Join(root, "plain"), "VIRTUAL_ENV": filepath.Join(root, "venv")}, []Place{{plain, "LIBTORCH"}}},
		"named in full": {map[string]string{"LIBTORCH": plain}, []Place{{plain, "LIBTORCH"}}},
		"named package": {map[string]string{"LIBTORCH": filepath.Dir(venv)}, []Place{{venv, "LIBTORCH"}}},
		"named prefix":  {map[string]string{"LIBTORCH": filepath.Join(root, "venv")}, []Place{{venv, "LIBTORCH"}, {older, "LIBTORCH"}}},
	} {
		s := Search{Env: func(n string) string { return c.env[n] }, Root: root}
		found, _ := s.Places()
		require.Equal(t, c.want, found, name)
	}
	_, err := Search{Env: func(n string) string { return map[string]string{"LIBTORCH": root}[n] }}.Find()
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "LIBTORCH is "+root)
	_, err = Search{Env: func(string) string { return "" }, Root: filepath.Join(root, "none")}.Find()
	require.ErrorContains(t, err, "pip install torch")
}

func TestTidy(t *testing.T) {
	for text, want := range map[string]string{
		"mm: self must be a matrix\nException raised from f at g.cpp:1":  "mm: self must be a matrix",
		"E1123 shim.cpp:9] Exception in aoti_torch: no such thing\nmore": "no such thing",
		"": "",
	} {
		require.Equal(t, want, tidy(text))
	}
}
