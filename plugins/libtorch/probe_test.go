package libtorch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// fakeVariable makes the test binary a child of a probe that runs no torch. It names a folder with one file for each start, which contains
// the lines to print. A last line that begins with "exit " makes the child end with status 3.
const fakeVariable = "BURN_LIBTORCH_FAKE"

// fakeChild prints the next file of the folder, and writes the question that it reads to a file beside it.
func fakeChild(dir string) int {
	for i := 0; ; i++ {
		file := filepath.Join(dir, fmt.Sprint(i))
		if _, err := os.Stat(file + ".question"); err == nil {
			continue // that was an earlier child
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return 9
		}
		var q json.RawMessage
		if json.NewDecoder(os.Stdin).Decode(&q) != nil || os.WriteFile(file+".question", q, 0o600) != nil {
			return 9
		}
		lines, status, _ := strings.Cut(string(text), "exit ")
		fmt.Print(lines)
		if status == "" {
			return 0
		}
		return 3
	}
}

// children prepares what the children of a probe print, in the order of their starts. asked returns the question of a child.
func children(t *testing.T, outputs ...string) (asked func(i int) question) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range outputs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600))
	}
	t.Setenv(fakeVariable, dir)
	return func(i int) (q question) {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)+".question"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &q))
		return q
	}
}

const (
	tryExp  = `{"Trying":{"Op":"exp","Type":3}}` + "\n"
	noLog   = `{"Refused":{"Op":"log","Type":3},"Why":"odd"}` + "\n"
	allDone = `{"Done":true}` + "\n"
)

// TestProbeReads checks what probe concludes from the lines of its children, and that it ignores noise between them.
func TestProbeReads(t *testing.T) {
	d := dtype.DType(3)
	place := torch.Place{Folder: "somewhere", By: "LIBTORCH"}
	for name, c := range map[string]struct {
		outputs []string
		found   map[string]string // op to why
		err     string
	}{
		"nothing":          {[]string{allDone}, map[string]string{}, ""},
		"a refusal":        {[]string{tryExp + "noise of torch\n" + noLog + allDone}, map[string]string{"log": "odd"}, ""},
		"a crash":          {[]string{noLog + tryExp + "exit 3", allDone}, map[string]string{"log": "odd", "exp": "it ended the process that tried it: exit status 3"}, ""},
		"a quiet end":      {[]string{tryExp, allDone}, map[string]string{"exp": "it ended the process that tried it: the child ended without an answer"}, ""},
		"no torch":         {[]string{`{"Failed":"no such library"}` + "\nexit 1"}, nil, "no such library"},
		"an end at once":   {[]string{"exit 3"}, nil, "exit status 3"},
		"crashes for ever": {repeated(tryExp+"exit 3", probeCrashes), nil, "16 kernels ended"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := children(t, c.outputs...)
			found, err := probe(os.Args[0], place, []string{"hidden"})
			require.Equal(t, question{Folder: "somewhere", By: "LIBTORCH", Hide: []string{"hidden"}}, asked(0))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, found, len(c.found))
			for name, why := range c.found {
				require.Equal(t, why, found[name].Why)
				require.Equal(t, dtype.SetOf(d), found[name].Types)
			}
			if len(c.outputs) > 1 { // what ended a child is not tried again
				require.Contains(t, asked(1).Skip, trial{"exp", d})
			}
		})
	}
	_, err := probe(filepath.Join(t.TempDir(), "none"), place, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func repeated(s string, n int) []string {
	return strings.Split(strings.Repeat(s+"\x00", n-1)+s, "\x00")
}

// TestRemembered checks that findings are cached as long as the program, torch and the hidden functions are the same.
func TestRemembered(t *testing.T) {
	cache, folder := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	library := filepath.Join(folder, "libtorch_cpu.so")
	require.NoError(t, os.WriteFile(library, []byte("a"), 0o600))
	place := torch.Place{Folder: folder}
	ask := func(hide ...string) refusals {
		found, err := remembered(os.Args[0], place, hide)
		require.NoError(t, err)
		return found
	}
	children(t, noLog+allDone)
	require.Contains(t, ask(), "log")
	require.Contains(t, ask(), "log", "without a child")
	_, err := remembered(os.Args[0], place, []string{"x"})
	require.Error(t, err, "another question")

	require.NoError(t, os.WriteFile(library, []byte("another"), 0o600))
	children(t, allDone)
	require.Empty(t, ask(), "of another torch")

	file := memory(os.Args[0], place, nil)
	for _, text := range []string{"no json", `{"no_such_op":{"Types":1,"Why":""}}`, `{"log":null}`} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		children(t, noLog+allDone)
		require.Contains(t, ask(), "log", text)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	require.NoError(t, err)
	require.Len(t, left, 2, "no temporary files")
	require.Empty(t, memory(filepath.Join(folder, "none"), place, nil))
}

func TestSentinel(t *testing.T) {
	plain := errors.New("of torch")
	for _, c := range []struct{ err, want error }{
		{nil, nil},
		{plain, core.ErrKernel},
		{fmt.Errorf("%w: 1 TB", torch.ErrOutOfMemory), core.ErrOutOfMemory},
		{fmt.Errorf("%w: no lists", torch.ErrMissing), core.ErrUnsupported},
		{fmt.Errorf("index 5: %w", core.ErrIndex), core.ErrIndex},
	} {
		got := sentinel(c.err)
		if c.want == nil {
			require.NoError(t, got)
			continue
		}
		require.ErrorIs(t, got, c.want)
		require.ErrorIs(t, got, c.err)
	}
}

// TestProbeMain checks the failure that a child reports if its question is empty or names a folder without torch.
func TestProbeMain(t *testing.T) {
	for in, want := range map[string]string{"": "EOF", `{"Folder":"` + t.TempDir() + `"}`: "libtorch_cpu.so"} {
		var out strings.Builder
		require.Equal(t, 1, ProbeMain(strings.NewReader(in), &out))
		var l line
		require.NoError(t, json.Unmarshal([]byte(out.String()), &l))
		require.Contains(t, l.Failed, want)
	}
}
