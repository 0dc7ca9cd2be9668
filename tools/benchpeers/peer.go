package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goburn/burn/internal/bench"
)

//go:embed peers/*.py
var sources embed.FS

// scripts is the peers' programs, unpacked.
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

// command runs a script. What it keeps of freed memory is not given back to the system, as burn does not either.
func (s *scripts) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.python, append([]string{s.path(name)}, args...)...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_TOP_PAD_=67108864")
	c.Stderr = os.Stderr
	return c
}

// peer is a process that runs another library. It is used by one goroutine, and is a bench.Contestant with what was opened
// last.
type peer struct {
	name, version string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	single        bool // a sample is one call
	calls         int
	samples       []time.Duration
	ended         bool // the process is gone
}

// answer is what a peer says.
type answer struct {
	Version string   `json:"version"`
	Outputs []string `json:"outputs"`
	Calls   int      `json:"calls"`
	Samples []int64  `json:"samples"`
	Error   string   `json:"error"`
}

// start runs peer.py; outputs are written to a folder that lies in dir.
func (s *scripts) start(ctx context.Context, name string, threads int, dir string) (*peer, error) {
	out, err := os.MkdirTemp(dir, name)
	if err != nil {
		return nil, err
	}
	p := &peer{name: name, cmd: s.command(ctx, "peer.py", name, strconv.Itoa(threads), out)}
	p.cmd.Env = append(p.cmd.Env, "OMP_NUM_THREADS="+strconv.Itoa(threads))
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(stdout, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	hello, err := p.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w; it needs the packages numpy, onnx, onnxruntime and torch", s.python, name, err)
	}
	p.version = hello.Version
	return p, nil
}

func (p *peer) read() (answer, error) {
	var a answer
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.ended = true
		return a, fmt.Errorf("%s ended: %w", p.name, err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", p.name, a.Error)
	}
	return a, nil
}

func (p *peer) ask(req map[string]any) (answer, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		p.ended = true
		return answer{}, fmt.Errorf("%s: %w", p.name, err)
	}
	return p.read()
}

// open makes req current, runs it once and gives the files of its outputs, which the next open overwrites.
func (p *peer) open(req map[string]any) ([]string, error) {
	req["do"] = "open"
	p.samples, p.calls = nil, 0
	a, err := p.ask(req)
	return a.Outputs, err
}

// Turn runs what is open for about d.
func (p *peer) Turn(_ context.Context, d time.Duration) error {
	a, err := p.ask(map[string]any{"do": "turn", "seconds": d.Seconds(), "single": p.single})
	for _, s := range a.Samples {
		p.samples = append(p.samples, time.Duration(s))
	}
	p.calls += a.Calls
	return err
}

// Stats sums up the turns since open.
func (p *peer) Stats() bench.Stats {
	s := bench.Summarize(p.samples)
	s.Runs = p.calls
	return s
}

func (p *peer) close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
