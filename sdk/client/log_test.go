package client

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// TestForeignLog checks that each line that a plugin writes becomes one line of the log, without characters that control a terminal.
func TestForeignLog(t *testing.T) {
	var out bytes.Buffer
	l := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace})
	logLine(l, "\x1b[2Jgone\u202e\r\u009b", noTrace)
	logLine(l, "\tat main.go:3", noTrace)
	logLine(l, `{"@level":"info","@message":"a\u001b[2J\nb","@module":"x.y\n","k\n":"v\n\u202e","list":["\n"],"n":1}`, noTrace)
	require.Equal(t, 3, strings.Count(out.String(), "\n"), "%q", out.String())
	for _, r := range out.String() {
		require.True(t, r == '\n' || unicode.IsPrint(r), "%U in %q", r, out.String())
	}
	require.Contains(t, out.String(), `\x1b[2Jgone\u202e\r\u009b`)
	require.Contains(t, out.String(), "    at main.go:3")
	require.Contains(t, out.String(), "n=1")
	var p tail
	_, _ = p.Write([]byte("x\x1b[2J\u202e\n"))
	require.Equal(t, `x\x1b[2J\u202e`, p.last(3))
}

// TestTraceLines checks that of a panic in Go, and of an exception in Python, one line is logged as an error and the others at level debug.
func TestTraceLines(t *testing.T) {
	for name, text := range map[string]string{
		"panic: no card":      "panic: no card\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1d\nexit status 2\n",
		"ValueError: no card": "Traceback (most recent call last):\n  File \"/src/b.py\", line 3, in <module>\n    open()\nValueError: no card\n",
	} {
		var out bytes.Buffer
		l := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
		var p tail
		in := noTrace
		for line := range strings.Lines(text) {
			_, _ = p.Write([]byte(line))
			in = logLine(l, strings.TrimRight(line, "\n"), in)
		}
		require.Equal(t, 1, strings.Count(out.String(), "\n"), "%q", out.String())
		require.Contains(t, out.String(), "[ERROR] "+name+": remedy=\"report it to the plugin's author")
		require.Equal(t, name, p.last(5))
	}
}
