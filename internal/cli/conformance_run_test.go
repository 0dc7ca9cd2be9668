package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConformanceRun(t *testing.T) {
	r := call(t, "conformance", "run", "cpu", "--run", "^add/(f32|bool)/(same|rank0)/plain$")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^profile core +incomplete +2 passed`, r.out)
	require.Regexp(t, `\n2 passed, 0 failed, 0 skipped\n$`, r.out)
	require.Empty(t, r.err)

	r = call(t, "conformance", "run", "builtin:cpu", "--run", "stream/poison", "-v") // the pattern is a complete id and also the prefix of others
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^passed    stream/poison  `, r.out)
	require.Regexp(t, `\n1 passed, 0 failed, 0 skipped\n$`, r.out)

	r = call(t, "conformance", "run", "cpu", "--run", "^process/") // a built-in backend has no process: no case is executed
	require.Equal(t, 1, r.code)
	require.Equal(t, "burn: no case was executed\n", r.err)

	r = call(t, "conformance", "run", "cpu", "--list", "--profile", "quant", "--run", "^quantize/f32/")
	require.Equal(t, 0, r.code)
	for _, l := range strings.Fields(r.out) {
		require.True(t, strings.HasPrefix(l, "quantize/f32"), l)
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cpu", "--run", "("}, "pattern"}, {[]string{"cpu", "--run", "no/such"}, "no case of profile all matches"},
		{[]string{"cpu", "--profile", "best"}, `--profile: want one of inference-f32, core, storage, nn, training, half, quant, all, got "best"`}, {[]string{"cpu", "--timeout", "0s"}, "positive --timeout"},
		{[]string{"cpu", "--expect", "nowhere"}, "--expect"}, {[]string{"./nowhere"}, "want a file"}, {[]string{"nothing"}, "nothing"},
		{[]string{}, "accepts 1 arg(s)"},
	} {
		r = call(t, append([]string{"conformance", "run"}, c.args...)...)
		require.Equal(t, 2, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.want)
	}
}

// An expected failure that passes counts as a failure.
func TestConformanceExpect(t *testing.T) {
	list := filepath.Join(t.TempDir(), "expect")
	require.NoError(t, os.WriteFile(list, []byte("# known\nadd/f32/same/plain # of old\n\n"), 0o600))
	r := call(t, "conformance", "run", "cpu", "--run", "^add/f32/(same|rank0)/plain$", "--expect", list)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, "FAIL add/f32/same/plain: passed although it is expected to fail")
	require.Contains(t, r.err, "FAIL  add/f32/same/plain")
	require.Regexp(t, `\n1 passed, 1 failed, 0 skipped\n$`, r.out)
}

func TestConformanceVerify(t *testing.T) {
	pack := filepath.Join(t.TempDir(), "report.tar.gz")
	r := call(t, "conformance", "run", "cpu", "--profile", "quant", "--report", pack)
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `digest [0-9a-f]{64}\n$`, r.err)
	r = call(t, "conformance", "verify", pack, "--allow-unsigned")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "the suite of this program")
	require.Regexp(t, `(?m)^profile quant +pass `, r.out)
	require.Regexp(t, `\nthe package is unchanged and complete\n$`, r.out)

	data, err := os.ReadFile(pack)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(pack, data, 0o600))
	r = call(t, "conformance", "verify", pack, "--allow-unsigned")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "was changed or is damaged")

	r = call(t, "conformance", "run", "cpu", "--run", "^add/f32/", "--report", pack)
	require.Equal(t, 0, r.code)
	r = call(t, "conformance", "verify", pack, "--allow-unsigned")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "incomplete run")

	r = call(t, "conformance", "verify", pack+"x")
	require.Equal(t, 2, r.code)
}

func TestConformancePerf(t *testing.T) {
	r := call(t, "conformance", "run", "cpu", "--perf", "--run", "^(add|matmul)/")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^add +f32 +[0-9.]+ +[0-9.]+ +t0 f32`, r.out)
	require.Regexp(t, regexp.MustCompile(`(?m)^matmul +f32 +[0-9.]+ +[0-9.]+ +[0-9.]+  t0 f32\[512,512\]`), r.out)
}

// A plugin is tested by path, without a manifest.
func TestConformancePluginFile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	file := filepath.Join(t.TempDir(), "burn-backend-mine")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	built(t, "../../plugins/cpu/cmd/burn-backend-cpu", file)
	r := call(t, "conformance", "run", file, "--run", "^(process/|errors/(read-short|node-fields)$|add/f32/same/plain)")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `\n5 passed, 0 failed, 0 skipped\n$`, r.out)

	r = call(t, "conformance", "run", "mine", "--plugin-path", filepath.Dir(file), "--run", "^process/") // by its name
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `\n2 passed, 0 failed, 0 skipped\n$`, r.out)
}

func TestBarWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, 3)
	b.every = 0
	b.step("a", false)
	b.step("b", true)
	require.Equal(t, "1 of 3 cases, 0 failed, now at a\n2 of 3 cases, 1 failed, now at b\n", out.String())
}

func TestBarOnTerminal(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, 2)
	b.w = &out
	b.step("a", true)
	b.step("b", true)
	b.clear()
	require.Equal(t, "\r\x1b[K["+strings.Repeat("=", barWidth)+"] 2/2  2 failed  b\r\x1b[K", out.String())
}

func TestFileName(t *testing.T) {
	for path, want := range map[string]string{"/a/burn-backend-npu": "npu", "x.so": "x", "/a/burn-backend-acme-v1.2.so": "acme-v1-2", "mine.exe": "mine", "a b": "a-b"} {
		require.Equal(t, want, fileName(path), path)
	}
}

// A shared object is tested by path, in its own process, with the given options.
func TestConformanceSharedObject(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test compiles a plugin and the program")
	}
	for _, tool := range []string{"make", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not in PATH: this test builds a shared object with it", tool)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the Makefile of the example is for Unix")
	}
	dir := t.TempDir()
	out, err := exec.Command("make", "-C", "../../examples/backends/cabi", "OUT="+dir).CombinedOutput()
	require.NoError(t, err, string(out))
	burn := buildBurn(t)
	objects, err := filepath.Glob(filepath.Join(dir, "*cabi*"))
	require.NoError(t, err)
	require.Len(t, objects, 1)
	file := filepath.Join(dir, "x"+filepath.Ext(objects[0])) // an object may have any name
	require.NoError(t, os.Rename(objects[0], file))
	cmd := exec.Command(burn, "conformance", "run", "./"+filepath.Base(file), "--run", "^(process/|add/f32/same/plain)", "-v")
	cmd.Dir = dir
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `\n3 passed, 0 failed, 0 skipped\n$`, string(out))
	require.Contains(t, string(out), "passed    process/kill  ")
}

// Backend options come from BURN_OPTIONS and from --option, which takes precedence.
func TestOptionFlag(t *testing.T) {
	for _, c := range []struct {
		env  string
		flag []string
		want string // in the error; empty for none
	}{
		{"cpu.threads_per_stream=all", nil, ""}, {"cpu.threads_per_stream=wrong", nil, "wrong"},
		{"cpu.threads_per_stream=wrong", []string{"--option", "cpu.threads_per_stream=all"}, ""},
		{"cpu.threads_per_stream=all", []string{"--option", "cpu.threads_per_stream=nonsense"}, "nonsense"},
	} {
		r := callWith(t, t.Context(), map[string]string{"BURN_OPTIONS": c.env}, append([]string{"conformance", "run", "cpu", "--run", "^add/f32/same/plain$"}, c.flag...)...)
		require.Equal(t, c.want == "", r.code == 0, r.err)
		require.Contains(t, r.err, c.want)
	}
	r := call(t, "devices", "--option", "cpu")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "--option: want BACKEND.OPTION=VALUE, got \"cpu\"")
}

// A run with --perf writes a package that verifies.
func TestConformancePerfReport(t *testing.T) {
	pack := filepath.Join(t.TempDir(), "timings.tar.gz")
	r := call(t, "conformance", "run", "cpu", "--perf", "--run", "^(slice|add)/", "--report", pack)
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^slice +f32 .*f32\[1024,1024\] = slice`, r.out)
	r = call(t, "conformance", "verify", pack, "--allow-unsigned")
	require.Equal(t, 0, r.code, r.err)
	require.NotContains(t, r.out, "not executed")
}
