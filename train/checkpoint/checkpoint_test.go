package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
)

func snapshot(step int) *Snapshot {
	return &Snapshot{Step: step, State: []byte(`{"epoch":1}`), Groups: map[string][]Tensor{
		"model": {
			{"a.weight", dtype.F32, []int{2, 1}, []byte{byte(step), 0, 0, 0, 5, 6, 7, 8}},
			{"b", dtype.Bool, []int{}, []byte{1}},
			{"none", dtype.F64, []int{0, 3}, []byte{}},
		},
		"optimizer": {},
	}}
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
	want := snapshot(7)
	require.Equal(t, want.Step, got.Step)
	require.JSONEq(t, string(want.State), string(got.State))
	for g := range want.Groups {
		require.Contains(t, got.Groups, g)
		require.Equal(t, want.Group(g), got.Group(g))
	}
	require.Equal(t, []string{"step-000000007"}, wrote)
}

// TestSafetensors is the format by hand, as the specification has it.
func TestSafetensors(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, encode(&b, []Tensor{{"w", dtype.I16, []int{2}, []byte{1, 0, 2, 0}}}))
	header := `{"w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}  `
	require.Equal(t, append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x01\x00\x02\x00"...), b.Bytes())
	require.ErrorContains(t, encode(&b, []Tensor{{Name: "x"}, {Name: "x"}}), "x")
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
	save(t, st, 5, false) // a run that was resumed earlier writes its own future
	steps, err = st.Steps()
	require.NoError(t, err)
	require.Equal(t, []int{5}, steps)
}

// TestDamage changes, cuts and removes every file of the newest snapshot in turn.
func TestDamage(t *testing.T) {
	for _, name := range []string{"model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"} {
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

// TestSaveWaitsForNoDisk goes on while a write is held up, and waits for it with the next save alone.
func TestSaveWaitsForNoDisk(t *testing.T) {
	slow := make(chan struct{})
	st, err := Open(t.TempDir(), 2, func(string, bool, error) { <-slow })
	require.NoError(t, err)
	require.NoError(t, st.Save(snapshot(1), false)) // returns, though slow is not closed yet
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

func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, encode(&b, snapshot(1).Groups["model"]))
	f.Add(b.Bytes())
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := decode(file)
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, encode(&again, tensors))
		back, err := decode(again.Bytes())
		require.NoError(t, err)
		require.Len(t, back, len(tensors))
	})
}
