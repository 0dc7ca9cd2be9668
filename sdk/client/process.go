package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// process is a plugin process and implements go-plugin's runner. The end of the process is detected by waiting for the process, not by the
// pipes, which a grandchild may hold open.
type process struct {
	name         string
	path         string
	attached     bool // the plugin was started by another program: this process neither waits for it nor ends it
	cmd          *exec.Cmd
	pluginClient *goplugin.Client
	tail         *tail
	logger       hclog.Logger // receives the log of the plugin
	limits       Limits
	dir          string // folder for the plugin's sockets; empty for an attached plugin
	release      func() // releases the folder for sockets
	confined     confinement

	stdout *io.PipeReader

	exited   chan struct{}
	alone    chan struct{}    // closed when exited is closed and no process that the plugin has started remains
	state    *os.ProcessState // set before exited is closed
	quiet    chan struct{}    // closed when standard error was read to its end
	stopOnce sync.Once

	mu       sync.Mutex
	proc     *os.Process
	spawnErr error
	line     string // the handshake
	killed   bool   // by Kill
}

var _ runner.Runner = (*process)(nil)

func newProcess(name, path string) *process {
	return &process{name: name, path: path, exited: make(chan struct{}), alone: make(chan struct{}), quiet: make(chan struct{}), tail: &tail{}, logger: hclog.NewNullLogger()}
}

// Start starts the process, with pipes for its standard files.
func (p *process) Start(context.Context) error {
	err := p.start()
	if err != nil {
		p.mu.Lock()
		p.spawnErr = err
		p.mu.Unlock()
	}
	return err
}

func (p *process) start() (err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		files = append(files, r, w)
	}
	inR, inW, outR, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("given up before the process was started")
	}
	if err := p.confined.spawn(p.cmd, p.dir, p.limits); err != nil {
		return err
	}
	p.proc = p.cmd.Process
	if err := limit(p.proc.Pid, p.limits); err != nil {
		p.logger.Warn("the plugin runs without limits", "error", err)
	}
	for _, f := range []*os.File{inR, outW, errW} {
		f.Close()
	}
	lines, toPlug := io.Pipe()
	p.stdout = lines
	go p.drain(outR, toPlug)
	go p.log(errR, p.logger)
	go func() {
		p.confined.reap(p.cmd)
		p.state = p.cmd.ProcessState
		close(p.exited)
		p.confined.clear()
		close(p.alone)
		// Read the rest of the pipes, but do not wait for a pipe that a grandchild holds open.
		deadline := time.Now().Add(200 * time.Millisecond)
		_ = outR.SetReadDeadline(deadline)
		_ = errR.SetReadDeadline(deadline)
		inW.Close() // closing it earlier would have told the plugin that the host is gone
	}()
	return nil
}

// maxLine bounds the length of the handshake line.
const maxLine = 16 << 10

// drain passes the first line to go-plugin and discards the rest, so that the plugin never blocks at a full pipe.
func (p *process) drain(out *os.File, toPlug *io.PipeWriter) {
	defer out.Close()
	r := bufio.NewReaderSize(out, maxLine)
	line, err := r.ReadSlice('\n')
	text := strings.TrimSpace(string(line))
	p.mu.Lock()
	p.line = text
	p.mu.Unlock()
	if text == "" || errors.Is(err, io.EOF) { // report the end of the process rather than the end of its output
		select {
		case <-p.exited:
		case <-time.After(200 * time.Millisecond):
		}
	}
	if text != "" {
		_, _ = io.WriteString(toPlug, text+"\n")
	}
	toPlug.Close()
	_, _ = io.Copy(&stray{l: p.logger}, r)
}

func (p *process) handshake() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

// Wait waits for the end of the process.
func (p *process) Wait(context.Context) error {
	<-p.exited
	if p.state != nil && !p.state.Success() {
		return errors.New(p.how())
	}
	return nil
}

// Kill ends the process at once, or prevents its start. A process that has ended by itself does not count as killed.
func (p *process) Kill(context.Context) error {
	p.mu.Lock()
	proc := p.proc
	p.killed = p.killed || proc == nil || !p.ended()
	p.mu.Unlock()
	if proc == nil || p.ended() {
		return nil
	}
	if err := proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Stdout returns the handshake line and then ends.
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr returns an empty reader to go-plugin: process.log reads the plugin's standard error.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the path.
func (p *process) Name() string { return p.path }

// ID returns the process id, empty before the start.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc == nil {
		return ""
	}
	return strconv.Itoa(p.proc.Pid)
}

// Diagnose adds nothing: process.diagnose does it.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost changes nothing: both see the same files. It refuses a socket that does not belong to the plugin, and a TCP address that is
// not one of the loopback interface.
func (p *process) PluginToHost(network, addr string) (string, string, error) {
	switch network {
	case "unix":
		if err := ownSocket(p.dir, addr); err != nil {
			return "", "", err
		}
	case "tcp":
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return "", "", err
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return "", "", fmt.Errorf("address %.100q, want one of this machine's loopback", addr)
		}
	}
	return network, addr, nil
}

// HostToPlugin changes nothing.
func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// byUs reports whether the process was ended by Kill.
func (p *process) byUs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed && (p.state == nil || !p.state.Exited())
}

// await waits briefly for the end of the process and of its output.
func (p *process) await(limit time.Duration) {
	for _, c := range []struct {
		done  chan struct{}
		limit time.Duration
	}{{p.exited, limit}, {p.quiet, min(limit, outputWait)}} {
		timer := time.NewTimer(c.limit)
		select {
		case <-c.done:
			timer.Stop()
		case <-timer.C:
			return
		}
	}
}

// outputWait bounds the wait for the last output of a process that has ended, because a child may hold the pipe open.
const outputWait = 25 * time.Millisecond

// how describes how the process ended: "exit status 2", "signal: killed".
func (p *process) how() string {
	if !p.ended() || p.state == nil {
		return "the process still runs"
	}
	if p.limits.Memory > 0 && !p.state.Success() {
		return fmt.Sprintf("%v, under a limit of %d bytes of memory", p.state, p.limits.Memory)
	}
	return p.state.String()
}

// stop asks the process to end, and kills it after patience. It returns once the process is reaped and its folder removed.
func (p *process) stop(patience time.Duration) {
	if p.attached {
		return
	}
	p.stopOnce.Do(func() {
		if patience <= 0 {
			_ = p.Kill(context.Background())
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			p.pluginClient.Kill() // asks the process to end, waits two seconds, kills it
		}()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-gone:
		case <-timer.C:
		}
		_ = p.Kill(context.Background())
		<-gone
		if p.ID() != "" {
			<-p.exited
			<-p.alone
		}
		p.release()
	})
}
