package docblocks_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/docblocks"
)

// TestConsoleBlocksRun runs the console blocks and the programs in all documents, in a copy of the repository, and compares their output
// with the documents. It takes minutes; make docblocks runs it.
func TestConsoleBlocksRun(t *testing.T) {
	if os.Getenv("BURN_DOCBLOCKS") == "" {
		t.Skip("make docblocks runs it")
	}
	work := t.TempDir()
	env := environment(t, work)
	build := exec.Command("go", "build", "-o", filepath.Join(work, "bin", "burn"), "./cmd/burn")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	exempt := 0
	for _, file := range documents(t) {
		text := read(t, file)
		all, err := docblocks.Markdown(file, text)
		require.NoError(t, err)
		runs := slices.ContainsFunc(all, func(b docblocks.Block) bool { return (b.Lang == "console" || b.Run) && b.Skip == "" })
		t.Run(file, func(t *testing.T) {
			for _, b := range all {
				if b.Skip != "" {
					exempt++
					t.Logf("%s: not run: %s", b.Where(), b.Skip)
				}
			}
			if !runs {
				return
			}
			dir := filepath.Join(t.TempDir(), "burn")
			copyTree(t, dir)
			if in := filepath.Dir(file); strings.HasPrefix(in, "examples/") {
				dir = filepath.Join(dir, in)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // ends a hang, but not a run on a slow machine
			defer cancel()
			results, err := docblocks.Session{Dir: dir, Env: env, Scratch: t.TempDir()}.Run(ctx, all)
			require.NoError(t, err)
			for _, r := range results {
				if r.Problem != "" {
					t.Errorf("%s: $ %s\n%s\nit printed\n%s", r.Where, r.Text, r.Problem, r.Output)
				}
			}
			t.Logf("%d commands ran", len(results))
		})
	}
	t.Logf("%d blocks are exempt", exempt)
}

// environment returns the environment of a new user: an empty home, and burn first in the path.
func environment(t *testing.T, work string) []string {
	t.Helper()
	home := filepath.Join(work, "home")
	require.NoError(t, os.MkdirAll(home, 0o755))
	var env []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "XDG_") && (!strings.HasPrefix(name, "BURN_") || name == "BURN_TESTDATA") {
			env = append(env, e)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return append(env, "HOME="+home, "PATH="+filepath.Join(work, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// copyTree copies the repository to dir, without ignored files and build results.
func copyTree(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		switch {
		case d.IsDir():
			if slices.Contains([]string{".git", "bin", "dist", "runs", "burn_plugins", "shared", "node_modules"}, rel) {
				return fs.SkipDir
			}
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, info.Mode().Perm())
	}))
}
