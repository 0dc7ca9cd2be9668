package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/goburn/burn/internal/plain"
)

const (
	maxLogLine = 16 << 10
	// A plugin may log this many lines at once, and this many per second in the long run. Further lines are only counted.
	logBurst = 1000
	logRate  = 100
	// floodPause slows down a plugin that logs far too much.
	floodPause = 5 * time.Millisecond
)

// log reads the plugin's standard error until its end. It adds each line to the tail and logs it. A line in
// hclog's JSON format is logged with its level and fields, any other line as text.
func (p *process) log(f *os.File, l hclog.Logger) {
	defer close(p.quiet)
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLogLine)
	b := bucket{left: logBurst, at: time.Now()}
	defer func() { b.report(l) }()
	var in trace
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			_, _ = p.tail.Write(line)
			if line[len(line)-1] != '\n' {
				_, _ = p.tail.Write([]byte{'\n'})
			}
			if b.take(l) {
				in = logLine(l, strings.TrimRight(string(line), "\r\n"), in)
			} else if b.dropped%logRate == 0 && !p.ended() {
				time.Sleep(floodPause)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			_, _ = io.Copy(io.Discard, r)
			return
		}
	}
}

// bucket limits the rate of logged lines.
type bucket struct {
	left    float64
	at      time.Time
	dropped int
	told    time.Time
}

// take reports whether one more line may be logged.
func (b *bucket) take(l hclog.Logger) bool {
	now := time.Now()
	b.left = min(logBurst, b.left+now.Sub(b.at).Seconds()*logRate)
	b.at = now
	if b.left < 1 {
		b.dropped++
		if now.Sub(b.told) > 5*time.Second {
			b.told = now
			l.Warn("the plugin floods its standard error; lines are dropped", "dropped", b.dropped)
		}
		return false
	}
	b.left--
	return true
}

func (b *bucket) report(l hclog.Logger) {
	if b.dropped > 0 {
		l.Warn("lines of the plugin's standard error were dropped", "dropped", b.dropped)
	}
}

// traceFields are the names of log fields with a stack trace, which is useful only to the plugin's author.
var traceFields = []string{"stack", "stacktrace"}

// trace is the kind of trace that a plugin is printing.
type trace int

const (
	noTrace  trace = iota
	ofGo           // from the first line of a panic to the end
	ofPython       // the indented lines of a traceback, which precede the error
)

const pythonTrace = "Traceback (most recent call last):"

const reportIt = "report it to the plugin's author with the trace, which the log has at level debug"

// logLine logs a line and returns the trace that the next line may belong to. The line with the error is logged as an error, and
// the trace at level debug, like a trace in a field of a log line.
func logLine(l hclog.Logger, line string, in trace) trace {
	var m map[string]any
	if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &m) == nil {
		text, isLog := m["@message"].(string)
		level, _ := m["@level"].(string)
		if at := hclog.LevelFromString(level); isLog && at != hclog.NoLevel {
			module, _ := m["@module"].(string)
			var fields, traces []any
			for _, k := range slices.Sorted(maps.Keys(m)) {
				switch {
				case slices.Contains(traceFields, k):
					traces = append(traces, plain.Text(k), field(m[k]))
				case !strings.HasPrefix(k, "@"):
					fields = append(fields, plain.Text(k), field(m[k]))
				}
			}
			if _, sub, ok := strings.Cut(module, "."); ok {
				fields = append(fields, "module", plain.Text(sub))
			}
			l.Log(at, plain.Log(text), fields...)
			if len(traces) > 0 {
				l.Log(min(at, hclog.Debug), "trace of "+plain.Log(text), traces...)
			}
			return noTrace
		}
	}
	indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
	line = plain.Log(line)
	switch {
	case line == "":
	case in == ofGo, in == ofPython && indented:
		l.Debug(line)
	case in == ofPython:
		l.Error(line, "remedy", reportIt)
		return noTrace
	case startsPanic(line):
		l.Error(line, "remedy", reportIt)
		return ofGo
	case line == pythonTrace:
		l.Debug(line)
		return ofPython
	default:
		l.Info(line)
	}
	return in
}

// startsPanic reports whether a line is the first line of a Go panic.
func startsPanic(line string) bool {
	return slices.ContainsFunc([]string{"panic: ", "fatal error: ", "runtime: ", "SIGSEGV: "}, func(s string) bool { return strings.HasPrefix(line, s) })
}

// field returns the value of a field of a log line, safe to print.
func field(v any) any {
	switch v.(type) {
	case float64, bool, nil:
		return v
	}
	return plain.Text(fmt.Sprint(v))
}

// stray counts the bytes that a plugin prints to standard output after its handshake, although it must print nothing more.
type stray struct {
	l hclog.Logger
	n int64
}

func (s *stray) Write(b []byte) (int, error) {
	if s.n == 0 && len(b) > 0 {
		s.l.Warn("the plugin prints to its standard output, which is dropped", "begins", fmt.Sprintf("%.60q", b))
	}
	s.n += int64(len(b))
	return len(b), nil
}
