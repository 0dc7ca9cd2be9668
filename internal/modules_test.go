package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// modules returns the folders below the root that have a go.mod.
func modules(t *testing.T) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if dir := filepath.Dir(path); d.Name() == "go.mod" && dir != ".." {
			rel, err := filepath.Rel("..", dir)
			found = append(found, filepath.ToSlash(rel))
			return err
		}
		return nil
	}))
	return found
}

// A folder with its own go.mod is not part of ./...: `make modules` must name it, or nothing tests it.
func TestModules(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^MODULES +:= (.+)$`).FindSubmatch(makefile)
	require.NotNil(t, list, "the Makefile has MODULES")
	found := modules(t)
	require.ElementsMatch(t, found, strings.Fields(string(list[1])))
	for _, dir := range found {
		text, err := os.ReadFile(filepath.Join("..", dir, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(text), "module "+module+"/"+dir+"\n")
		if strings.Contains(string(text), module+" v") {
			up := strings.Repeat("../", strings.Count(dir, "/")) + ".."
			require.Contains(t, string(text), "replace "+module+" => "+up+"\n", "%s is built with this tree, and without a go.work", dir)
		}
	}
	require.NoFileExists(t, "../go.work")
}

// A package that imports internal/long is listed in `make long` or beside BURN_LONG=1 in another recipe. Otherwise nothing runs its
// long tests.
func TestLong(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^LONG +:= (.+)$`).FindSubmatch(makefile)
	require.NotNil(t, list, "the Makefile has LONG")
	run := strings.Fields(string(list[1]))
	for _, recipe := range regexp.MustCompile(`BURN_LONG=1 .*`).FindAllString(string(makefile), -1) {
		for _, word := range strings.Fields(recipe) {
			run = append(run, strings.TrimSuffix(word, "/"))
		}
	}
	var found []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := strings.Replace(filepath.ToSlash(filepath.Dir(path)), "..", ".", 1)
		if strings.Contains(string(text), "\n\t\""+module+"/internal/long\"\n") && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
		return err
	}))
	require.NotEmpty(t, found)
	require.Subset(t, run, found)
}

// A program that requires burn does not get the modules of the data readers: they are in the go.mod files of the readers.
func TestRootModuleIsLight(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		for _, heavy := range []string{"modernc.org/", "github.com/parquet-go/", "github.com/mmcloughlin/avo"} {
			require.NotContains(t, string(text), heavy, name)
		}
	}
}
