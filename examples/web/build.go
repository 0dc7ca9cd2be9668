package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed site
var site embed.FS

// program is the package that is compiled.
const program = "github.com/goburn/burn/examples/web/page"

var errNoGo = errors.New("the page is compiled when the server starts: install Go (https://go.dev/dl) and have the go command in PATH")

// build compiles the program and collects the files of the page.
func build(ctx context.Context) (files, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errNoGo
	}
	folder, err := goCommand(ctx, nil, "list", "-e", "-f", "{{.Dir}}", program)
	if err != nil {
		return nil, err
	}
	if folder == "" {
		return nil, fmt.Errorf("the source of %s is not here: start this in the tree of burn, or of a module that requires it", program)
	}
	temp, err := os.MkdirTemp("", "burn-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	wasm := filepath.Join(temp, "burn.wasm")
	if _, err := goCommand(ctx, platform, "build", "-trimpath", "-ldflags=-s -w", "-o", wasm, program); err != nil {
		return nil, err
	}
	digits := filepath.Join(folder, "..", "..", "digits")
	glue, err := toolchainFile(ctx)
	if err != nil {
		return nil, err
	}
	out := files{}
	out.add("wasm_exec.js", glue)
	for name, path := range map[string]string{
		"burn.wasm":   wasm,
		"digits.onnx": filepath.Join(digits, "digits.onnx"),
		"labels.txt":  filepath.Join(digits, "labels.txt"),
		"sample.png":  filepath.Join(digits, "paper_3.png"),
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out.add(name, data)
	}
	list, err := site.ReadDir("site")
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		data, err := site.ReadFile("site/" + f.Name())
		if err != nil {
			return nil, err
		}
		out.add(f.Name(), data)
	}
	return out, nil
}

// platform is the environment for compiling to the browser.
var platform = []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}

// toolchainFile returns the script that starts a program in a browser. It belongs to the toolchain that compiled the program.
func toolchainFile(ctx context.Context) ([]byte, error) {
	root, err := goCommand(ctx, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
}

// goCommand runs the go command and returns its standard output; an error contains its messages.
func goCommand(ctx context.Context, environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), environment...)
	var faults strings.Builder
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(faults.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
