package sealed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/host/sealed"
)

// Open refuses a file whose hash differs from the expected one.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "sealed")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path, text := filepath.Join(dir, "plugin"), []byte("#!/bin/sh\n")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	sum := sha256.Sum256(text)
	f, err := sealed.Open(path, hex.EncodeToString(sum[:]), sealed.Execute)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Close())
	_, err = sealed.Open(path, hex.EncodeToString(make([]byte, 32)), sealed.Execute)
	fmt.Println(errors.Is(err, sealed.ErrMismatch))
	// Output:
	// <nil>
	// true
}
