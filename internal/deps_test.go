// Package internal_test holds the tests of the repository as a whole.
package internal_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/goburn/burn"

// arrows say which package may import which: "a < b" means that b and everything right of it may import a, and so on along the
// chain. Lists are separated by commas. "x/..." is x with all packages below it, which may import each other; "x/*" is every
// folder of x by itself, with what is below it: plugins never import each other, and neither do decorators. "." is package burn
// at the root. The longest pattern that fits a package is its own. A pattern in brackets names packages that are designed but do
// not exist yet.
//
// DO NOT CHANGE THIS TEXT TO FIX BUILDS: it is section 2 of the design.
const arrows = `
	core/dtype < core/shape < core/op < core/program < core
	core/program < core/program/group < sdk/gpu/..., decorators/*, plugins/*
	core/program/group < core/program/place < decorators/*
	core/program < core/program/gradient < decorators/autodiff, plugins/libtorch/...
	core/program < core/program/window < decorators/fusion
	core < decorators/internal/... < decorators/*

	core < sdk/engine < sdk/gpu/..., plugins/*, host/..., conformance/ref, sdk/serve/..., internal/fakeplugin, examples/*
	sdk/engine < plugins/cuda/..., plugins/libtorch/..., plugins/rocm/..., plugins/metal/..., plugins/wgpu/...
	core < sdk/wire/... < sdk/serve/..., sdk/client/... < host/..., [decorators/remote/...]
	sdk/wire/... < host/...
	core < decorators/*
	core < decorators/autodiff < conformance
	core < decorators/fusion
	core < sdk/gpu/... < plugins/cuda/..., plugins/rocm/..., plugins/metal/..., plugins/wgpu/...
	core < plugins/*
	core < sdk/gpu/... < plugins/webgpu < examples/*
	plugins/*, plugins/cuda/..., plugins/libtorch/..., plugins/metal/..., plugins/rocm/..., plugins/wgpu/..., sdk/serve/... < plugins/*/cmd/...
	core < conformance/ref < conformance/graphs < conformance
	conformance/protocol < internal/cli/..., examples/*
	sdk/engine, conformance/ref < conformance/internal/...
	core < tensor < nn/... < optim/... < train/...
	data/... < train/...
	nn/... < model/record/... < train/...
	tensor < data/..., model/...
	nn/..., model/... < model/onnx/export/... < internal/cli/..., tools/*, examples/*

	core < internal/fakeplugin
	sdk/serve/... < internal/fakeplugin
	internal/photo < internal/imagein, model/...
	internal/imagein < internal/cli/..., tools/*, examples/*
	core, tensor, model/..., plugins/* < internal/bench
	internal/machine < sdk/serve/..., plugins/*, plugins/libtorch/..., model/...
	internal/plain < sdk/client/..., internal/tomlfile < internal/cli/...
	internal/tomlfile < host/..., internal/config < internal/cli/...
	internal/nearest < host/..., internal/config
	internal/lost < host/..., train/...
	internal/wholefile < model/record/..., model/onnx/export/...
	internal/*, internal/bench < internal/cli/..., tools/*, examples/*
	host/..., plugins/*, conformance, model/..., tensor < internal/cli/..., tools/*, examples/*
	decorators/autodiff, decorators/fusion, decorators/*, nn/..., optim/..., train/... < internal/cli/..., tools/*, examples/*
	host/..., decorators/autodiff, decorators/fusion, tensor < . < internal/cli/..., tools/*, examples/*
	internal/cli/... < cmd/burn
`

// outside tells which packages may import a third-party module. Modules that are not listed here may be imported anywhere.
var outside = map[string][]string{
	"google.golang.org/grpc":         {"sdk/wire/...", "sdk/serve/...", "sdk/client/...", "host/...", "decorators/remote/...", "conformance/wiretest", "conformance/protocol"},
	"github.com/ebitengine/purego":   {"host/...", "sdk/gpu/vendor", "plugins/cuda/...", "plugins/libtorch/...", "plugins/metal/...", "plugins/rocm/...", "plugins/wgpu/..."},
	"gorgonia.org/cu":                {"plugins/cuda"},
	"github.com/hashicorp":           {"sdk/wire/...", "sdk/serve/...", "sdk/client/...", "host/...", "decorators/remote/...", "conformance/wiretest", "internal/cli/..."}, // hclog too
	"google.golang.org/protobuf":     {"sdk/wire/...", "model/...", "conformance/protocol"},
	"charm.land":                     {"train/dashboard"},
	"modernc.org":                    {}, // data/sqlite has a go.mod
	"github.com/parquet-go":          {}, // data/parquet has a go.mod
	"github.com/spf13":               {"internal/cli/..."},
	"github.com/stretchr/testify":    {}, // tests only
	"github.com/hashicorp/go-plugin": {"sdk/wire/...", "sdk/serve/...", "sdk/client/...", "host/...", "decorators/remote/...", "conformance/wiretest"},
}

// bare lists the packages that import only the standard library and burn.
var bare = []string{"core", "core/dtype", "core/shape", "core/op", "core/program", "core/program/group", "core/program/place", "core/program/gradient", "core/program/window", "conformance", "conformance/ref", "tensor"}

// lattice is the transitive closure of the arrows: for each pattern, the patterns that it may import.
type lattice struct {
	below   map[string]map[string]bool
	planned map[string]bool
}

func parseArrows(text string) (lattice, error) {
	l := lattice{map[string]map[string]bool{}, map[string]bool{}}
	known := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var left []string
		for _, part := range strings.Split(line, "<") {
			var here []string
			for _, name := range strings.Split(part, ",") {
				name = strings.TrimSpace(name)
				bracketed := strings.HasPrefix(name, "[")
				name = strings.Trim(name, "[]")
				if name == "" {
					return l, fmt.Errorf("empty name in %q", line)
				}
				if known[name] && bracketed != l.planned[name] {
					return l, fmt.Errorf("%s stands with and without brackets", name)
				}
				known[name], l.planned[name] = true, bracketed
				if l.below[name] == nil {
					l.below[name] = map[string]bool{}
				}
				for _, b := range left {
					l.below[name][b] = true
				}
				here = append(here, name)
			}
			left = append(left, here...)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, set := range l.below {
			for b := range set {
				for c := range l.below[b] {
					changed = changed || !set[c]
					set[c] = true
				}
			}
		}
	}
	for name, set := range l.below {
		if set[name] {
			return l, fmt.Errorf("%s is below itself", name)
		}
	}
	return l, nil
}

// fits reports whether pattern matches pkg, and returns the unit within the pattern: packages of one unit may import each other.
func fits(pattern, pkg string) (unit string, ok bool) {
	ps, ks := strings.Split(pattern, "/"), strings.Split(pkg, "/")
	for i, p := range ps {
		switch {
		case p == "..." || i == len(ps)-1 && p == "*" && i < len(ks):
			return strings.Join(ks[:min(len(ks), max(i, 1)+b2i(p == "*"))], "/"), true
		case i >= len(ks):
			return "", false
		case p != "*" && p != ks[i]:
			return "", false
		}
	}
	return pkg, len(ps) == len(ks)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// own returns the longest pattern that matches pkg, and the unit within it; both are empty if no pattern matches.
func (l lattice) own(pkg string) (pattern, unit string) {
	for p := range l.below {
		if u, ok := fits(p, pkg); ok && weight(p) > weight(pattern) {
			pattern, unit = p, u
		}
	}
	return pattern, unit
}

// weight orders patterns: more parts first, then fewer wildcards.
func weight(p string) int {
	if p == "" {
		return -1
	}
	return 10*len(strings.Split(strings.TrimSuffix(p, "/..."), "/")) - strings.Count(p, "*")
}

// allowed returns an error if from must not import to. Both are paths within the module.
func (l lattice) allowed(from, to string) error {
	fp, fu := l.own(from)
	tp, tu := l.own(to)
	switch {
	case fp == "":
		return fmt.Errorf("%s is in no arrow of the design", from)
	case tp == "":
		return fmt.Errorf("%s is in no arrow of the design", to)
	case fp == tp && fu == tu:
		return nil
	case fp == tp || !l.below[fp][tp]:
		return fmt.Errorf("%s may not import %s", from, to)
	case strings.HasPrefix(fp, "plugins/*/cmd") && strings.HasPrefix(tp, "plugins/") && !strings.HasPrefix(from, tu+"/"):
		return fmt.Errorf("%s may not import %s: it is another plugin", from, to)
	}
	return nil
}

// imports parses the import clauses of every package of the root module and of plugins with a go.mod, for all platforms, without
// tests.
func imports(t *testing.T) map[string][]string {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	found := map[string][]string{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && file != root {
			_, mod := os.Stat(filepath.Join(file, "go.mod"))
			rel, _ := filepath.Rel(root, file) // relative to the root
			if mod == nil && !strings.HasPrefix(filepath.ToSlash(rel), "plugins/") || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		found[pkg] = append(found[pkg], "")
		for _, s := range f.Imports {
			p, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(found[pkg], p) {
				found[pkg] = append(found[pkg], p)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// within returns the path of an imported package within the module, "." for the root package. ours is false for other modules.
func within(imp string) (pkg string, ours bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

func TestArrows(t *testing.T) {
	l, err := parseArrows(arrows)
	require.NoError(t, err)
	found := imports(t)
	present := map[string]bool{}
	for pkg, list := range found {
		if own, _ := l.own(pkg); own != "" {
			present[own] = true
		}
		for _, imp := range list {
			if to, ours := within(imp); ours {
				if err := l.allowed(pkg, to); err != nil {
					t.Error(err)
				}
			}
		}
		checkOutside(t, pkg, list)
	}
	for p, planned := range l.planned {
		switch {
		case planned && present[p]:
			t.Errorf("%s is there now: take its brackets away", p)
		case !planned && !present[p]:
			t.Errorf("%s stands in the arrows and no package of it exists", p)
		}
	}
}

func checkOutside(t *testing.T, pkg string, list []string) {
	for _, imp := range list {
		first, _, _ := strings.Cut(imp, "/")
		if _, ours := within(imp); ours || !strings.Contains(first, ".") {
			continue
		}
		if slices.Contains(bare, pkg) {
			t.Errorf("%s imports %s, and may import the standard library and burn alone", pkg, imp)
		}
		for prefix, patterns := range outside {
			if imp != prefix && !strings.HasPrefix(imp, prefix+"/") {
				continue
			}
			if !slices.ContainsFunc(patterns, func(p string) bool { _, ok := fits(p, pkg); return ok }) {
				t.Errorf("%s may not import %s", pkg, imp)
			}
		}
	}
}

// TestLattice checks the checker itself: what it must refuse and allow.
func TestLattice(t *testing.T) {
	l, err := parseArrows(arrows)
	require.NoError(t, err)
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"core/op", "core/dtype", true}, {"core/dtype", "core/op", false}, {"core/op", "core", false}, {"core", "core/shape", true},
		{"plugins/cpu", "core/op", true}, {"plugins/cpu", "plugins/cpu/internal/gemm", true}, {"plugins/cpu/internal/gemm", "core", true},
		{"plugins/cpu", "plugins/cuda", false}, {"plugins/cpu", "tensor", false}, {"plugins/cpu", "sdk/serve", false},
		{"plugins/cpu/cmd/burn-backend-cpu", "plugins/cpu", true}, {"plugins/cpu/cmd/burn-backend-cpu", "sdk/serve", true},
		{"plugins/cpu/cmd/burn-backend-cpu", "plugins/other", false}, {"plugins/cpu/cmd/burn-backend-cpu", "tensor", false},
		{"tensor", "core", true}, {"tensor", "host", false}, {"tensor", "sdk/wire", false}, {"core", "tensor", false},
		{"decorators/fusion", "core", true}, {"decorators/fusion", "decorators/autodiff", false}, {"decorators/fusion", "tensor", false},
		{"decorators/remote", "sdk/client", true}, {"decorators/fusion", "sdk/client", false},
		{"nn/layer", "tensor", true}, {"tensor", "nn", false}, {"train", "nn", true}, {"model/onnx", "model/onnx/pb", true}, {"model/onnx", "conformance", false},
		{"conformance", "conformance/ref", true}, {"conformance/ref", "conformance", false}, {"conformance", "plugins/cpu", false},
		{"cmd/burn", "internal/cli", true}, {"cmd/burn", "core", true}, {"internal/npy", "core", false}, {"internal/cli", "internal/npy", true},
		{"sdk/engine", "core", true}, {"sdk/engine", "sdk/wire", false}, {"core", "sdk/engine", false}, {"plugins/cpu", "sdk/engine", true},
		{"plugins/cuda", "sdk/engine", true}, {"plugins/cuda/internal/nv", "core", true}, {"plugins/cuda/cmd/burn-backend-cuda", "plugins/cuda", true},
		{"plugins/cpu/cmd/burn-backend-cpu", "plugins/cuda", false}, {"plugins/cuda", "plugins/cpu", false}, {"plugins/cuda", "sdk/serve", false}, {"host/shared", "sdk/engine", true}, {"conformance/ref", "sdk/engine", true},
		{"conformance", "sdk/engine", true}, {"tensor", "sdk/engine", false}, {"decorators/autodiff", "sdk/engine", false},
		{".", "host", true}, {".", "decorators/autodiff", true}, {".", "tensor", true}, {"examples/mnist", ".", true}, {"internal/cli", ".", true},
		{".", "plugins/cpu", false}, {".", "train", false}, {"tensor", ".", false}, {"host", ".", false}, {"train", ".", false},
		{"util", "core", false}, {"core", "core/util", false},
	} {
		err := l.allowed(c.from, c.to)
		require.Equal(t, c.ok, err == nil, "%s imports %s: %v", c.from, c.to, err)
	}
	for _, text := range []string{"a < b\n b < a", "a < ", "a < [b]\n b < c"} {
		_, err := parseArrows(text)
		require.Error(t, err, text)
	}
}
