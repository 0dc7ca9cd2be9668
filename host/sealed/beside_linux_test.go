package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program without a list of files is copied together with the libraries below its folder. A program that searches libraries outside its
// folder is refused.
func TestBeside(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("wants a C compiler")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lib"), 0o755))
	write(t, dir, "lib.c", `const char *text(void) { return "right"; }`)
	write(t, dir, "main.c", `#include <stdio.h>`+"\n"+`const char *text(void); int main(void) { fputs(text(), stdout); return 0; }`)
	compile := func(args ...string) {
		t.Helper()
		cmd := exec.Command(cc, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	compile("-shared", "-fPIC", "-o", "lib/libtext.so", "lib.c")
	for rpath, is := range map[string]error{"$ORIGIN/lib": nil, "${ORIGIN}/lib:/usr/none": nil, "$ORIGIN/lib:$ORIGIN/../lib": ErrOutside} {
		compile("-o", "burn-backend-x", "main.c", "-Llib", "-ltext", "-Wl,-rpath,"+rpath)
		path := filepath.Join(dir, "burn-backend-x")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		f, err := Open(path, hex.EncodeToString(sum[:]), Execute)
		if is != nil {
			require.ErrorIs(t, err, is)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".new", []byte("#!/bin/sh\necho wrong\n"), 0o755))
		require.NoError(t, os.Rename(path+".new", path))
		out, err := exec.Command(f.Path()).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "right", string(out))
		require.NoError(t, f.Close())
	}
}

func TestNoExec(t *testing.T) {
	require.False(t, noExec(t.TempDir()))
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || !procNoExec.Match(mounts) {
		t.Skip("no file system is known to be mounted noexec")
	}
	require.True(t, noExec("/proc"))
}

var procNoExec = regexp.MustCompile(`(?m)^\S+ /proc proc \S*noexec`)
