package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestURL(t *testing.T) {
	b := newBench(t)
	b.archive("demo", "1.0.0", Native(), "text", true)
	id := ID{Address{"example.org", "acme", "demo"}, "1.0.0", Native()}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(b.dir, "mirror"))))
	defer server.Close()
	t.Setenv("TMPDIR", t.TempDir())
	var last, of int64
	f := &Fetcher{Progress: func(done, total int64) { last, of = done, total }}
	a, err := f.URL(context.Background(), server.URL+"/"+id.MirrorPath())
	require.NoError(t, err)
	require.NotNil(t, a.Signature)
	info, err := a.File.Stat()
	require.NoError(t, err)
	require.Equal(t, info.Size(), last)
	require.Equal(t, info.Size(), of)
	_, err = b.store.Install(context.Background(), a, InstallOptions{})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
	b.sound()
}

// Servers that fail, stall, send too much or too little, or redirect wrongly cause an error that says why, and no file remains on disk.
func TestHostileServers(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") }))
	defer plain.Close()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
		is    error
	}{
		"not there": {http.NotFound, "404", ErrNotFound},
		"broken":    {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) }, "500", nil},
		"too large": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, strings.Repeat("x", 5000))
		}, "at most 1000", ErrArchive},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for range 100 {
				fmt.Fprint(w, strings.Repeat("x", 500))
				w.(http.Flusher).Flush()
			}
		}, "more than 1000", ErrArchive},
		"cut": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "900")
			io.WriteString(w, "x")
		}, "unexpected EOF", nil},
		"stalls": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "no data for", nil},
		"circle":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again.tar.gz", 302) }, "redirects", nil},
		"to a file": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "file:///etc/passwd", 302) }, "unsupported protocol", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, SignatureExt) {
					http.NotFound(w, r)
					return
				}
				c.serve(w, r)
			}))
			defer server.Close()
			t.Setenv("TMPDIR", t.TempDir())
			f := &Fetcher{Limits: Limits{Archive: 1000}}
			if name == "stalls" {
				f.Stall = 200 * time.Millisecond
			}
			_, err := f.URL(context.Background(), server.URL+"/a.tar.gz")
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			left, e := os.ReadDir(os.Getenv("TMPDIR"))
			require.NoError(t, e)
			require.Empty(t, left)
		})
	}
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/a.tar.gz", http.StatusFound))
	defer secure.Close()
	f := &Fetcher{}
	client := f.client()
	client.Transport = secure.Client().Transport
	f.Client = client
	_, err := f.URL(context.Background(), secure.URL+"/a.tar.gz")
	require.ErrorContains(t, err, "https to http")
	for _, address := range []string{"http://", "http://user:secret@example.org/a", "https:///x"} {
		_, err := f.URL(context.Background(), address)
		require.ErrorIs(t, err, ErrFormat, address)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	_, err = (&Fetcher{}).URL(ctx, plain.URL+"/a.tar.gz")
	require.ErrorContains(t, err, "enough")
}

// A mirror works in the same way from disk and over HTTP. An index cannot present a signed archive as another version.
func TestMirror(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "mirror")
	for _, v := range []string{"1.0.0", "1.2.0", "2.0.0-rc.1"} {
		for _, p := range Platforms() {
			b.archive("demo", v, p, v+p, true)
		}
	}
	b.archive("other", "0.1.0", "windows_arm64", "x", true)
	_, err := WriteIndex(dir, IndexOptions{})
	require.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	ctx := context.Background()
	for _, base := range []string{dir, server.URL, server.URL + "/"} {
		m, err := (&Fetcher{}).Mirror(ctx, base)
		require.NoError(t, err)
		p, err := m.Index.Find("acme/demo")
		require.NoError(t, err)
		c, err := ParseConstraint("^1.0")
		require.NoError(t, err)
		id, v, err := p.Choose(c, Native())
		require.NoError(t, err)
		require.Equal(t, "1.2.0", id.Version)
		hashes, err := m.Hashes(ctx, b.store.Trust, id, v, b.key.Public().ID(), moment)
		require.NoError(t, err)
		require.Len(t, hashes, len(Platforms()))
		a, err := m.Archive(ctx, id)
		require.NoError(t, err)
		_, err = b.store.Install(ctx, a, InstallOptions{Extra: hashes})
		require.NoError(t, err)
		require.NoError(t, a.Close())
		lock, err := ReadLock(b.store.LockFile)
		require.NoError(t, err)
		require.Equal(t, hashes, lock.Plugins[0].Platforms)
		_, err = m.Index.Find("nothing")
		require.ErrorIs(t, err, ErrNotFound)
		other, err := m.Index.Find("other")
		require.NoError(t, err)
		if Native() != "windows_arm64" {
			_, _, err = other.Choose(Constraint{}, Native())
			require.ErrorIs(t, err, ErrPlatform)
		}
		c, _ = ParseConstraint(">=3")
		_, _, err = p.Choose(c, Native())
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "1.0.0, 1.2.0")
	}

	// The mirror serves an older archive under the name of a newer one.
	id := ID{Address{"example.org", "acme", "demo"}, "1.2.0", Native()}
	old := ID{id.Address, "1.0.0", Native()}
	for _, ext := range []string{"", SignatureExt} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(old.MirrorPath()+ext)))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(id.MirrorPath()+ext)), text, 0o644))
	}
	m, err := (&Fetcher{}).Mirror(ctx, dir)
	require.NoError(t, err)
	a, err := m.Archive(ctx, id)
	require.NoError(t, err)
	defer a.Close()
	_, err = b.store.Install(ctx, a, InstallOptions{Upgrade: true, Force: true})
	require.ErrorIs(t, err, ErrSignature)
	a.digest = "" // an index that lies as well
	_, err = b.store.Install(ctx, a, InstallOptions{Upgrade: true, Force: true})
	require.ErrorIs(t, err, ErrArchive)
	_, err = WriteIndex(dir, IndexOptions{})
	require.ErrorContains(t, err, "want it at")
	_, err = (&Fetcher{}).Mirror(ctx, t.TempDir())
	require.ErrorIs(t, err, ErrNotFound)
}
