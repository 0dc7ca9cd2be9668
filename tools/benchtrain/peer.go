package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goburn/burn/internal/bench"
)

//go:embed peer.py
var script []byte

// peer is PyTorch in a process of its own. It is a bench.Contestant with what was opened last, used by one goroutine.
type peer struct {
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	samples []time.Duration
}

type answer struct {
	Version string            `json:"version"`
	Loss    float64           `json:"loss"`
	Grads   map[string]string `json:"grads"`
	Samples []int64           `json:"samples"`
	Error   string            `json:"error"`
}

func startPeer(ctx context.Context, python, dir string, threads int) (*peer, error) {
	path := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, err
	}
	p := &peer{cmd: exec.CommandContext(ctx, python, path, strconv.Itoa(threads))}
	// Memory that it freed is not given back to the system, as burn does not either.
	p.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS="+strconv.Itoa(threads), "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_TOP_PAD_=67108864")
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	a, err := p.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it needs the packages numpy and torch", python, err)
	}
	p.version = a.Version
	return p, nil
}

func (p *peer) read() (a answer, err error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("the peer ended: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("peer: %s", a.Error)
	}
	return a, nil
}

func (p *peer) ask(req map[string]any) (answer, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return answer{}, err
	}
	return p.read()
}

// Turn implements bench.Contestant.
func (p *peer) Turn(_ context.Context, d time.Duration) error {
	a, err := p.ask(map[string]any{"do": "turn", "seconds": d.Seconds()})
	for _, s := range a.Samples {
		p.samples = append(p.samples, time.Duration(s))
	}
	return err
}

// Stats implements bench.Contestant.
func (p *peer) Stats() bench.Stats { return bench.Summarize(p.samples) }

func (p *peer) close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
