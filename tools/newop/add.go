package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// generated lists the packages whose go generate renews all files that are derived from the table.
const generated = "./core/op ./tools/opsdoc ./tools/tensordoc"

// tests is the start of the arguments of the go command that runs tests in the copy. It omits vet, because the tree has been
// vetted.
const tests = "test -short -count=1 -vet=off "

// checks lists the tests that find gaps: each entry is a list of arguments of go test.
var checks = []string{
	"./core/op ./tools/opsdoc ./tools/tensordoc ./conformance/ref ./core/program/gradient",
	"-run ^TestNobodyDecidesBySection$ ./internal",
	"-run ^(TestComplete|TestElementwise)$/^scratch_|^TestComplete$ ./sdk/gpu/lower",
	"-run ^TestEveryOpHasAPlan$ ./conformance",
	"-run ^(TestClaims|TestEveryPrimitiveHasAKernelForEveryType)$|^TestConformance$/^scratch_ ./plugins/cpu",
	"-run ^(TestEverySchema|TestEveryPrimitive)$ ./model/onnx ./model/onnx/export",
	"-run ^(TestEveryMethodHasACase|TestElementwiseMethods)$ ./tensor",
}

// finding lists the files that an op touches.
type finding struct {
	hand, generated []string
	missed          map[string]string // by file edited by hand: the test that fails without it
}

// add adds s to the tree in dir and returns the files that had to change.
func add(ctx context.Context, dir string, s scratch) (finding, error) {
	f := finding{missed: map[string]string{}}
	before, err := read(dir)
	if err != nil {
		return f, err
	}
	for _, e := range s.edits {
		if err := e.apply(dir); err != nil {
			return f, err
		}
	}
	edited, err := read(dir)
	if err != nil {
		return f, err
	}
	f.hand = changes(before, edited)
	if out, err := goTool(ctx, dir, "generate "+generated); err != nil {
		return f, fmt.Errorf("go generate: %w\n%s", err, out)
	}
	renewed, err := read(dir)
	if err != nil {
		return f, err
	}
	f.generated = changes(edited, renewed)
	for _, c := range checks {
		if out, err := goTool(ctx, dir, tests+c); err != nil {
			return f, fmt.Errorf("go test %s: %w\n%s", c, err, out)
		}
	}
	for _, n := range s.needs {
		path := filepath.Join(dir, filepath.FromSlash(n.file))
		if err := os.WriteFile(path, before[n.file], 0o644); err != nil {
			return f, err
		}
		out, err := goTool(ctx, dir, tests+"-run ^"+n.test+"$ "+n.pkg)
		switch {
		case ctx.Err() != nil:
			return f, ctx.Err()
		case err == nil:
			return f, fmt.Errorf("%s in %s passes without %s", n.test, n.pkg, n.file)
		case !strings.Contains(out, "--- FAIL: "+n.test):
			return f, fmt.Errorf("%s in %s without %s: %w\n%s", n.test, n.pkg, n.file, err, out)
		}
		f.missed[n.file] = n.test + " in " + n.pkg
		if err := os.WriteFile(path, edited[n.file], 0o644); err != nil {
			return f, err
		}
	}
	return f, nil
}

// goTool runs the go command in dir and returns its output. Paths are trimmed, so that copies share the build cache.
func goTool(ctx context.Context, dir, args string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", strings.Fields(args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"), "PWD="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
