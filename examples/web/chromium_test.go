//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chromium is a headless browser, controlled by the DevTools protocol over two pipes: messages are JSON, terminated by a zero
// byte.
type chromium struct {
	t       *testing.T
	to      *os.File
	session string

	mu      sync.Mutex // guards the fields below
	last    int
	waiting map[int]chan answer
}

type answer struct {
	ID     int
	Result json.RawMessage
	Error  *struct{ Message string }
}

// startChromium starts a browser with one page, and closes it at the end of the test.
func startChromium(t *testing.T, flags ...string) *chromium {
	path := os.Getenv("BURN_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium in PATH: install it (Debian: chromium), or name one with BURN_CHROMIUM")
	}
	profile := t.TempDir()
	cmd := exec.Command(path, append([]string{"--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir=" + profile, "--window-size=1000,1000"}, flags...)...)
	theirs, to, err := os.Pipe()
	require.NoError(t, err)
	from, back, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{theirs, back} // 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	theirs.Close()
	back.Close()
	c := &chromium{t: t, to: to, waiting: map[int]chan answer{}}
	go c.receive(from)
	t.Cleanup(func() {
		to.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kills the process group, as the browser has many processes
		_ = cmd.Wait()
		from.Close()
		for range 20 { // retries until the last process has closed the profile
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	return c
}

// receive passes replies to their callers; events are dropped.
func (c *chromium) receive(from *os.File) {
	r := bufio.NewReader(from)
	for {
		b, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &a) != nil || a.ID == 0 {
			continue
		}
		c.mu.Lock()
		w := c.waiting[a.ID]
		delete(c.waiting, a.ID)
		c.mu.Unlock()
		if w != nil {
			w <- a
		}
	}
}

// call calls a method and decodes its result into out, which may be nil.
func (c *chromium) call(method string, params map[string]any, out any) {
	c.t.Helper()
	w := make(chan answer, 1)
	c.mu.Lock()
	c.last++
	m := map[string]any{"id": c.last, "method": method, "params": params}
	c.waiting[c.last] = w
	c.mu.Unlock()
	if c.session != "" {
		m["sessionId"] = c.session
	}
	b, err := json.Marshal(m)
	require.NoError(c.t, err)
	_, err = c.to.Write(append(b, 0))
	require.NoError(c.t, err)
	select {
	case a := <-w:
		if a.Error != nil {
			c.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if out != nil {
			require.NoError(c.t, json.Unmarshal(a.Result, out))
		}
	case <-time.After(time.Minute):
		c.t.Fatalf("%s: no answer in a minute", method)
	}
}

// evaluate evaluates an expression in the page, awaits it if it is a promise, and decodes its value into out, which may be nil.
func (c *chromium) evaluate(expression string, out any) {
	c.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if e := r.ExceptionDetails; e != nil {
		c.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if out != nil {
		require.NoError(c.t, json.Unmarshal(r.Result.Value, out), expression)
	}
}

// until waits until a JavaScript condition of the page is true. An error in the page fails the test.
func (c *chromium) until(ctx context.Context, condition string) {
	c.t.Helper()
	for {
		var ok bool
		if c.evaluate("!!("+condition+")", &ok); ok {
			return
		}
		var fault string
		if c.evaluate(`document.getElementById("fault")?.textContent || ""`, &fault); fault != "" {
			c.t.Fatalf("waiting for %s: the page says: %s", condition, fault)
		}
		if ctx.Err() != nil {
			c.t.Fatalf("waiting for %s: %v", condition, ctx.Err())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stroke draws a line with the mouse through points, in pixels from the corner of an element.
func (c *chromium) stroke(id string, points ...[2]float64) {
	var corner [2]float64
	c.evaluate(fmt.Sprintf(`(() => { const r = document.getElementById(%q).getBoundingClientRect(); return [r.left, r.top]; })()`, id), &corner)
	mouse := func(kind string, p [2]float64) {
		c.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": corner[0] + p[0], "y": corner[1] + p[1], "button": "left", "buttons": 1,
			"clickCount": 1, "pointerType": "mouse"}, nil)
	}
	mouse("mousePressed", points[0])
	for _, p := range points[1:] {
		mouse("mouseMoved", p)
	}
	mouse("mouseReleased", points[len(points)-1])
}

// pick selects a file in a file input.
func (c *chromium) pick(id, path string) {
	var document struct{ Root struct{ NodeID int } }
	c.call("DOM.getDocument", map[string]any{}, &document)
	var node struct{ NodeID int }
	c.call("DOM.querySelector", map[string]any{"nodeId": document.Root.NodeID, "selector": "#" + id}, &node)
	c.call("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "nodeId": node.NodeID}, nil)
}

// screenshot writes a PNG picture of the page.
func (c *chromium) screenshot(path string) {
	var shot struct{ Data string }
	c.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(c.t, os.WriteFile(path, b, 0o666))
}
