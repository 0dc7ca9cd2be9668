package child

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
)

// job is a text for a child that compiles, and result its answer.
type job struct {
	Text    string
	Options []string
}

type result struct {
	Code []byte
	Err  string
}

func (l *Libraries) compile(library string, in io.Reader, out io.Writer) int {
	compile, err := l.Load(library)
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		if dec.Decode(&j) != nil {
			return 0
		}
		r := result{}
		if err != nil {
			r.Err = err.Error()
		} else {
			code, log, err := compile(j.Text, j.Options)
			if r.Code = code; err != nil {
				r.Err = fmt.Sprintf("%v\n%s", err, strings.TrimSpace(log))
			}
		}
		if enc.Encode(r) != nil {
			return 1
		}
	}
}

// Compilers are children that compile: as many as there are texts being compiled at the same time. The children end with this process.
type Compilers struct {
	Program string // path of the program that the children run
	Name    string // name of the compiler
	Library string // file of the compiler
	Hint    string // remedy in the error if the compiler ends its process

	mu     sync.Mutex // guards the fields below
	idle   []*compiler
	closed bool
}

// compiler is a child. One goroutine at a time uses it.
type compiler struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	enc  *json.Encoder
	dec  *json.Decoder
	said tail
}

// Compile compiles a text. If the child ends, only this text fails.
func (c *Compilers) Compile(ctx context.Context, text string, options []string) ([]byte, error) {
	x, err := c.take()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = x.cmd.Process.Kill() }) // the child may have ended already
	var r result
	if err = x.enc.Encode(job{text, options}); err == nil {
		err = x.dec.Decode(&r)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = x.in.Close()
		ended := x.cmd.Wait()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", core.ErrCanceled, ctx.Err())
		}
		return nil, x.said.with(fmt.Errorf("%s of %s ended the process that it compiled in (%v); %s: %w", c.Name, c.Library, ended, c.Hint, core.ErrKernel))
	}
	c.give(x)
	if r.Err != "" {
		return nil, fmt.Errorf("%w: %s", core.ErrKernel, r.Err)
	}
	return r.Code, nil
}

// take returns an idle child, or a new one.
func (c *Compilers) take() (*compiler, error) {
	c.mu.Lock()
	if n := len(c.idle) - 1; n >= 0 {
		x := c.idle[n]
		c.idle = c.idle[:n]
		c.mu.Unlock()
		return x, nil
	}
	c.mu.Unlock()
	x := &compiler{cmd: exec.Command(c.Program, Flag, "compile", c.Library)}
	x.cmd.Stderr = &x.said
	out, err := x.cmd.StdoutPipe()
	if err == nil {
		x.in, err = x.cmd.StdinPipe()
	}
	if err == nil {
		err = x.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("a process to compile in: %w", err)
	}
	x.enc, x.dec = json.NewEncoder(x.in), json.NewDecoder(out)
	return x, nil
}

// give marks a child as idle again.
func (c *Compilers) give(x *compiler) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.idle = append(c.idle, x)
	}
	c.mu.Unlock()
	if closed {
		x.end()
	}
}

// Close ends all children.
func (c *Compilers) Close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.closed = nil, true
	c.mu.Unlock()
	for _, x := range idle {
		x.end()
	}
}

func (x *compiler) end() {
	_ = x.in.Close() // the child ends at the end of its input
	_ = x.cmd.Wait()
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-stderrBytes):]
	return len(b), nil
}

// with appends the last bytes to an error.
func (t *tail) with(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	said, _, _ := strings.Cut(string(t.b), "\nPC=") // the beginning of the stack traces of a crash
	if said = strings.TrimSpace(said[max(0, len(said)-saidBytes):]); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}
