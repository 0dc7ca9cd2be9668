package source

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// maxFile limits the size in bytes of a file of a set, packed and unpacked.
const maxFile = 1 << 30

// load reads the file at p, decompresses it if needed, and compares it with the checksums. As compressors differ, a file is
// accepted if it is packed as published, or if it unpacks to the published contents.
func load(p string, f file) ([]byte, error) {
	r, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := limited(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	got := sum(raw)
	known := got == f.wire
	if f.packed != "" {
		if raw, err = gunzip(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if !known {
			got = sum(raw)
		}
	}
	if !known && got != f.sum {
		return nil, fmt.Errorf("%s: sha256 %s, want %s: %w", p, got, cmp.Or(f.sum, f.wire), ErrChecksum)
	}
	return raw, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// gunzip decompresses b if it begins like a gzip file, and otherwise returns b.
func gunzip(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return limited(z)
}

// limited reads all of r, up to a limit.
func limited(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("after %d bytes: %w", n, err)
	case n > maxFile:
		return nil, fmt.Errorf("more than %d bytes", int64(maxFile))
	}
	return b.Bytes(), nil
}
