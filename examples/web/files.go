package main

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// files are the files of the page, by name.
type files map[string]file

type file struct {
	data   []byte
	packed []byte // compressed with gzip, nil if that is not smaller
}

// types maps extensions to the media types that browsers require: the system's tables may differ, or lack one.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".wasm": "application/wasm", ".png": "image/png", ".txt": "text/plain; charset=utf-8", ".onnx": "application/octet-stream",
}

func (f files) add(name string, data []byte) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // writing to memory does not fail
	_ = w.Close()
	x := file{data: data}
	if b.Len() < len(data) {
		x.packed = b.Bytes()
	}
	f[name] = x
}

// ServeHTTP implements http.Handler. A compressed response has a header with the uncompressed length, for progress.
func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	x, ok := f[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	data := x.data
	if x.packed != nil && accepts(r.Header.Get("Accept-Encoding")) {
		data = x.packed
		h.Set("Content-Encoding", "gzip")
		h.Set("X-Uncompressed-Length", strconv.Itoa(len(x.data)))
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // a browser may disconnect
	}
}

// accepts reports whether a header allows gzip.
func accepts(header string) bool {
	for _, part := range strings.Split(header, ",") {
		name, q, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			v, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
			return err != nil || v > 0
		}
	}
	return false
}

// write creates the folder and writes all files, for static file servers.
func (f files) write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, x := range f {
		if err := os.WriteFile(filepath.Join(folder, name), x.data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
