package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/golines"
)

// maxDriverLines is the maximum number of lines of code of a GPU plugin without its bindings. Code that is not specific to the hardware
// belongs in sdk/gpu.
const maxDriverLines = 500

// TestDriversAreSmall counts the lines of code of each plugin, without blank lines, comments, tests and bindings. Bindings are the named
// packages, which declare and call functions of system libraries.
func TestDriversAreSmall(t *testing.T) {
	for plugin, bindings := range map[string][]string{
		"rocm":  {"internal/amd"},
		"metal": {"internal/apple", "internal/calls"},
		"wgpu":  {"internal/native"},
	} {
		root := filepath.Join("..", "plugins", plugin)
		lines := map[string]int{} // number of lines, by folder
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			lines[filepath.ToSlash(folder)] += golines.Code(text)
			return err
		}))
		driver := 0
		for folder, n := range lines {
			if folder != "internal/processor" && folder != "cmd/burn-backend-processor" { // these parts of the metal plugin replace Metal only in tests
				driver += n
			}
		}
		for _, b := range bindings {
			require.Positive(t, lines[b], "%s: %s", plugin, b)
			driver -= lines[b]
		}
		t.Logf("%s: %d lines of code, and %v", plugin, driver, lines)
		require.Positive(t, driver)
		require.LessOrEqual(t, driver, maxDriverLines, plugin)
	}
}

// ownKernels are the files of GPU plugins that contain kernel sources, with the reasons why these are not templates of sdk/gpu.
var ownKernels = map[string]string{
	"metal/moves.go":                         "copies and fills, which other hardware has commands for",
	"metal/matrices.go":                      "a probe of the hardware, which no op uses",
	"metal/internal/processor/compile.go":    "it parses texts",
	"cuda/cmd/burn-cuda-selftest/kernels.go": "a program that tests the binding",
	"cuda/cmd/burn-cuda-selftest/driver.go":  "a program that tests the binding",
}

// TestKernelsAreWrittenOnce checks that GPU plugins contain no kernel sources: kernels are templates of sdk/gpu, which every plugin prints
// in the language of its hardware.
func TestKernelsAreWrittenOnce(t *testing.T) {
	found := map[string]bool{}
	for _, plugin := range []string{"cuda", "rocm", "metal", "wgpu"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "plugins", plugin), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			file, _ := strings.CutPrefix(filepath.ToSlash(path), "../plugins/")
			for _, word := range []string{"__global__", "kernel void", "@compute"} {
				if strings.Contains(string(text), word) {
					found[file] = true
					require.Contains(t, ownKernels, file, "the file contains kernel source (%q): make it a template of sdk/gpu", word)
				}
			}
			return err
		}))
	}
	for file := range ownKernels {
		require.True(t, found[file], "%s contains no kernel source: remove it from ownKernels", file)
	}
}
