package peer

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const section Section = "make figures"

// TestMain acts as the peer if the environment asks for it: it answers a few requests and exits.
func TestMain(m *testing.M) {
	if os.Getenv("PEER") == "" {
		os.Exit(m.Run())
	}
	fmt.Printf(`{"version": "v%s"}`+"\n", os.Getenv("OMP_NUM_THREADS"))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch line := in.Text(); {
		case strings.Contains(line, `"do":"turn"`):
			fmt.Printf(`{"calls": 10, "samples": [%d, 2000], "processor": 500}`+"\n", 1000+strings.Count(line, `"single":true`))
		case strings.Contains(line, "leave"):
			return
		case strings.Contains(line, "bad"):
			fmt.Println(`{"error": "no such case"}`)
		default:
			fmt.Println(`{"outputs": ["a", "b"]}`)
		}
	}
}

func TestProcess(t *testing.T) {
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), "PEER=1")
	p, err := Start(c, "library", 3)
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, "v3", p.Version)
	var a struct{ Outputs []string }
	require.NoError(t, p.Open(map[string]any{"name": "good"}, &a))
	require.Equal(t, []string{"a", "b"}, a.Outputs)
	require.NoError(t, p.Turn(t.Context(), time.Second))
	p.Single = true
	require.NoError(t, p.Turn(t.Context(), time.Second))
	require.Equal(t, []time.Duration{1000, 2000, 1001, 2000}, p.Samples)
	require.Equal(t, 20, p.Calls)
	require.Equal(t, time.Microsecond, p.Used)
	require.EqualError(t, p.Open(map[string]any{"name": "bad"}, &a), "library: no such case")
	require.Empty(t, p.Samples, "the samples of the previous case are discarded")
	require.False(t, p.Ended)
	require.ErrorContains(t, p.Open(map[string]any{"name": "leave"}, &a), "library ended: EOF")
	require.True(t, p.Ended)
}

func TestStartFails(t *testing.T) {
	_, err := Start(exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^$"), "library", 1)
	require.ErrorContains(t, err, "library")
	_, err = Start(Command(t.Context(), filepath.Join(t.TempDir(), "none"), "script.py"), "library", 1)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "B.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n<!-- make figures: begin -->\nold\n<!-- make figures: end -->\nafter\n"), 0o600))
	require.NoError(t, section.Replace(path, "\nnew\n"))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before\n<!-- make figures: begin -->\n\nnew\n\n<!-- make figures: end -->\nafter\n", string(b))
	for _, text := range []string{"", section.Begin(), section.End(), section.End() + section.Begin()} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.ErrorContains(t, section.Replace(path, "x"), `want the lines "<!-- make figures: begin -->"`)
	}
}
