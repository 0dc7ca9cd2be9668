package scaffold

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a module that the go command fetched can be fetched again.
func TestFetched(t *testing.T) {
	burn := func(version, sum string) debug.Module { return debug.Module{Path: Module, Version: version, Sum: sum} }
	released, built := burn("v0.3.0", "h1:x"), burn("v0.0.0-20260101000000-0123456789ab+dirty", "")
	local := burn("v0.3.0", "")
	local.Replace = &debug.Module{Path: "../burn"}
	require.Equal(t, "v0.3.0", fetched(&debug.BuildInfo{Main: released}))
	require.Equal(t, "v0.3.0", fetched(&debug.BuildInfo{Main: debug.Module{Path: "example.org/x", Sum: "h1:y"}, Deps: []*debug.Module{&released}}))
	require.Empty(t, fetched(&debug.BuildInfo{Main: built}))
	require.Empty(t, fetched(&debug.BuildInfo{Main: debug.Module{Path: "example.org/x"}, Deps: []*debug.Module{&local}}))
}

func TestCheckoutAbove(t *testing.T) {
	root := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return filepath.Dir(path)
	}
	checkout := file("my burn/go.mod", "module github.com/goburn/burn // the runtime\n\ngo 1.26.0\n")
	inside := file("my burn/cmd/burn/main.go", "package main\n")
	other := file("other/go.mod", "module github.com/goburn/burnt\n")
	user := file("user/go.mod", "module x\n\nrequire github.com/goburn/burn v0.0.0\n\nreplace (\n\tgithub.com/goburn/burn v0.0.0 => \"../my burn\" // here\n)\n")
	moved := file("moved/go.mod", "module x\nreplace github.com/goburn/burn => ../gone\n")
	forked := file("forked/go.mod", "module x\nreplace github.com/goburn/burn => example.org/fork v0.1.0\n")

	require.Equal(t, checkout, checkoutAbove(inside))
	require.Equal(t, checkout, checkoutAbove(user))
	for _, dir := range []string{other, moved, forked, filepath.Join(root, "nowhere")} {
		require.Empty(t, checkoutAbove(dir), dir)
	}

	devel := &debug.BuildInfo{Main: debug.Module{Path: Module, Version: "(devel)"}}
	s, err := find(devel, []string{other, inside, user})
	require.NoError(t, err)
	require.Equal(t, Source{Dir: checkout}, s)
	_, err = find(devel, []string{other, moved})
	require.ErrorIs(t, err, ErrNoSource)
	s, err = find(&debug.BuildInfo{Main: debug.Module{Path: Module, Version: "v0.3.0", Sum: "h1:x"}}, []string{inside})
	require.NoError(t, err)
	require.Equal(t, Source{Version: "v0.3.0"}, s)

	got, err := Checkout(checkout)
	require.NoError(t, err)
	require.Equal(t, checkout, got)
	_, err = Checkout(other)
	require.ErrorContains(t, err, "want the module github.com/goburn/burn")
	_, err = Checkout(root)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestGoNeedsSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, err := Plugin{Name: "npu", Language: "go"}.Write(dir)
	require.ErrorIs(t, err, ErrNoSource)
	require.NoDirExists(t, dir)

	_, err = Plugin{Name: "npu", Language: "go", Source: Source{Version: "v0.3.0"}}.Write(dir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	require.Equal(t, "module burn-backend-npu\n\ngo 1.26.0\n\nrequire github.com/goburn/burn v0.3.0\n", string(text))
}

func TestQuoted(t *testing.T) {
	require.Equal(t, `/src/burn`, quoted(`/src/burn`))
	require.Equal(t, `C:\src\burn`, quoted(`C:\src\burn`))
	require.Equal(t, `"C:\\my src\\burn"`, quoted(`C:\my src\burn`))
}
