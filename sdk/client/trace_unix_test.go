//go:build unix

package client_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// logText is a log that may be read while it is written.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

// TestTraces checks that the ordinary log has one line for a panic, whether the plugin survives it or not, with the cause, the place and
// the remedy. At level debug the log has the trace too.
func TestTraces(t *testing.T) {
	for name, c := range map[string]struct {
		mode    string
		options map[string]string
		want    []string
	}{
		"in a submit":   {fake.Good, map[string]string{"panic_submit": "1"}, []string{"in=\"submit of full, neg\""}},
		"while opening": {fake.Good, map[string]string{"open": "panic"}, []string{"panic: driver fell over", "in=open"}},
		"at the start":  {fake.CrashAtStart, nil, []string{"panic: no firmware"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range []hclog.Level{hclog.Warn, hclog.Debug} {
				text := &logText{}
				b, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + c.mode},
					Config: core.Config{Options: c.options}, Logger: hclog.New(&hclog.LoggerOptions{Level: level, Output: text})})
				if err == nil {
					s := open(t, b)
					made := full(t, 1, 2, 2)
					require.NoError(t, s.Submit([]op.Node{made, node(t, "neg", 2, made.Outputs)}, nil))
					err = core.Sync(context.Background(), s)
					require.NoError(t, b.Close())
				}
				require.Error(t, err)
				require.NotContains(t, err.Error(), "goroutine")
				require.Eventually(t, func() bool {
					return strings.Contains(strings.Join(text.lines(), "\n"), c.want[0])
				}, patience, time.Millisecond)
				all := strings.Join(text.lines(), "\n")
				for _, w := range append(c.want, "remedy=\"report it to the plugin's author") {
					require.Contains(t, all, w)
				}
				if level == hclog.Warn {
					require.Len(t, text.lines(), 1, all)
					require.NotContains(t, all, "goroutine")
				} else {
					require.Eventually(t, func() bool { return strings.Contains(strings.Join(text.lines(), "\n"), "goroutine") }, patience, time.Millisecond)
				}
			}
		})
	}
}
