package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func pack(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// example returns a set of one packed file and the contents of the file, plain and packed. It sets the environment of a machine without
// data sets.
func example(t *testing.T, urls ...string) (s *set, plain, packed []byte) {
	t.Helper()
	home := t.TempDir()
	for k, v := range map[string]string{EnvDir: "", EnvOffline: "", "NODE_PATH": "", "HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache"), "LocalAppData": home, "USERPROFILE": home} {
		t.Setenv(k, v)
	}
	t.Chdir(home)
	plain = make([]byte, 600000)
	_, err := rand.NewChaCha8([32]byte{1}).Read(plain)
	require.NoError(t, err)
	packed = pack(t, plain)
	return &set{name: "example", urls: urls, remedy: "example install",
		files: []file{{"numbers", "numbers.gz", sum(plain), sum(packed), int64(len(packed))}}}, plain, packed
}

// server serves content and counts requests. wrap, if not nil, may break the response. It returns the address and the count.
func server(t *testing.T, content []byte, wrap func(w http.ResponseWriter, r *http.Request, ok func())) (string, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		ok := func() {
			var start int
			if v := r.Header.Get("Range"); v != "" {
				if _, err := fmt.Sscanf(v, "bytes=%d-", &start); err != nil || start >= len(content) {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(content)-1, len(content)))
				w.Header().Set("Content-Length", strconv.Itoa(len(content)-start))
				w.WriteHeader(http.StatusPartialContent)
			} else {
				w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			}
			w.Write(content[start:])
		}
		if wrap == nil {
			ok()
		} else {
			wrap(w, r, ok)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", &n
}

func TestDownload(t *testing.T) {
	s, plain, packed := example(t)
	url, requests := server(t, packed, nil)
	s.urls = []string{url}
	var seen []Download
	o := Options{Progress: func(d Download) { seen = append(seen, d) }}
	b, err := s.open(context.Background(), o, s.files[0])
	require.NoError(t, err)
	require.Equal(t, plain, b)
	require.Greater(t, len(seen), 1)
	require.Equal(t, Download{"numbers.gz", url + "numbers.gz", int64(len(packed)), int64(len(packed))}, seen[len(seen)-1])

	_, err = s.open(context.Background(), Options{Offline: true}, s.files[0])
	require.NoError(t, err, "it is in the cache now")
	require.EqualValues(t, 1, requests.Load())

	// A file in the cache that was damaged later is detected and repaired.
	dir, err := o.cache(s.name)
	require.NoError(t, err)
	p := filepath.Join(dir, "numbers.gz")
	require.NoError(t, os.WriteFile(p, pack(t, []byte("other")), 0o644))
	_, err = s.open(context.Background(), Options{Offline: true}, s.files[0])
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "sha256")
	b, err = s.open(context.Background(), o, s.files[0])
	require.NoError(t, err)
	require.Equal(t, plain, b)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no .part file remains")
}

func TestDownloadResumes(t *testing.T) {
	for name, c := range map[string]struct {
		chunked, ignoreRange bool
	}{
		"length": {}, "chunked": {chunked: true}, "a server without ranges": {ignoreRange: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, plain, packed := example(t)
			broken := true
			var ranges []string
			url, _ := server(t, packed, func(w http.ResponseWriter, r *http.Request, ok func()) {
				ranges = append(ranges, r.Header.Get("Range"))
				if !broken {
					if c.ignoreRange {
						r.Header.Del("Range")
					}
					ok()
					return
				}
				if !c.chunked {
					w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
				}
				w.Write(packed[:100000])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			s.urls = []string{url}
			_, err := s.open(context.Background(), Options{}, s.files[0])
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, "the connection ended after 100000 bytes")
			broken = false
			b, err := s.open(context.Background(), Options{}, s.files[0])
			require.NoError(t, err)
			require.Equal(t, plain, b)
			require.Equal(t, []string{"", "bytes=100000-"}, ranges)
		})
	}
}

func TestDownloadFailures(t *testing.T) {
	wrong := func(w http.ResponseWriter, _ *http.Request, _ func()) {
		w.Write([]byte("<html>sign in to the hotel</html>"))
	}
	gone := func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusNotFound) }
	long := func(w http.ResponseWriter, _ *http.Request, ok func()) {
		for range 40 {
			w.Write(make([]byte, 1<<16))
		}
	}
	for name, c := range map[string]struct {
		wrap func(http.ResponseWriter, *http.Request, func())
		is   error
		text string
	}{
		"wrong contents": {wrong, ErrChecksum, "sha256"}, "404": {gone, ErrNotFound, "404"}, "too long": {long, ErrChecksum, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			s, plain, packed := example(t)
			bad, _ := server(t, packed, c.wrap)
			s.urls = []string{bad}
			_, err := s.open(context.Background(), Options{}, s.files[0])
			require.ErrorIs(t, err, c.is)
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, "example install")
			dir, _ := Options{}.cache(s.name)
			left, _ := filepath.Glob(filepath.Join(dir, "numbers.gz"))
			require.Empty(t, left, "no wrong file gets the final name")

			good, _ := server(t, packed, nil)
			s.urls = []string{bad, good}
			b, err := s.open(context.Background(), Options{}, s.files[0])
			require.NoError(t, err, "the second address is tried")
			require.Equal(t, plain, b)
		})
	}
}

// A partial file from another file is discarded, and the download starts again.
func TestDownloadOverGarbage(t *testing.T) {
	for name, size := range map[string]int{"short": 1000, "as long": -1, "longer": 1 << 21} {
		t.Run(name, func(t *testing.T) {
			s, plain, packed := example(t)
			url, _ := server(t, packed, nil)
			s.urls = []string{url}
			dir, err := Options{}.cache(s.name)
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(dir, 0o755))
			if size < 0 {
				size = len(packed)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "numbers.gz.part"), make([]byte, size), 0o644))
			b, err := s.open(context.Background(), Options{}, s.files[0])
			require.NoError(t, err)
			require.Equal(t, plain, b)
		})
	}
}

// full is a file on a disk with limited space.
type full struct {
	*os.File
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	if n, err := f.File.Write(b[:n]); err != nil {
		return n, err
	}
	if n < len(b) {
		return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, nil
}

func TestFullDisk(t *testing.T) {
	s, plain, packed := example(t)
	url, _ := server(t, packed, nil)
	s.urls = []string{url}
	o := Options{create: func(p string) (sink, error) {
		f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644)
		return &full{f, 70000}, err
	}}
	_, err := s.open(context.Background(), o, s.files[0])
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, err, ErrNotFound)
	b, err := s.open(context.Background(), Options{}, s.files[0])
	require.NoError(t, err, "with space again the download succeeds")
	require.Equal(t, plain, b)

	s.name = "another"
	dir, _ := Options{}.cache(s.name)
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	require.NoError(t, os.WriteFile(dir, nil, 0o644))
	_, err = s.open(context.Background(), Options{}, s.files[0])
	require.ErrorContains(t, err, dir, "the folder cannot be created")
}

func TestDownloadCancelled(t *testing.T) {
	s, _, packed := example(t)
	ctx, cancel := context.WithCancel(context.Background())
	url, _ := server(t, packed, func(w http.ResponseWriter, r *http.Request, ok func()) {
		w.Write(packed[:10])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	s.urls = []string{url, url}
	_, err := s.open(ctx, Options{}, s.files[0])
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, errors.Is(err, ErrNotFound))
}

func TestOnly(t *testing.T) {
	url, n := server(t, nil, nil)
	s, plain, _ := example(t, url+"/")
	elsewhere, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "numbers"), plain, 0o600))
	t.Setenv(EnvDir, elsewhere)
	_, err := s.open(context.Background(), Options{Dir: dir, Only: true}, s.files[0])
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, dir+": the folder is empty")
	require.NotContains(t, err.Error(), elsewhere)
	require.Zero(t, n.Load())
	_, err = s.open(context.Background(), Options{Only: true}, s.files[0])
	require.ErrorContains(t, err, "Only without Dir")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "numbers"), plain, 0o600))
	got, err := s.open(context.Background(), Options{Dir: dir, Only: true}, s.files[0])
	require.NoError(t, err)
	require.Equal(t, plain, got)
}

func TestMissing(t *testing.T) {
	s, _, _ := example(t, "http://127.0.0.1:1/")
	_, err := s.open(context.Background(), Options{}, s.files[0])
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "the download failed")
	t.Setenv(EnvOffline, "1")
	t.Setenv(EnvDir, "/nowhere")
	s.system, s.npm = []string{"/usr/share/datasets/example"}, "example/data"
	t.Setenv("NODE_PATH", "/opt/modules")
	_, err = s.open(context.Background(), Options{Dir: "/given"}, s.files[0])
	text := err.Error()
	at := -1
	for _, want := range []string{"no numbers", "/given: no such folder", filepath.Join("/nowhere", "example") + ": no such folder", "/nowhere: no such folder",
		filepath.Join("burn", "data", "example") + ": the folder does not hold it", "/usr/share/datasets/example", filepath.Join("/opt/modules", "example", "data"),
		"BURN_OFFLINE is set", "example install, or put numbers.gz into a folder and set BURN_DATA"} {
		i := strings.Index(text, want)
		require.Greater(t, i, at, "%q is in its place in\n%s", want, text)
		at = i
	}
}

// A set searches the places in order, for packed and for plain files.
func TestPlaces(t *testing.T) {
	s, plain, packed := example(t)
	home, err := os.Getwd()
	require.NoError(t, err)
	s.system, s.npm = []string{filepath.Join(home, "system")}, "numbers-data/data"
	t.Setenv(EnvDir, filepath.Join(home, "env"))
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	for _, dir := range []string{"node_modules/numbers-data/data", "system", filepath.Join(cache, "burn/data/example"), "env", "env/example", "given"} {
		o := Options{Dir: filepath.Join(home, "given"), Offline: true}
		_, err := s.open(context.Background(), o, s.files[0])
		require.ErrorIs(t, err, ErrNotFound, dir)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, content := range map[string][]byte{"numbers.gz": packed, "numbers": plain} {
			p := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(p, content, 0o644))
			b, err := s.open(context.Background(), o, s.files[0])
			require.NoError(t, err, p)
			require.Equal(t, plain, b)
			require.NoError(t, os.Remove(p))
		}
		// A wrong file is skipped, except in the folder that was requested.
		require.NoError(t, os.WriteFile(filepath.Join(dir, "numbers"), []byte("x"), 0o644))
		_, err = s.open(context.Background(), o, s.files[0])
		require.Equal(t, dir != "given", errors.Is(err, ErrNotFound), dir)
		require.ErrorContains(t, err, "sha256")
	}
}
