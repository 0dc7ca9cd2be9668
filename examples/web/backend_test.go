//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runner is a page that runs a test program. window.output is its output, and window.code its exit code.
const runner = `<!doctype html><script src="wasm_exec.js"></script><script>
window.output = ""; window.code = -1;
const text = new TextDecoder();
globalThis.fs.writeSync = (_, b) => { window.output += text.decode(b, { stream: true }); return b.length; };
const go = new Go();
go.argv = ["test", "-test.v"];
go.env = %s;
go.exit = (c) => { window.code = c; };
WebAssembly.instantiateStreaming(fetch("test.wasm"), go.importObject).then((r) => go.run(r.instance)).catch((e) => { window.output += e; window.code = 2; });
</script>`

// TestBackend runs the tests of plugins/webgpu in Chromium, on a software adapter: they are js/wasm programs that need
// navigator.gpu.
func TestBackend(t *testing.T) {
	if os.Getenv("BURN_WEB") == "" {
		t.Skip("BURN_WEB is not set: `make web` runs the tests of the WebGPU backend in Chromium")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	c := startChromium(t, webgpuFlags...)
	wasm := filepath.Join(t.TempDir(), "test.wasm")
	_, err := goCommand(ctx, platform, "test", "-c", "-o", wasm, "github.com/goburn/burn/plugins/webgpu")
	require.NoError(t, err)
	program, err := os.ReadFile(wasm)
	require.NoError(t, err)
	glue, err := toolchainFile(ctx)
	require.NoError(t, err)
	page := files{}
	page["test.wasm"] = file{data: program}
	page.add("wasm_exec.js", glue)
	page.add("index.html", []byte(fmt.Sprintf(runner, fmt.Sprintf(`{BURN_WEBGPU_SAMPLE: %q}`, os.Getenv("BURN_WEBGPU_SAMPLE")))))
	server := httptest.NewServer(page)
	defer server.Close()
	c.call("Page.navigate", map[string]any{"url": server.URL}, nil)
	var output string
	defer func() { t.Log(output) }()
	for ended := false; !ended; time.Sleep(time.Second) {
		c.evaluate(`window.output || ""`, &output)
		c.evaluate("window.code >= 0", &ended)
		require.NoError(t, ctx.Err(), "the tests have not ended")
	}
	c.evaluate(`window.output || ""`, &output)
	var code int
	c.evaluate("window.code", &code)
	require.Zero(t, code)
	require.Contains(t, output, "--- PASS: TestConformance")
	require.NotContains(t, output, "--- SKIP", "the browser has WebGPU")
	require.True(t, strings.HasSuffix(strings.TrimSpace(output), "PASS"))
}
