package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Process is a program that runs another library. It reads a request, one line of JSON, and writes an answer, one line of JSON
// with the field error if the request failed. Only one goroutine may use it.
type Process struct {
	Name    string // name of the library, for errors
	Version string
	Single  bool            // each sample is one call; otherwise it may be the mean of several
	Calls   int             // calls in turns since Open
	Samples []time.Duration // durations of a call in turns since Open
	Used    time.Duration   // processor time of turns since Open, 0 if the program does not report it
	Ended   bool            // the process is gone

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Command returns a command that runs a Python script with arguments. The script's allocator keeps freed memory, as burn's does, and
// its stderr is the stderr of this process.
func Command(ctx context.Context, python, script string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, python, append([]string{script}, args...)...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_TOP_PAD_=67108864")
	c.Stderr = os.Stderr
	return c
}

// Start starts c, which runs the named library on a number of threads, and reads its first answer: {"version": text}.
func Start(c *exec.Cmd, name string, threads int) (*Process, error) {
	c.Env = append(c.Env, "OMP_NUM_THREADS="+strconv.Itoa(threads))
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &Process{Name: name, cmd: c, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	var hello struct{ Version string }
	if err := p.read(&hello); err != nil {
		p.Close()
		return nil, err
	}
	p.Version = hello.Version
	return p, nil
}

// Open sends a request to prepare a workload, and decodes the answer into answer, a pointer to a struct.
func (p *Process) Open(request map[string]any, answer any) error {
	request["do"] = "open"
	p.Samples, p.Calls, p.Used = nil, 0, 0
	return p.ask(request, answer)
}

// Ask sends a request other than Open and Turn, and decodes the answer into answer, a pointer to a struct.
func (p *Process) Ask(request map[string]any, answer any) error { return p.ask(request, answer) }

// Turn runs the open workload for about d, and adds the measurements to Samples, Calls and Used.
func (p *Process) Turn(_ context.Context, d time.Duration) error {
	var a struct {
		Calls     int
		Samples   []time.Duration // in nanoseconds
		Processor time.Duration   // in nanoseconds
	}
	err := p.ask(map[string]any{"do": "turn", "seconds": d.Seconds(), "single": p.Single}, &a)
	p.Samples = append(p.Samples, a.Samples...)
	p.Calls += a.Calls
	p.Used += a.Processor
	return err
}

// Close closes the standard input of the process, and waits until the process has ended.
func (p *Process) Close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

func (p *Process) ask(request map[string]any, answer any) error {
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		p.Ended = true
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return p.read(answer)
}

func (p *Process) read(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.Ended = true
		return fmt.Errorf("%s ended: %w", p.Name, err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if failed.Error != "" {
		return fmt.Errorf("%s: %s", p.Name, failed.Error)
	}
	return json.Unmarshal(line, answer)
}
