package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/model/onnx"
)

// starts is the number of starts of each program.
const starts = 7

// coldModels lists the models whose cold start is measured.
var coldModels = []string{"mnist_cnn", "light_squeezenet"}

// runCold measures the time of programs from their start to their first answer, and the size of their installations.
func runCold(ctx context.Context, o options, s *scripts, r *Result) error {
	if o.models == "" || o.burn == "" {
		return fmt.Errorf("want -data and -burn")
	}
	for _, name := range coldModels {
		commands, err := coldCommands(ctx, o, s, name)
		if err != nil {
			return err
		}
		rows := make([]ColdResult, len(commands))
		samples := make([][]time.Duration, len(commands))
		for range starts {
			for i, c := range commands {
				first, peak, err := firstAnswer(ctx, c.args)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", name, c.program, err)
				}
				rows[i].Model, rows[i].Program, rows[i].Peak = name, c.program, max(rows[i].Peak, peak)
				samples[i] = append(samples[i], first)
			}
		}
		for i := range rows {
			rows[i].First = bench.Summarize(samples[i])
			fmt.Fprintf(os.Stderr, "%-18s %-14s first answer after %v, %d MiB\n", name, rows[i].Program, rows[i].First.Median.Round(time.Millisecond), rows[i].Peak>>20)
		}
		r.Cold = append(r.Cold, rows...)
	}
	return sizes(ctx, o, s, r)
}

type coldCommand struct {
	program string
	args    []string
}

func coldCommands(ctx context.Context, o options, s *scripts, name string) ([]coldCommand, error) {
	model := filepath.Join(o.models, name, "model.onnx")
	m, err := onnx.Load(model, onnx.Options{})
	if err != nil {
		return nil, err
	}
	feed, err := bench.ReadInputs(m, filepath.Join(o.models, name, "test_data_set_0"))
	if err != nil {
		return nil, err
	}
	if len(feed) != 1 {
		return nil, fmt.Errorf("%s has %d inputs, want 1", name, len(feed))
	}
	var in, input string
	for n, v := range feed {
		if input, err = newStore(s.dir).write(v.Tensor); err != nil {
			return nil, err
		}
		in = n
	}
	state := filepath.Join(s.dir, name+".pt")
	if err := s.command(ctx, "torch_models.py", name, state).Run(); err != nil {
		return nil, fmt.Errorf("torch_models.py: %w", err)
	}
	return []coldCommand{
		{"burn run", []string{o.burn, "run", model, "--input", in + "=" + input, "--device", "builtin:cpu"}},
		{"ONNX Runtime", []string{o.python, s.path("cold_ort.py"), model, input}},
		{"PyTorch", []string{o.python, s.path("cold_torch.py"), name, input, state}},
	}, nil
}

// firstAnswer runs a program, and returns the time until it has written a line, and its greatest resident memory in bytes.
func firstAnswer(ctx context.Context, args []string) (time.Duration, int64, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := c.Start(); err != nil {
		return 0, 0, err
	}
	memory := watchMemory(c.Process.Pid)
	r := bufio.NewReader(out)
	_, err = r.ReadString('\n')
	first := time.Since(start)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if werr := c.Wait(); err == nil || werr != nil {
		err = werr
	}
	return first, memory(), err
}

func sizes(ctx context.Context, o options, s *scripts, r *Result) error {
	burn, err := os.Stat(o.burn)
	if err != nil {
		return err
	}
	b, err := s.command(ctx, "footprint.py", "onnxruntime", "torch").Output()
	if err != nil {
		return fmt.Errorf("footprint.py: %w", err)
	}
	var got map[string]struct{ Own, All int64 }
	if err := json.Unmarshal(b, &got); err != nil {
		return err
	}
	r.Sizes = append(r.Sizes, SizeResult{"burn, one file", burn.Size()},
		SizeResult{"onnxruntime, without Python", got["onnxruntime"].Own}, SizeResult{"onnxruntime with what it requires", got["onnxruntime"].All},
		SizeResult{"torch, without Python", got["torch"].Own}, SizeResult{"torch with what it requires", got["torch"].All})
	return nil
}
