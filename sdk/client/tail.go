package client

import (
	"bytes"
	"strings"
	"sync"

	"github.com/goburn/burn/internal/plain"
)

// tail keeps the end of a plugin's output.
type tail struct {
	mu sync.Mutex
	b  []byte
	// The first line of a panic, whose trace may exceed the kept lines.
	panic string
}

const tailSize = 8 << 10

// Write appends p, which is a line, and removes old lines beyond the limit.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panic == "" && (bytes.HasPrefix(p, []byte("panic: ")) || bytes.HasPrefix(p, []byte("fatal error: ")) ||
		bytes.HasPrefix(p, []byte("SIGSEGV: "))) {
		t.panic = clipLine(plain.Log(strings.TrimSpace(string(p))))
	}
	t.b = append(t.b, p[max(0, len(p)-tailSize):]...)
	if len(t.b) > 2*tailSize {
		t.b = append(t.b[:0], t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

// last returns up to n lines from the end, joined by " | ". It omits debug lines of the log and the traceback of a Python error, and
// returns the first lines of a panic instead of its trace.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panic != "" {
		return t.panic
	}
	var lines []string
	traced := false // these are lines of a traceback of Python, whose error follows
	for l := range bytes.Lines(t.b) {
		s := strings.TrimSpace(string(l))
		if traced = s == pythonTrace || traced && (l[0] == ' ' || l[0] == '\t'); traced {
			continue
		}
		if s == "" || strings.Contains(s, `"@level":"debug"`) || strings.Contains(s, `"@level":"trace"`) {
			continue
		}
		lines = append(lines, clipLine(plain.Log(s)))
	}
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

func clipLine(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}
