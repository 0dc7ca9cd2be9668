// Command wgpunative extracts the library wgpu-native from the wheel of the Python package wgpu, which pip fetches from PyPI, compares the
// wheel with a known hash, and puts the library into a folder together with its licences.
//
// No code of the package is executed. A local wheel (-wheel) is verified in the same way.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// version is the version of the Python package; it contains wgpu-native 29.0.1.1.
const version = "0.32.0"

// wheel is the file of the package for a platform, and its library under the name that the plugin searches for.
type wheel struct{ tag, sha256, library string }

var wheels = map[string]wheel{
	"linux/amd64":   {"manylinux_2_28_x86_64", "6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568", "libwgpu_native.so"},
	"linux/arm64":   {"manylinux_2_28_aarch64", "00454ba1bc794d38c8365f4ad29f381b88ce0a7f115133bfaa6f1dfad7eb2764", "libwgpu_native.so"},
	"darwin/amd64":  {"macosx_10_9_x86_64", "cfd3967616a3c42e2b7a234407df38668c697f5aa505d56e0814d647b6746302", "libwgpu_native.dylib"},
	"darwin/arm64":  {"macosx_11_0_arm64", "6c3f654ea01ab2de8a2903354ced02a3c6ef161d0fba1aa4fea60aa86d021908", "libwgpu_native.dylib"},
	"windows/amd64": {"win_amd64", "493c8a0425c7d3cc728a2489bce40d1a016d800306e59763ff1b21e176e66323", "wgpu_native.dll"},
	"windows/arm64": {"win_arm64", "cb0414107825bd94538220cf3f329c83697b99b8e39c6e16e4e6726e427de75c", "wgpu_native.dll"},
}

// licence is written beside the library, as the wheel contains only the licence of the Python package.
const licence = `wgpu-native 29.0.1.1, https://github.com/gfx-rs/wgpu-native, by the gfx-rs developers, is licensed under either of
the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0), or the MIT license
(https://opensource.org/licenses/MIT), at your option. This copy was taken unchanged from the Python package
wgpu ` + version + ` of PyPI, whose own licence follows.

`

// maxBytes is the greatest size of a file extracted from a wheel.
const maxBytes = 64 << 20

func main() {
	platform := flag.String("platform", runtime.GOOS+"/"+runtime.GOARCH, "GOOS/GOARCH: "+strings.Join(slices.Sorted(maps.Keys(wheels)), ", "))
	out := flag.String("out", ".", "`folder` that the library is put into")
	file := flag.String("wheel", "", "wheel that is there already, instead of one from PyPI")
	headers := flag.Bool("headers", false, "take the C headers too")
	python := flag.String("python", "python3", "Python with pip")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "wgpunative: unexpected argument %q, want only flags\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*platform, *out, *file, *python, *headers); err != nil {
		fmt.Fprintln(os.Stderr, "wgpunative:", err)
		os.Exit(1)
	}
}

func run(platform, out, file, python string, headers bool) error {
	w, ok := wheels[platform]
	if !ok {
		return fmt.Errorf("no library for %s, there is one for %s", platform, strings.Join(slices.Sorted(maps.Keys(wheels)), ", "))
	}
	if file == "" {
		dir, err := os.MkdirTemp("", "wgpunative-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if file, err = fetch(w, dir, python); err != nil {
			return err
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != w.sha256 {
		return fmt.Errorf("%s has the hash %x, want %s", file, sum, w.sha256)
	}
	return extract(content, w, out, headers)
}

// fetch runs pip to download the wheel of a platform into a folder, and returns its path.
func fetch(w wheel, dir, python string) (string, error) {
	cmd := exec.Command(python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
		"--platform", w.tag, "--dest", dir, "wgpu=="+version)
	if log, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip download: %w: %s", err, bytes.TrimSpace(log))
	}
	return filepath.Join(dir, fmt.Sprintf("wgpu-%s-py3-none-%s.whl", version, w.tag)), nil
}

// extract writes the library, its licence and, if headers is set, its headers from the wheel in content to the folder out.
func extract(content []byte, w wheel, out string, headers bool) error {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	library, text := false, []byte(licence)
	for _, f := range z.File {
		name := path.Base(f.Name)
		switch {
		case path.Dir(f.Name) == "wgpu/resources" && path.Ext(name) == path.Ext(w.library):
			library = true
			name = w.library
		case name == "LICENSE":
			b, err := read(f)
			if err != nil {
				return err
			}
			text = append(text, b...)
			continue
		case headers && (f.Name == "wgpu/resources/webgpu.h" || f.Name == "wgpu/resources/wgpu.h"):
		default:
			continue
		}
		b, err := read(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), b, 0o755); err != nil {
			return err
		}
	}
	if !library {
		return errors.New("the wheel has no library")
	}
	return os.WriteFile(filepath.Join(out, "wgpu-native.LICENSE"), text, 0o644)
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(b) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", f.Name, maxBytes)
	}
	return b, errors.Join(err, r.Close())
}
