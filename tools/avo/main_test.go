package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// TestRegenerate checks that the committed kernels equal the output of this command, except for the first line, which names the
// command. Run it with -count=1: go test caches a result although files outside this module have changed.
func TestRegenerate(t *testing.T) {
	fresh := t.TempDir()
	for set := range sets {
		kept := filepath.Join("..", "..", "plugins", "cpu", "internal", filepath.FromSlash(set))
		for level := range levels {
			names := []string{"z" + level + "_amd64.s", "z" + level + "_amd64.go"}
			out, err := exec.Command("go", "run", ".", "-set", set, "-level", level, "-pkg", path.Base(set),
				"-out", filepath.Join(fresh, names[0]), "-stubs", filepath.Join(fresh, names[1])).CombinedOutput()
			if err != nil {
				t.Fatalf("go run: %v\n%s", err, out)
			}
			for _, name := range names {
				if want, got := body(t, filepath.Join(fresh, name)), body(t, filepath.Join(kept, name)); !bytes.Equal(want, got) {
					t.Errorf("%s: got other text than the generator writes, want the same: run go generate", filepath.Join(set, name))
				}
			}
		}
	}
}

// body returns a file without its first line.
func body(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := bytes.Cut(text, []byte("\n"))
	if !found || len(rest) == 0 {
		t.Fatalf("%s: got no text after the first line", path)
	}
	return rest
}
