package store

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nested are TOML documents for which a parser without limits needs gigabytes of memory or exhausts its stack.
var nested = map[string]string{
	"brackets":     "format = " + strings.Repeat("[", 2<<20),
	"a dotted key": "plugin" + strings.Repeat(".a", 30<<10) + " = 1\n",
}

// soon returns the error of f. It fails the test if f does not return within 5 seconds.
func soon(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the function has not returned after a minute")
		return nil
	}
}

func TestHostileDocuments(t *testing.T) {
	for name, text := range nested {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
			defer server.Close()
			var f Fetcher
			archive := filepath.Join(dir, "a.tar.gz")
			require.NoError(t, os.WriteFile(archive, nil, 0o600))
			require.NoError(t, os.WriteFile(archive+SignatureExt, []byte(text), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(text), 0o600))
			lock := filepath.Join(dir, LockName)
			require.NoError(t, os.WriteFile(lock, []byte(text), 0o600))
			for what, read := range map[string]func() error{
				"signature":    func() error { _, err := f.File(archive); return err },
				"index":        func() error { _, err := f.Mirror(context.Background(), dir); return err },
				"index of web": func() error { _, err := f.Mirror(context.Background(), server.URL); return err },
				"web":          func() error { _, err := f.URL(context.Background(), server.URL+"/a.tar.gz"); return err },
				"lock":         func() error { _, err := ReadLock(lock); return err },
				"trust":        func() error { _, err := ReadTrust(lock); return err },
				"parsed":       func() error { _, err := ParseSignature([]byte(text)); return err },
				"parsed index": func() error { _, err := ParseIndex([]byte(text)); return err },
			} {
				require.Error(t, soon(t, read), what)
			}
		})
	}
}

// A server that sends single bytes slowly does not block the download of an archive or of a small file: it is too slow, or the deadline
// ends it.
func TestEndlessDownload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, SignatureExt) {
			http.NotFound(w, r)
			return
		}
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("#"))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	defer server.Close()
	t.Setenv("TMPDIR", t.TempDir())
	for what, get := range map[string]func(f *Fetcher) error{
		"archive": func(f *Fetcher) error { _, err := f.URL(context.Background(), server.URL+"/a.tar.gz"); return err },
		"mirror":  func(f *Fetcher) error { _, err := f.Mirror(context.Background(), server.URL); return err },
	} {
		require.ErrorContains(t, soon(t, func() error { return get(&Fetcher{Deadline: 300 * time.Millisecond}) }), "not done within 300ms", what)
		for stall := 300 * time.Millisecond; ; stall *= 4 {
			err := soon(t, func() error { return get(&Fetcher{Stall: stall, Rate: 1000}) })
			require.Error(t, err, what)
			if strings.Contains(err.Error(), "no data for") && stall < 10*time.Second {
				continue // a busy machine may pause for so long
			}
			require.ErrorContains(t, err, fmt.Sprintf("want at least %d", stall.Milliseconds()), what)
			break
		}
	}
}

// The status text of a server is quoted and shortened in the error.
func TestForeignStatus(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte("HTTP/1.1 500 x\x1b[2J\u202ey" + strings.Repeat("z", 5000) + "\r\nContent-Length: 0\r\n\r\n"))
			c.Close()
		}
	}()
	_, err = (&Fetcher{}).Mirror(context.Background(), "http://"+l.Addr().String())
	require.ErrorContains(t, err, `500 x\x1b[2J\u202eyzz`)
	require.Less(t, len(err.Error()), 600)
}
