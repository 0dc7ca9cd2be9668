package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	page := files{}
	text := []byte(strings.Repeat("a text that gets shorter ", 100))
	for _, name := range []string{"index.html", "main.js", "burn.wasm", "style.css"} {
		page.add(name, text)
	}
	noise := []byte("\x89PNG")
	page.add("sample.png", noise)
	for _, c := range []struct {
		path, accept, want, encoding string
		status                       int
	}{
		{"/", "gzip, br", "text/html; charset=utf-8", "gzip", 200},
		{"/index.html", "", "text/html; charset=utf-8", "", 200},
		{"/burn.wasm", "br;q=1.0, gzip;q=0.8", "application/wasm", "gzip", 200},
		{"/burn.wasm", "gzip;q=0", "application/wasm", "", 200},
		{"/main.js", "identity", "text/javascript; charset=utf-8", "", 200},
		{"/style.css", "GZIP", "text/css; charset=utf-8", "gzip", 200},
		{"/sample.png", "gzip", "image/png", "", 200}, // compression would not reduce its size
		{"/../secret", "gzip", "text/plain; charset=utf-8", "", 404},
		{"/none", "gzip", "text/plain; charset=utf-8", "", 404},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://page"+c.path, nil)
		r.Header.Set("Accept-Encoding", c.accept)
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		got := w.Result()
		require.Equal(t, c.status, got.StatusCode, c)
		require.Equal(t, c.want, got.Header.Get("Content-Type"), c)
		require.Equal(t, c.encoding, got.Header.Get("Content-Encoding"), c)
		if c.status != 200 {
			continue
		}
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(len(body)), got.Header.Get("Content-Length"), c)
		want := text
		if c.path == "/sample.png" {
			want = noise
		}
		if c.encoding == "gzip" {
			require.Equal(t, strconv.Itoa(len(want)), got.Header.Get("X-Uncompressed-Length"), c)
			z, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		require.Equal(t, want, body, c)
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://page/", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "GET, HEAD", w.Result().Header.Get("Allow"))

	folder := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, page.write(folder))
	b, err := os.ReadFile(filepath.Join(folder, "burn.wasm"))
	require.NoError(t, err)
	require.Equal(t, text, b)
}

// Errors in the arguments are reported before anything is compiled, with a remedy.
func TestErrors(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), []string{"-addr", "localhost:notaport"}, &out), "-addr names another port")
	require.ErrorContains(t, run(t.Context(), []string{"x"}, &out), "want none")
	require.Empty(t, out.String())
	t.Chdir(t.TempDir())
	_, err := build(t.Context())
	require.ErrorContains(t, err, "start this in the tree of burn")
	t.Setenv("PATH", "")
	_, err = build(t.Context())
	require.ErrorIs(t, err, errNoGo)
}
