package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func snapshot(step int) *Snapshot {
	return &Snapshot{Step: step, Files: map[string][]byte{"model.safetensors": []byte("the weights"), "empty": {}, "state.json": fmt.Appendf(nil, `{"step":%d}`, step)}}
}

func save(t *testing.T, st *Store, step int, best bool) {
	t.Helper()
	require.NoError(t, st.Save(snapshot(step), best))
	require.NoError(t, st.Wait())
}

func TestRoundTrip(t *testing.T) {
	var wrote []string
	st, err := Open(filepath.Join(t.TempDir(), "new", "folder"), 0, func(path string, _ bool, err error) {
		require.NoError(t, err)
		wrote = append(wrote, filepath.Base(path))
	})
	require.NoError(t, err)
	_, _, err = st.Latest()
	require.ErrorIs(t, err, ErrNone)
	_, err = st.Best()
	require.ErrorIs(t, err, ErrNone)
	save(t, st, 7, false)
	got, damaged, err := st.Latest()
	require.NoError(t, err)
	require.Empty(t, damaged)
	require.Equal(t, snapshot(7), got)
	require.Equal(t, []string{"step-000000007"}, wrote)
}

func TestNames(t *testing.T) {
	for _, name := range []string{"../x", "a/b", "manifest.json", ""} {
		st, err := Open(t.TempDir(), 1, nil)
		require.NoError(t, err)
		require.NoError(t, st.Save(&Snapshot{Files: map[string][]byte{name: nil}}, false))
		require.ErrorContains(t, st.Wait(), "want a name without folders")
	}
}

func TestRetention(t *testing.T) {
	st, err := Open(t.TempDir(), 2, nil)
	require.NoError(t, err)
	for step := range 6 {
		save(t, st, step, step == 1)
	}
	steps, err := st.Steps()
	require.NoError(t, err)
	require.Equal(t, []int{1, 4, 5}, steps)
	best, err := st.Best()
	require.NoError(t, err)
	require.Equal(t, 1, best.Step)
	save(t, st, 6, true)
	steps, err = st.Steps()
	require.NoError(t, err)
	require.Equal(t, []int{5, 6}, steps)
	save(t, st, 5, false) // a run resumed from an earlier step overwrites later ones
	steps, err = st.Steps()
	require.NoError(t, err)
	require.Equal(t, []int{5}, steps)
	_, err = st.Best()
	require.ErrorIs(t, err, ErrNone, "the best one was of the abandoned run")
	save(t, st, 6, true)
	best, err = st.Best()
	require.NoError(t, err)
	require.Equal(t, 6, best.Step)
}

// TestDamage changes, truncates and removes every file of the newest snapshot in turn.
func TestDamage(t *testing.T) {
	for _, name := range []string{"model.safetensors", "state.json", "manifest.json"} {
		for what, harm := range map[string]func(path string) error{
			"removed":   os.Remove,
			"truncated": func(p string) error { return os.Truncate(p, 5) },
			"emptied":   func(p string) error { return os.Truncate(p, 0) },
			"changed": func(p string) error {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				b[len(b)/2] ^= 0x10
				return os.WriteFile(p, b, 0o666)
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				dir := t.TempDir()
				st, err := Open(dir, 3, nil)
				require.NoError(t, err)
				save(t, st, 1, false)
				save(t, st, 2, false)
				require.NoError(t, harm(filepath.Join(dir, "step-000000002", name)))
				s, damaged, err := st.Latest()
				require.NoError(t, err)
				require.Equal(t, 1, s.Step)
				require.Len(t, damaged, 1)
				require.ErrorContains(t, damaged[0], "step-000000002")
			})
		}
	}
}

func TestInterruptedSave(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tmp-1"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tmp-1", "model.safetensors"), []byte("half"), 0o666))
	st, err := Open(dir, 1, nil)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(dir, "tmp-1"))
	save(t, st, 3, false)
	left, err := filepath.Glob(filepath.Join(dir, "tmp-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestSaveWaitsForNoDisk checks that Save returns while a write is blocked, and that only the next Save waits for it.
func TestSaveWaitsForNoDisk(t *testing.T) {
	slow := make(chan struct{})
	st, err := Open(t.TempDir(), 2, func(string, bool, error) { <-slow })
	require.NoError(t, err)
	require.NoError(t, st.Save(snapshot(1), false)) // returns, although slow is not closed yet
	next := make(chan error)
	go func() { next <- st.Save(snapshot(2), false) }()
	select {
	case <-next:
		t.Fatal("two writes at once")
	default:
	}
	close(slow)
	require.NoError(t, <-next)
	require.NoError(t, st.Wait())
	steps, err := st.Steps()
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, steps)
}

func TestFailedSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	st, err := Open(dir, 1, nil)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, st.Save(snapshot(1), false))
	require.Error(t, st.Save(snapshot(2), false), "the error of the first")
	require.Error(t, st.Wait())
	require.NoError(t, st.Wait())
}

// TestLongText checks that a manifest with a long name or value is damaged, and that the error does not repeat all of it.
func TestLongText(t *testing.T) {
	dir := t.TempDir()
	st, err := Open(dir, 0, nil)
	require.NoError(t, err)
	save(t, st, 7, false)
	path := filepath.Join(dir, name(7), manifestFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	long := strings.Repeat("9", 1<<20)
	for old, changed := range map[string]string{`"state.json"`: `"` + long + `"`, `"step": 7`: `"step": ` + long} {
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, changed, 1)), 0o600))
		_, damaged, err := st.Latest()
		require.ErrorIs(t, err, ErrNone)
		require.Len(t, damaged, 1)
		require.Less(t, len(damaged[0].Error()), 4<<10)
	}
}
