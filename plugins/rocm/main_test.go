package rocm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// TestMain makes the test binary the program of the child processes too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Flag {
		if err := vendor.KeepStdout(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(amd.Children.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	status := m.Run()
	for _, root := range built.roots {
		_ = os.RemoveAll(root)
	}
	os.Exit(status)
}

// built holds folders of libraries that replace ROCm's, by their names.
var built struct {
	sync.Mutex
	roots map[string]string
}

// The libraries that replace ROCm's, with the file of testdata/shim that each is built from.
var (
	required = map[string]string{"libamdhip64.so.6": "host.c", "libhiprtc.so.6": "rtc.c"}
	optional = map[string]string{"libhipblaslt.so.0": "hipblaslt.c", "librocblas.so.4": "rocblas.c", "libMIOpen.so.1": "miopen.c"}
)

// shim builds the libraries that the backend needs, and sets the environment variables that they and the search for them read.
func shim(t *testing.T, environment ...string) (root string) {
	return shims(t, "required", nil, environment...)
}

// shims is like shim, and builds the libraries of more too. Compiler options may follow the name of a source. Calls with the same name share
// a folder.
func shims(t *testing.T, name string, more map[string]string, environment ...string) (root string) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the libraries that stand for ROCm's are for linux/amd64")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the libraries with that stand for ROCm's")
	}
	home, err := filepath.Abs(filepath.Join("testdata", "shim"))
	require.NoError(t, err)
	root = build(t, gcc, home, name, more)
	t.Setenv("ROCM_PATH", root)
	t.Setenv("BURN_HIPSHIM", home)
	for _, name := range []string{"clang++-19", "clang-19", "clang++", "clang"} {
		if _, err := exec.LookPath(name); err == nil {
			t.Setenv("BURN_HIPSHIM_CC", name)
			break
		}
	}
	for _, e := range environment {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	return root
}

// build builds the libraries of a folder, once.
func build(t *testing.T, gcc, home, name string, more map[string]string) (root string) {
	built.Lock()
	defer built.Unlock()
	if root = built.roots[name]; root != "" {
		return root
	}
	root, err := os.MkdirTemp("", "hipshim")
	require.NoError(t, err)
	if built.roots == nil {
		built.roots = map[string]string{}
	}
	built.roots[name] = root
	folder := filepath.Join(root, "lib")
	require.NoError(t, os.Mkdir(folder, 0o755))
	for _, libraries := range []map[string]string{required, more} { // the others are linked with the runtime
		for library, source := range libraries {
			source, options, _ := strings.Cut(source, " ")
			args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Wno-parentheses", "-o", filepath.Join(folder, library), filepath.Join(home, source)}, strings.Fields(options)...)
			if required[library] == "" {
				args = append(args, "-L", folder, "-l:libamdhip64.so.6", "-Wl,-rpath,$ORIGIN")
			}
			out, err := exec.Command(gcc, append(args, "-ldl", "-lpthread", "-lm")...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	return root
}

func open(t *testing.T) (core.Backend, error) {
	program, err := os.Executable()
	require.NoError(t, err)
	return Opener(program, nil)(core.Config{Options: map[string]string{"cache": "off"}})
}

func TestOptions(t *testing.T) {
	for name, text := range map[string]string{"memory_limit": "-1", "plain": "", "cache": "here", "other": "1"} {
		_, err := Opener("no program", nil)(core.Config{Options: map[string]string{name: text}})
		require.ErrorIs(t, err, core.ErrAttr, name)
		require.ErrorContains(t, err, name)
	}
}

// TestNothing checks that the error without libraries says which are missing and what to install.
func TestNothing(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{Only: t.TempDir()})
	require.NoError(t, err)
	_, err = newDriver(program, found)
	require.ErrorIs(t, err, core.ErrNotFound)
	for _, k := range []vendor.Library{amd.Runtime, amd.Compiler} {
		require.ErrorContains(t, err, "no "+k.Sonames[0])
		require.ErrorContains(t, err, k.Install)
	}
}

// TestFaultsOfOpening checks the error of each planted fault, with the library's message or the remedy.
func TestFaultsOfOpening(t *testing.T) {
	for _, c := range []struct {
		environment string
		want        error
		says        []string
	}{
		{"BURN_HIPSHIM_FAULT=none", core.ErrNotFound, []string{"no device that it may use", "hipErrorNoDevice", "amdgpu"}},
		{"BURN_HIPSHIM_FAULT=version", core.ErrNotFound, []string{"it is HIP 4.4.21401, want 5.2 to 7", "to get it: ROCm 5.2 to 7"}},
		{"BURN_HIPSHIM_FAULT=rtcversion", core.ErrNotFound, []string{"libhiprtc.so.6: hiprtc: hiprtcVersion: HIPRTC_ERROR_INTERNAL_ERROR"}},
		{"BURN_HIPSHIM_FAULT=init", core.ErrNotFound, []string{"it ended the process that tried it: exit status 2: SIGABRT: abort"}},
		{"BURN_ROCM_HIDE=hip", core.ErrNotFound, []string{"hidden by BURN_ROCM_HIDE", "there is no rocm device"}},
		{"BURN_ROCM_HIDE=hiprtc", core.ErrNotFound, []string{"hidden by BURN_ROCM_HIDE", "no kernel can be compiled"}},
	} {
		t.Run(c.environment, func(t *testing.T) {
			home := shim(t, c.environment)
			program, err := os.Executable()
			require.NoError(t, err)
			found, err := child.Probe(program, child.Question{Only: filepath.Join(home, "lib")})
			require.NoError(t, err)
			_, err = newDriver(program, found)
			require.ErrorIs(t, err, c.want)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

// TestDevices checks that the report of a device names its architecture and wave size, and that an architecture without kernels, or with
// another wave size than its family's, is refused.
func TestDevices(t *testing.T) {
	for _, c := range []struct{ arch, wave, refused string }{
		{"gfx90a:sramecc+:xnack-", "64", ""}, {"gfx942", "64", ""}, {"gfx1100", "32", ""}, {"gfx1201", "32", ""},
		{"gfx1100", "64", "waves of 64 threads, want 32"}, {"gfx90a", "32", "waves of 32 threads, want 64"}, {"gfx803", "64", "gfx9 and later"},
	} {
		f := facts{architecture: c.arch, wave: 64, grid: [3]int{1<<31 - 1, 65535, 65535}}
		if c.wave == "32" {
			f.wave = 32
		}
		if c.refused == "" {
			require.NoError(t, f.usable())
		} else {
			require.ErrorIs(t, f.usable(), vendor.ErrUnsupported)
			require.ErrorContains(t, f.usable(), c.refused)
		}
		require.Equal(t, f.wave, f.target().Subgroup)
		require.Less(t, f.target().Grid[0]*1024, 1<<32, "HIP counts threads with 32 bits")
	}
	shim(t, "BURN_HIPSHIM_ARCH=gfx1100")
	b, err := open(t)
	require.NoError(t, err)
	defer b.Close()
	d := b.Info().Devices
	require.Len(t, d, 1)
	require.Equal(t, "AMD hipshim gfx", d[0].Name)
	require.Equal(t, int64(2<<30), d[0].Memory)
	require.Contains(t, d[0].Detail, "gfx1100, 4 compute units, waves of 32 threads; HIP runtime 6.2.41133 (")
}
