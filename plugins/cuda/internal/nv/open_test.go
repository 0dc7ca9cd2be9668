package nv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// TestOpenNothing checks that, without the libraries, the report says of each why it is missing, what is lost and how to get it.
func TestOpenNothing(t *testing.T) {
	l := Open(Search{Only: t.TempDir()})
	require.Equal(t, Libraries{Report: l.Report}, *l)
	require.Len(t, l.Report, 5)
	for i, key := range []string{"driver", "nvrtc", "cublaslt", "cudnn", "nccl"} {
		row := l.Report[i]
		require.Equal(t, key, row.Key)
		require.ErrorIs(t, row.Err, ErrMissing)
		require.NotEmpty(t, row.Lost)
		require.NotEmpty(t, row.Install)
		require.Empty(t, row.Path)
		require.Empty(t, row.Version)
		require.Same(t, &l.Report[i], l.Report.Row(key))
	}
	require.Nil(t, l.Report.Row("cufft"))
	text := l.Report.String()
	require.Contains(t, text, "CUDA driver: library is missing: no libcuda.so.1\n  without it: there is no cuda device\n  to get it: NVIDIA's driver")
	require.Contains(t, text, "NVRTC: library is missing: no libnvrtc.so.13 or libnvrtc.so.12\n")
	require.Equal(t, 15, strings.Count(text, "\n"))
}

func TestOpenHidden(t *testing.T) {
	s := build(t, t.TempDir(), "libnccl.so.2", "nccl.c", ncclProcs{})
	t.Setenv("BURN_CUDA_HIDE", " NCCL, cudnn,")
	search := DefaultSearch()
	require.Equal(t, []string{"nccl", "cudnn"}, search.Hide)
	search.Only = s.folder
	l := Open(search)
	require.Nil(t, l.NCCL)
	require.EqualError(t, l.Report.Row("nccl").Err, "library is missing: hidden by BURN_CUDA_HIDE")
	search.Hide = nil
	require.NotNil(t, Open(search).NCCL)
}

// TestOpenRefused checks that Open refuses, with the reason, a file that is no library, lacks a function or is for a later CUDA than the
// driver, and tries the next file.
func TestOpenRefused(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	first, second := filepath.Join(home, "lib64"), filepath.Join(other, "lib64")
	require.NoError(t, errors.Join(os.Mkdir(first, 0o755), os.Mkdir(second, 0o755)))
	require.NoError(t, os.WriteFile(filepath.Join(first, "libcudnn.so.9"), []byte("no library"), 0o600))
	build(t, second, "libcudnn.so.9", "cudnn.c", dnnProcs{})
	build(t, first, "libnccl.so.2", "nccl.c", ncclProcs{}, "ncclBroadcast")
	env := map[string]string{"CUDA_PATH": home, "CUDA_HOME": other}
	l := Open(Search{Env: func(name string) string { return env[name] }, Root: t.TempDir(), Hide: []string{"driver"}})
	require.NotNil(t, l.DNN, "%s", l.Report)
	row := l.Report.Row("cudnn")
	require.Equal(t, filepath.Join(second, "libcudnn.so.9"), row.Path)
	require.Len(t, row.Refused, 1)
	require.Contains(t, row.Refused[0], filepath.Join(first, "libcudnn.so.9")+": ")
	row = l.Report.Row("nccl")
	require.Nil(t, l.NCCL)
	require.ErrorIs(t, row.Err, ErrMissing)
	require.Contains(t, l.Report.String(), "libnccl.so.2: it does not export ncclBroadcast\n")

	lt := build(t, t.TempDir(), "libcublasLt.so.12", "lt.c", ltProcs{})
	build(t, lt.folder, "libcuda.so.1", "cuda.c", driverProcs{})
	lt.set(2, 14000)
	l = Open(Search{Only: lt.folder})
	require.NotNil(t, l.Driver)
	require.Nil(t, l.Lt)
	require.Contains(t, l.Report.String(), "it is for CUDA 14, the driver supports CUDA 13.0 at most")
}

// TestOptionalFunction checks that only the call of a missing optional function fails, not Open.
func TestOptionalFunction(t *testing.T) {
	s := build(t, t.TempDir(), "libcuda.so.1", "cuda.c", driverProcs{}, "cuLaunchKernelEx", "cuMemAllocFromPoolAsync")
	l := Open(Search{Only: s.folder})
	require.NotNil(t, l.Driver, "%s", l.Report)
	err := l.Driver.LaunchEx(0, 0, Dim{X: 1, Y: 1, Z: 1}, Dim{X: 1, Y: 1, Z: 1}, 0, NewArgs(0), LaunchOptions{})
	require.ErrorIs(t, err, ErrMissing)
	require.EqualError(t, err, "CUDA driver: cuLaunchKernelEx: library is missing: this version does not have the function")
	_, err = l.Driver.AllocAsync(1, 2, 3)
	require.ErrorIs(t, err, ErrMissing)
}

// TestDriverWithoutDevice checks that Open returns no Driver if there is no device, and reports the version of the driver.
func TestDriverWithoutDevice(t *testing.T) {
	s := build(t, t.TempDir(), "libcuda.so.1", "cuda.c", driverProcs{})
	s.set(1, 1)
	l := Open(Search{Only: s.folder})
	require.Nil(t, l.Driver)
	row := l.Report.Row("driver")
	require.ErrorIs(t, row.Err, ErrNoDevice)
	require.Equal(t, "13.0", row.Version)
	s.set(0, 100)
	l = Open(Search{Only: s.folder})
	require.Nil(t, l.Driver)
	require.ErrorIs(t, l.Report.Row("driver").Err, ErrNoDevice)
}

func TestCandidates(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	touch := func(path ...string) string {
		file := filepath.Join(path...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		return file
	}
	names := []string{"libnvrtc.so.13", "libnvrtc.so.12"}
	path12 := touch(home, "cuda", "lib64", names[1])
	local := touch(root, "usr/local/cuda/lib64", names[1])
	local129 := touch(root, "usr/local/cuda-12.9/lib64", names[1])
	local1210 := touch(root, "usr/local/cuda-12.10/lib64", names[1])
	venv := touch(home, "venv/lib/python3.12/site-packages/nvidia/cu13/lib", names[0])
	old := touch(home, "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib", names[1])
	user := touch(home, ".local/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib", names[1])
	debian := touch(root, "usr/lib/python3/dist-packages/nvidia/cu13/lib", names[0])
	onPath := touch(home, "opt/lib/python3.13/site-packages/nvidia/cu13/lib", names[0])
	touch(home, "opt/bin/python3.13")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "links"), 0o755))
	require.NoError(t, os.Symlink("../opt/bin/python3.13", filepath.Join(home, "links", "python3")))
	data := touch(home, "data", names[0])
	env := map[string]string{"CUDA_PATH": filepath.Join(home, "cuda"), "HOME": home, "VIRTUAL_ENV": filepath.Join(home, "venv"), "PATH": "relative:" + filepath.Join(home, "links")}
	s := Search{Places: places, Env: func(name string) string { return env[name] }, Root: root, Data: filepath.Dir(data)}
	require.Equal(t, []string{path12, names[0], names[1], local, local1210, local129, venv, old, user, debian, onPath, data}, s.Candidates(&vendor.Library{Sonames: names}))
	require.Equal(t, names, s.Candidates(&vendor.Library{Sonames: names, System: true}), "the driver is where the system has it")
	s.Only = filepath.Join(home, "data")
	require.Equal(t, []string{data}, s.Candidates(&vendor.Library{Sonames: names}))
}

// TestCandidatesByVersion checks that the library that the user named comes first, and then the newest, unless LD_LIBRARY_PATH configures the
// loader for another.
func TestCandidatesByVersion(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	file := func(path ...string) string {
		f := filepath.Join(path...)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, nil, 0o600))
		return f
	}
	const name = "libcudnn.so.9"
	link := func(folder, to string) string {
		file(folder, to)
		at := filepath.Join(folder, name)
		require.NoError(t, os.Symlink(to, at))
		return at
	}
	k := &vendor.Library{Sonames: []string{name}, Wheel: "nvidia_cudnn_cu"}
	venv, old := filepath.Join(home, "venv/lib/python3.12/site-packages"), filepath.Join(root, "usr/lib/python3/dist-packages")
	chosen := link(filepath.Join(home, "cuda/lib64"), "libcudnn.so.9.1.0")
	wheel := file(venv, "nvidia/cudnn/lib", name)
	file(venv, "nvidia_cudnn_cu13-9.19.0.56.dist-info", "METADATA")
	file(venv, "nvidia_cudnn_frontend-1.23.0.dist-info", "METADATA")
	older := file(old, "nvidia/cudnn/lib", name)
	file(old, "nvidia_cudnn_cu12-9.9.0.52.dist-info", "METADATA")
	toolkit := file(root, "usr/local/cuda/lib64", name)
	env := map[string]string{"CUDA_PATH": filepath.Join(home, "cuda"), "VIRTUAL_ENV": filepath.Join(home, "venv")}
	s := Search{Places: places, Env: func(name string) string { return env[name] }, Root: root}
	require.Equal(t, []string{chosen, name, wheel, older, toolkit}, s.Candidates(k), "nobody knows what the loader finds")
	system := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	link(system, "libcudnn.so.9.14.0")
	require.Equal(t, []string{chosen, wheel, name, older, toolkit}, s.Candidates(k))
	require.NoError(t, os.RemoveAll(system))
	link(system, "libcudnn.so.9.20.0")
	require.Equal(t, []string{chosen, name, wheel, older, toolkit}, s.Candidates(k))
	require.NoError(t, os.RemoveAll(system))
	link(system, "libcudnn.so.9.14.0")
	own := filepath.Join(home, "own")
	link(own, "libcudnn.so.9.2.0")
	env["LD_LIBRARY_PATH"] = own
	require.Equal(t, []string{chosen, name, wheel, older, toolkit}, s.Candidates(k), "the loader would take parts of its own version")
	k.Wheel = ""
	delete(env, "LD_LIBRARY_PATH")
	require.Equal(t, []string{chosen, name, toolkit, wheel, older}, s.Candidates(k))
}
