package docblocks_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/docblocks"
)

// page runs the document text in a session and returns the results of its commands.
func page(t *testing.T, text string) []docblocks.Result {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not in PATH")
	}
	blocks, err := docblocks.Markdown("a.md", text)
	require.NoError(t, err)
	s := docblocks.Session{Dir: t.TempDir(), Env: os.Environ(), Scratch: t.TempDir()}
	results, err := s.Run(t.Context(), blocks)
	require.NoError(t, err)
	return results
}

func TestSession(t *testing.T) {
	got := page(t, "<!-- setup\nmkdir sub\n-->\n```console\n$ cd sub && export X='it is'\n$ echo $X here # not there\nit is here\n$ cat\n```\n"+
		"```toml file=x/a.toml\nname = 1\n```\n```console exit=3\n$ cat x/a.toml; pwd\nname = 1\n.../sub\n$ (exit 3)\n```\n```console skip=\"no such machine\"\n$ exit 9\n```\n")
	require.Len(t, got, 5)
	for _, r := range got {
		require.Empty(t, r.Problem, "%+v", r)
	}
	require.Equal(t, "a.md:6", got[1].Where)
	require.Equal(t, 3, got[4].Code)
}

// An output that differs from the document is a problem. A command that fails ends the session of the document.
func TestSessionProblems(t *testing.T) {
	got := page(t, "```console\n$ echo b\na\n$ false\n$ echo c\n```\n")
	require.Len(t, got, 2)
	require.Equal(t, "the document shows\na\n", got[0].Problem)
	require.Equal(t, "exit code 1, want 0", got[1].Problem)
	require.Equal(t, "it did not come to an end", page(t, "<!-- setup\nfalse\ntrue\n-->\n```console\n$ echo c\n```\n")[0].Problem)
	require.Equal(t, "it did not come to an end", page(t, "```console\n$ exit 0\n```\n")[0].Problem)
	require.Contains(t, page(t, "```console\n$ echo 'open\n```\n")[0].Problem, "exit code")
}
