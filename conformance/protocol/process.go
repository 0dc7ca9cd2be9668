package protocol

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment of section 1.
const (
	cookieKey, cookie = "BURN_PLUGIN", "c7a9f5d0-burn-backend"
	envCert           = "PLUGIN_CLIENT_CERT"
	envDir            = "PLUGIN_UNIX_SOCKET_DIR"
	envHost           = "BURN_HOST_PID"
)

// how lists deviations from an ordinary start.
type how struct {
	stranger bool     // without the cookie
	behind   bool     // by an intermediate process, which becomes the parent and the host, and holds standard input open
	args     []string // arguments of the plugin; they replace those for a host
}

// plugin is a process of the plugin, and the connection to it.
type plugin struct {
	c       *checker
	cmd     *exec.Cmd
	pid     int // process id of the plugin: the process id of cmd, unless there is an intermediate process
	stdin   io.WriteCloser
	dir     string // folder for its socket
	keys    *keys
	gone    chan struct{}
	silent  chan struct{} // closed at the end of standard error
	conn    *connection
	network string
	address string
	cert    []byte // DER, from the handshake

	mu     sync.Mutex
	line   string        // the first line of standard output
	first  chan struct{} // closed when line is set, or at the end of the output
	more   []byte        // standard output after the first line
	stderr []byte
}

// environment returns the environment of the plugin, without the variables that only its host sets.
func (t *test) environment() []string {
	env := t.Env
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{cookieKey, envHost, "BURN_REATTACH"}, name)
	})
}

// start starts the plugin. The process ends with the check, unless it becomes the shared process.
func (t *test) start(w how) *plugin {
	t.starts++
	p := &plugin{c: t.checker, gone: make(chan struct{}), silent: make(chan struct{}), first: make(chan struct{})}
	p.dir = filepath.Join(t.dir, t.prefix+strconv.Itoa(t.starts))
	work := filepath.Join(p.dir, "work")
	t.must("folder", os.MkdirAll(work, 0o700))
	var err error
	p.keys, err = newKeys()
	t.must("certificate", err)
	args := slices.Concat(t.Command[1:], w.args)
	env := append(t.environment(), "BURN_PLUGIN_DIR="+filepath.Dir(t.Command[0]), "TMPDIR="+work)
	if w.args == nil {
		env = append(env, envDir+"="+p.dir, "PLUGIN_PROTOCOL_VERSIONS=1", envCert+"="+string(p.keys.rootPEM), "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000",
			envHost+"="+strconv.Itoa(os.Getpid()), "BURN_HOST_PIPE=stdin", "BURN_PLUGIN_RUN=0")
		if !w.stranger {
			env = append(env, cookieKey+"="+cookie)
		}
	}
	p.cmd = exec.Command(t.Command[0], args...)
	if w.behind {
		// The shell becomes the host and the parent. A process that it leaves behind still holds standard input open.
		script := `exec 3<&0; ` + envHost + `=$$; export ` + envHost + `; "$@" <&3 3<&- & echo "pid $!" >&2; wait`
		p.cmd = exec.Command("/bin/sh", append([]string{"-c", script, "sh", t.Command[0]}, args...)...)
	}
	p.cmd.Dir, p.cmd.Env = work, env
	ownGroup(p.cmd)
	in, inW, err := os.Pipe()
	t.must("pipe", err)
	defer in.Close()
	p.cmd.Stdin, p.stdin = in, inW
	out, outW, err := os.Pipe()
	t.must("pipe", err)
	errR, errW, err := os.Pipe()
	t.must("pipe", err)
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	err = p.cmd.Start()
	outW.Close()
	errW.Close()
	t.must("start "+t.Command[0], err)
	p.pid = p.cmd.Process.Pid
	go p.readOut(out)
	go p.readErr(errR)
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	t.later(func() {
		if t.shared != p && t.unseen != p {
			p.stop()
		}
	})
	return p
}

func (p *plugin) readOut(out *os.File) {
	defer out.Close()
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	p.mu.Lock()
	p.line = strings.TrimRight(line, "\r\n")
	close(p.first)
	p.mu.Unlock()
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		p.mu.Lock()
		if len(p.more) < 1<<16 {
			p.more = append(p.more, b[:n]...)
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *plugin) readErr(r *os.File) {
	defer close(p.silent)
	defer r.Close()
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		p.mu.Lock()
		if p.stderr = append(p.stderr, b[:n]...); len(p.stderr) > 1<<16 {
			p.stderr = p.stderr[len(p.stderr)-1<<15:]
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// last returns the last lines that the plugin wrote to standard error.
func (p *plugin) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(p.stderr)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// firstLine waits for the first line of standard output. It is "" if there is none.
func (p *plugin) firstLine(limit time.Duration) (line string, came bool) {
	select {
	case <-p.first:
	case <-time.After(limit):
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line, true
}

func (p *plugin) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *plugin) how() string {
	if !p.ended() {
		return "it runs"
	}
	return p.cmd.ProcessState.String()
}

// wantEnd waits for the end of the process. what names the reason why it ends, for the error.
func (p *plugin) wantEnd(t *test, what string, limit time.Duration) {
	select {
	case <-p.gone:
	case <-time.After(limit + t.Slack):
		t.fail("%s: the process still runs after %v", what, limit+t.Slack)
	}
}

// stop ends the process at once and removes its folder. It keeps the output after the handshake.
func (p *plugin) stop() {
	if p.conn != nil {
		p.conn.close()
	}
	killGroup(p.cmd)
	<-p.gone
	p.stdin.Close()
	_ = os.RemoveAll(p.dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.more) > 0 {
		p.c.noises = append(p.c.noises, fmt.Sprintf("%.60q", p.more))
	}
}
