package torch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A torch older than 2.9 has no stable C ABI. The shim is a library that defines those functions of the ABI that the package calls. The
// shim is compiled on the user's machine against that torch.

//go:embed shim/shim.cpp
var shimSource string

// DefaultCompiler is the C++ compiler that Build calls if none is named.
const DefaultCompiler = "c++"

// Remedy is the command of burn that builds the shim.
const Remedy = "burn plugin build libtorch"

// shimPath returns the path of the shim for the torch in a folder, whether it is built or not. It is in the user's cache folder, because
// the folder of torch may not be writable. Its name depends on torch and on the source of the shim.
func shimPath(folder string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	library := cpuLibrary(folder)
	i, err := os.Stat(library)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, shimSource, library, i.Size(), i.ModTime().UnixNano())
	return filepath.Join(dir, "burn", "libtorch", "shim-"+hex.EncodeToString(h.Sum(nil)[:12])+".so"), nil
}

// Shim returns the path of the shim for the torch in a folder, or "" if none was built.
func Shim(folder string) string {
	path, err := shimPath(folder)
	if err != nil || !isFile(path) {
		return ""
	}
	return path
}

// Build compiles the shim for the torch in a folder. compiler is the name or path of a C++ compiler; "" means DefaultCompiler. Build does
// nothing if torch has the ABI or the shim exists. Without a compiler or torch's headers, Build returns ErrMissing, and the error says what
// to install.
func Build(ctx context.Context, folder, compiler string) error {
	if has, err := exports(cpuLibrary(folder), "aoti_torch_empty_strided"); err != nil {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	} else if has || Shim(folder) != "" {
		return nil
	}
	if compiler == "" {
		compiler = DefaultCompiler
	}
	program, err := exec.LookPath(compiler)
	if err != nil {
		return fmt.Errorf("%w: no C++ compiler: %w; install one (g++ of Debian), or name one with --compiler or CXX", ErrMissing, err)
	}
	include, err := headers(folder)
	if err != nil {
		return err
	}
	out, err := shimPath(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), ".build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "shim.so")
	// Headers in the system's folder are found without an option; an option would change the search order.
	args := []string{"-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w", "-pipe", "-o", made}
	if include != "/usr/include" {
		args = append(args, "-isystem", include)
	}
	args = append(args, "-isystem", filepath.Join(include, "torch", "csrc", "api", "include"), "-x", "c++", "-", "-x", "none",
		cpuLibrary(folder), fileOf(folder, "libc10.so"))
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(shimSource), &said, &said
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s does not compile the shim for the torch in %s: %w: %s", program, folder, err, complaint(said.String()))
	}
	return os.Rename(made, out)
}

// complaint returns the errors in a compiler's output or, if it contains no errors, the output itself: at most five lines.
func complaint(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	wrong := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, "error:") })
	if len(wrong) == 0 {
		wrong = lines
	}
	return strings.Join(wrong[:min(len(wrong), 5)], "; ")
}

// headers returns the folder of torch's headers for the folder of its libraries. For lib of an unpacked libtorch it is include beside lib.
// For Debian's PREFIX/lib/x86_64-linux-gnu it is PREFIX/include.
func headers(folder string) (string, error) {
	var looked []string
	for _, up := range []string{"../include", "../../include"} {
		dir := filepath.Join(folder, filepath.FromSlash(up))
		if isFile(filepath.Join(dir, "torch", "library.h")) && isFile(filepath.Join(dir, "ATen", "core", "Tensor.h")) {
			return dir, nil
		}
		looked = append(looked, dir)
	}
	return "", fmt.Errorf("%w: no headers of torch in %s; install them (libtorch-dev of Debian)", ErrMissing, strings.Join(looked, " or "))
}

// fileOf returns the path of a library of torch in a folder. Only development packages contain a file called name. If no such file exists,
// fileOf looks for name followed by a version.
func fileOf(folder, name string) string {
	path := filepath.Join(folder, name)
	if isFile(path) {
		return path
	}
	found, _ := filepath.Glob(path + ".[0-9]*") // finds nothing in a folder with special characters
	slices.Sort(found)
	for _, p := range found {
		if isFile(p) {
			return p
		}
	}
	return path
}

// cpuLibrary returns the path of the library that contains torch's kernels for the cpu.
func cpuLibrary(folder string) string { return fileOf(folder, libraries[0]) }

// exports reports whether the ELF library at path defines the function name.
func exports(path, name string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return false, nil
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF }), err
}
