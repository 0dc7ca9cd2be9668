package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/peer"
)

//go:embed peers/*.py
var sources embed.FS

// scripts holds the folder of the unpacked programs of the peers, and the Python program that runs them.
type scripts struct {
	dir, python string
}

func newScripts(dir, python string) (*scripts, error) {
	s := &scripts{filepath.Join(dir, "peers"), python}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	return s, fs.WalkDir(sources, "peers", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(s.dir, filepath.Base(path)), b, 0o644)
	})
}

func (s *scripts) path(name string) string { return filepath.Join(s.dir, name) }

// command returns the command that runs a script.
func (s *scripts) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return peer.Command(ctx, s.python, s.path(name), args...)
}

// library is another library in a process. As a bench.Contestant it runs the workload that was opened last.
type library struct{ *peer.Process }

// start starts peer.py, which writes outputs to a new folder in dir.
func (s *scripts) start(ctx context.Context, name string, threads int, dir string) (*library, error) {
	out, err := os.MkdirTemp(dir, name)
	if err != nil {
		return nil, err
	}
	p, err := peer.Start(s.command(ctx, "peer.py", name, strconv.Itoa(threads), out), name, threads)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it needs the packages numpy, onnx, onnxruntime and torch", s.python, err)
	}
	return &library{p}, nil
}

// open sends a request, which the process runs once, and returns the files with the outputs. The next open overwrites the files.
func (l *library) open(request map[string]any) ([]string, error) {
	var a struct{ Outputs []string }
	err := l.Open(request, &a)
	return a.Outputs, err
}

// Stats returns the statistics of the turns since open.
func (l *library) Stats() bench.Stats {
	s := bench.Summarize(l.Samples)
	s.Runs = l.Calls
	return s
}
