package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/peer"
)

//go:embed peer.py
var script []byte

// library is PyTorch in a separate process. As a bench.Contestant it runs the case that was opened last.
type library struct {
	*peer.Process
	mode string
}

// answer is the result of PyTorch for a case: the loss, and the gradients as files.
type answer struct {
	Loss  float64
	Grads map[string]string
}

// result is the result of PyTorch for many steps.
type result struct {
	Seconds   float64 // time per step in seconds
	Losses    []float64
	Reserved  int64 // greatest number of bytes that PyTorch had allocated on the device, including pools
	Allocated int64 // greatest number of bytes in use
}

// startLibrary starts PyTorch on device, which is named in PyTorch's notation. mode is eager, or a mode of torch.compile.
func startLibrary(ctx context.Context, python, dir string, threads int, device, mode string) (*library, error) {
	path := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, err
	}
	p, err := peer.Start(peer.Command(ctx, python, path, strconv.Itoa(threads), device, mode), "PyTorch "+mode, threads)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it needs the packages numpy and torch", python, err)
	}
	return &library{p, mode}, nil
}

// Stats implements bench.Contestant.
func (l *library) Stats() bench.Stats { return bench.Summarize(l.Samples) }
