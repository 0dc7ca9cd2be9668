package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/internal/scaffold"
)

// written writes a plugin in the given language, as burn plugin new does, and returns its folder.
func written(t *testing.T, language string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugin")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	_, err = scaffold.Plugin{Name: "npu-1", Language: language, Source: scaffold.Source{Dir: root}}.Write(dir)
	require.NoError(t, err)
	return dir
}

// starts checks that the plugin lists a device, passes the cases of its ops, and fails the cases that require the claims of other
// primitives: these failures tell the author which kernels are missing.
func starts(t *testing.T, transport string, ops []string, o host.Options) {
	t.Helper()
	listed := false
	for _, s := range host.Devices(t.Context(), o) {
		if s.Name == "npu-1" {
			require.Equal(t, host.Ready, s.State, "%+v", s.Failure)
			require.Len(t, s.Devices, 1)
			listed = true
		}
	}
	require.True(t, listed)
	run := "^(claims/(info|document|no-device)|stream/(free|round-trip|write-copies|closed)"
	if slices.Contains(ops, "add") {
		run += "|stream/(order|concurrent)"
	}
	for _, op := range ops {
		run += "|claims/" + op + "$|" + op + "/"
	}
	open := func() (core.Backend, error) {
		d, err := host.Open(t.Context(), transport+":npu-1", o)
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}
	r, err := conformance.Check(t.Context(), open, conformance.Options{Run: run + ")"})
	require.NoError(t, err)
	require.Empty(t, failures(r))
	require.Greater(t, r.Passed, 100)
	t.Logf("%d cases pass", r.Passed)

	r, err = conformance.Check(t.Context(), open, conformance.Options{Run: "^claims/"})
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`claims/matmul: .*matmul is not claimed`), failures(r))
}

func TestScaffoldC(t *testing.T) {
	t.Parallel()
	dir, out := written(t, "c"), t.TempDir()
	buildC(t, dir, out)
	manifest, err := os.ReadFile(filepath.Join(dir, "burn-backend-npu-1.toml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(out, "burn-backend-npu-1.toml"), manifest, 0o644))
	o := carrier(t, out)
	starts(t, "process", []string{"copy", "reshape", "permute", "neg"}, o)
	certified(t, append(o.Carrier, filepath.Join(out, "burn-backend-npu-1.so"))...)
}

func TestScaffoldPython(t *testing.T) {
	t.Parallel()
	python(t)
	dir := written(t, "python")
	starts(t, "process", []string{"copy", "reshape", "permute", "neg", "add", "mul", "equal"}, host.Options{Dirs: []string{dir}})
	certified(t, filepath.Join(dir, "burn-backend-npu-1"))
}

func TestScaffoldGo(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: this test builds plugins with it")
	}
	dir, out := written(t, "go"), t.TempDir()
	for _, args := range [][]string{{"mod", "tidy"}, {"vet", "."}, {"test", "."}, {"build", "-o", filepath.Join(out, "burn-backend-npu-1"), "."}} {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, text)
	}
	starts(t, "process", []string{"copy", "reshape", "neg", "add", "mul"}, host.Options{Dirs: []string{out}})
	certified(t, filepath.Join(out, "burn-backend-npu-1"))
}

// allKernels has kernels for every primitive, in place of the scaffold's initial ones.
const allKernels = `package main

import (
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

type kernel struct {
	types dtype.Set
	run   func(c *engine.Call[tensor]) error
}

var kernels = map[op.Code]kernel{}

func init() {
	for _, c := range op.All() {
		row := op.Lookup(c)
		if row.Class != op.Primitive || !ref.Has(c) {
			continue
		}
		types := dtype.Set(dtype.Required)
		if len(row.Operands) > 0 {
			types &= row.Operands[0].Types
		}
		kernels[c] = kernel{types, run}
		capabilities.Ops[row.Name] = core.Claim(row, types)
	}
}

func run(c *engine.Call[tensor]) error {
	var in []ref.Tensor
	for i, d := range c.Descs {
		t, err := ref.FromBytes(d, c.In[i])
		if err != nil {
			return err
		}
		in = append(in, t)
	}
	outs, err := ref.Eval(c.Node, in)
	for i, t := range outs {
		copy(c.Out[i], t.Bytes())
	}
	return err
}
`

// With kernels for all primitives, the scaffold passes the core profile without further changes: an author adds only kernels.
func TestScaffoldGoCore(t *testing.T) {
	t.Parallel()
	if !long.Tests() {
		t.Skip("BURN_LONG=1 runs the core profile on the scaffold, as make backends does")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: this test builds plugins with it")
	}
	dir, out := written(t, "go"), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernels.go"), []byte(allKernels), 0o644))
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", filepath.Join(out, "burn-backend-npu-1"), "."}} {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, text)
	}
	r, err := check("process:npu-1", "", host.Options{Dirs: []string{out}})
	require.NoError(t, err)
	require.Empty(t, failures(r))
	require.Greater(t, r.Passed, 500)
}
