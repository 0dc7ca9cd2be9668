package store

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mirrored writes the index of the bench's mirror, with the time at, signed with key unless that is nil. It returns the folder.
func (b *bench) mirrored(at time.Time, key *PrivateKey) string {
	b.t.Helper()
	dir := filepath.Join(b.dir, "mirror")
	_, err := WriteIndex(dir, IndexOptions{Key: key, Now: at})
	require.NoError(b.t, err)
	return dir
}

func snapshot(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "mirror")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// Mirror refuses an index that is older than one shown before, has expired, differs from one with the same counter, or lacks the signature
// that the mirror had. With Stale, it accepts these indexes, but never a wrong signature.
func TestIndexOnlyGoesForward(t *testing.T) {
	b := newBench(t)
	b.archive("demo", "1.0.0", Native(), "one", true)
	day := 24 * time.Hour
	old := snapshot(t, b.mirrored(moment, &b.key))
	b.archive("demo", "1.1.0", Native(), "two", true)
	current := snapshot(t, b.mirrored(moment.Add(day), &b.key))
	twin := snapshot(t, current)
	text, err := os.ReadFile(filepath.Join(twin, IndexName))
	require.NoError(t, err)
	x, err := ParseIndex(text)
	require.NoError(t, err)
	require.EqualValues(t, moment.Add(day).Unix(), x.Counter)
	require.Equal(t, moment.Add(day+IndexLife), x.Expires)
	x.Plugins[0].Versions = x.Plugins[0].Versions[:1]
	text, err = x.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(twin, IndexName), text, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(twin, IndexName+SignatureExt), b.key.SignIndex(text, x.Counter, x.Expires).Encode(), 0o644))
	unsigned := snapshot(t, old)
	require.NoError(t, os.Remove(filepath.Join(unsigned, IndexName+SignatureExt)))
	other, err := GenerateKey()
	require.NoError(t, err)
	foreign := snapshot(t, unsigned)
	_, err = WriteIndex(foreign, IndexOptions{Key: &other, Now: moment.Add(9 * day)})
	require.NoError(t, err)
	forged := snapshot(t, old)
	sig, err := os.ReadFile(filepath.Join(current, IndexName+SignatureExt))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(forged, IndexName+SignatureExt), sig, 0o644))

	shown := current
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.FileServer(http.Dir(shown)).ServeHTTP(w, r)
	}))
	defer server.Close()
	now := moment.Add(2 * day)
	open := func(dir string, stale bool) ([]IndexVersion, error) {
		t.Helper()
		shown = dir
		f := &Fetcher{Index: &IndexPolicy{Trust: b.store.Trust, Dir: b.store.Dir, Stale: stale, Now: func() time.Time { return now }}}
		m, err := f.Mirror(context.Background(), server.URL)
		if err != nil {
			return nil, err
		}
		return m.Index.Plugins[0].Versions, nil
	}
	versions, err := open(old, false)
	require.NoError(t, err)
	require.Len(t, versions, 1)
	for range 2 {
		versions, err = open(current, false)
		require.NoError(t, err)
		require.Len(t, versions, 2)
	}
	for name, c := range map[string]struct {
		dir   string
		is    error
		text  string
		stale bool // Stale accepts the index
	}{
		"older":      {old, ErrRollback, "this mirror has shown", true},
		"twin":       {twin, ErrRollback, "is another than the one seen before", true},
		"unsigned":   {unsigned, ErrUnsigned, "was signed for example.org/acme", true},
		"other key":  {foreign, ErrUnsigned, "was signed for example.org/acme", true},
		"other text": {forged, ErrSignature, "its signature is of", false},
	} {
		_, err = open(c.dir, false)
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.text, name)
		var r *Refusal
		require.ErrorAs(t, err, &r, name)
		require.Equal(t, c.stale, len(r.Remedy) > len(staleRemedy) && r.Remedy[len(r.Remedy)-len(staleRemedy):] == staleRemedy, name)
		_, err = open(c.dir, true)
		require.Equal(t, c.stale, err == nil, "%s: %v", name, err)
		_, err = open(current, false)
		require.NoError(t, err, "%s: an index that Stale accepted must not be remembered", name)
	}
	now = moment.Add(day + IndexLife + time.Hour)
	_, err = open(current, false)
	require.ErrorIs(t, err, ErrExpired)
	_, err = open(current, true)
	require.NoError(t, err)

	// A key that is trusted for other namespaces does not vouch for the plugins of this one.
	b.store.Trust.Keys = append(b.store.Trust.Keys, trusted(other, "example.org/other"))
	now = moment.Add(10 * day)
	_, err = open(foreign, false)
	require.ErrorIs(t, err, ErrUnsigned)
	b.store.Trust.Keys[1].Namespaces = []string{"*"}
	_, err = open(foreign, false)
	require.NoError(t, err)
}

// A mirror that never had a signature is accepted. A signed index cannot be replaced by an unsigned one.
func TestUnsignedIndex(t *testing.T) {
	b := newBench(t)
	b.archive("demo", "1.0.0", Native(), "one", true)
	dir := b.mirrored(moment, nil)
	f := &Fetcher{Index: &IndexPolicy{Trust: b.store.Trust, Dir: b.store.Dir}}
	for range 2 {
		_, err := f.Mirror(context.Background(), dir)
		require.NoError(t, err)
	}
	old := []byte("format = 1\n") // from a version of burn without counters
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), old, 0o644))
	_, err := f.Mirror(context.Background(), dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName+SignatureExt), b.key.SignIndex(old, 1, moment).Encode(), 0o644))
	_, err = (&Fetcher{Index: &IndexPolicy{Trust: b.store.Trust, Dir: b.store.Dir, Now: func() time.Time { return moment }}}).Mirror(context.Background(), dir)
	require.ErrorIs(t, err, ErrSignature, "a signed index must contain its counter and expiry")

	_, err = WriteIndex(dir, IndexOptions{Now: moment})
	require.ErrorIs(t, err, ErrUnsigned)
	require.ErrorContains(t, err, "--key")
	_, err = WriteIndex(dir, IndexOptions{Key: &b.key, Now: moment, Expires: moment.Add(-time.Hour)})
	require.ErrorIs(t, err, ErrExpired)
	one, err := WriteIndex(dir, IndexOptions{Key: &b.key, Now: moment})
	require.NoError(t, err)
	two, err := WriteIndex(dir, IndexOptions{Key: &b.key, Now: moment.Add(-time.Hour)})
	require.NoError(t, err)
	require.Equal(t, one.Counter+1, two.Counter, "the counter increases, even if the clock goes back")
}
