//go:build unix

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// webgpuFlags make Chromium compute WebGPU in software (SwiftShader) if there is no GPU.
var webgpuFlags = []string{"--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"}

// maxPacked is the greatest compressed size of the page.
const maxPacked = 8 << 20

// result is the content of window.drawing and window.classified.
type result struct {
	Classes []struct {
		Index int
		Label string
		Value float64
	}
	Values  []float64
	Seconds float64
	Spec    string
	PNG     string
}

// digits maps each digit to its strokes on the pad, which has 280 x 280 pixels.
var digits = map[string][][][2]float64{
	"7": {line(70, 60, 200, 60, 120, 230)},
	"1": {line(140, 50, 140, 230)},
	"4": {line(90, 60, 80, 150, 200, 150), line(180, 70, 180, 230)},
	"0": {circle(140, 140, 55, 85)},
}

func line(xy ...float64) (out [][2]float64) {
	for i := 0; i+3 < len(xy); i += 2 {
		for k := range 10 {
			f := float64(k) / 10
			out = append(out, [2]float64{xy[i] + f*(xy[i+2]-xy[i]), xy[i+1] + f*(xy[i+3]-xy[i+1])})
		}
	}
	return append(out, [2]float64{xy[len(xy)-2], xy[len(xy)-1]})
}

func circle(x, y, rx, ry float64) (out [][2]float64) {
	for k := range 41 {
		a := 2 * math.Pi * float64(k) / 40
		out = append(out, [2]float64{x + rx*math.Sin(a), y - ry*math.Cos(a)})
	}
	return out
}

// TestPage loads the page in headless Chromium. On every device that it lists, digits are drawn with the mouse, and the answer is
// compared with `burn run` for the same picture on the portable level of the cpu backend. The second demo is compared in the same
// way, on its sample and on a selected file. On the cpu the results are bitwise equal, as both run the same Go code.
func TestPage(t *testing.T) {
	if os.Getenv("BURN_WEB") == "" {
		t.Skip("BURN_WEB is not set: `make web` compiles the page and drives it in Chromium")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	c := startChromium(t, webgpuFlags...)
	page, err := build(ctx)
	require.NoError(t, err)
	t.Logf("burn.wasm: %d bytes, %d with gzip", len(page["burn.wasm"].data), len(page["burn.wasm"].packed))
	require.Less(t, len(page["burn.wasm"].packed), maxPacked)
	burn := filepath.Join(t.TempDir(), "burn")
	_, err = goCommand(ctx, nil, "build", "-o", burn, "github.com/goburn/burn/cmd/burn")
	require.NoError(t, err)
	server := httptest.NewServer(page)
	defer server.Close()

	c.call("Page.navigate", map[string]any{"url": server.URL}, nil)
	c.until(ctx, `document.body?.dataset.ready === "yes"`)
	var specs []string
	c.evaluate(`[...document.getElementById("device").options].map((o) => o.value)`, &specs)
	require.Contains(t, specs, "cpu")
	out := os.Getenv("BURN_WEB_OUT")
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			c.t = t
			c.evaluate(fmt.Sprintf(`(() => { const d = document.getElementById("device"); d.value = %q; d.dispatchEvent(new Event("change")); })()`, spec), nil)
			for want, strokes := range digits {
				c.evaluate(`document.getElementById("clear").click()`, nil)
				for _, s := range strokes {
					c.stroke("pad", s...)
				}
				c.until(ctx, fmt.Sprintf(`document.body.dataset.busy === "no" && window.drawing?.spec === %q`, spec))
				var got result
				c.evaluate(`window.drawing`, &got)
				require.Equal(t, want, got.Classes[0].Label)
				picture := filepath.Join(t.TempDir(), "drawn.png")
				png, err := base64.StdEncoding.DecodeString(got.PNG)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(picture, png, 0o666))
				compare(t, spec, got, reference(ctx, t, burn, "../digits/digits.onnx", picture))
				if out != "" {
					c.screenshot(filepath.Join(out, spec+"-"+want+".png"))
				}
			}
			c.evaluate(`delete window.classified; document.getElementById("classify").click()`, nil)
			c.until(ctx, `window.classified`)
			var got result
			c.evaluate(`window.classified`, &got)
			require.Equal(t, "3", got.Classes[0].Label)
			compare(t, spec, got, reference(ctx, t, burn, "../digits/digits.onnx", "../digits/paper_3.png", "--invert"))
		})
	}
	c.t = t
	model, err := filepath.Abs("../digits/digits.onnx")
	require.NoError(t, err)
	picture, err := filepath.Abs("../digits/digit_5.png")
	require.NoError(t, err)
	c.pick("model-file", model)
	c.until(ctx, `document.getElementById("model-name").textContent.startsWith("digits.onnx:")`)
	c.pick("image-file", picture)
	c.until(ctx, `document.getElementById("picture").src.startsWith("blob:")`)
	c.evaluate(`delete window.classified; document.getElementById("device").value = "cpu"; document.getElementById("classify").click()`, nil)
	c.until(ctx, `window.classified`)
	var got result
	c.evaluate(`window.classified`, &got)
	require.Equal(t, 5, got.Classes[0].Index)
	compare(t, "cpu", got, reference(ctx, t, burn, model, picture))
	if out != "" {
		c.screenshot(filepath.Join(out, "picked.png"))
	}
}

// reference returns the scores of a picture that `burn run` computes on the portable level of the cpu backend.
func reference(ctx context.Context, t *testing.T, burn, model, picture string, flags ...string) []float64 {
	t.Helper()
	cmd := exec.CommandContext(ctx, burn, append([]string{"run", model, picture, "--json"}, flags...)...)
	cmd.Env = append(os.Environ(), "BURN_CPU=portable")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	require.NoError(t, err)
	var r struct{ Outputs []struct{ Values []float64 } }
	require.NoError(t, json.Unmarshal(b, &r))
	require.Len(t, r.Outputs, 1)
	require.NotEmpty(t, r.Outputs[0].Values)
	return r.Outputs[0].Values
}

// compare requires equal scores on the cpu, and scores within 1e-5 on other devices.
func compare(t *testing.T, spec string, got result, want []float64) {
	t.Helper()
	require.Len(t, got.Values, len(want))
	worst := 0.0
	for i, w := range want {
		worst = max(worst, math.Abs(got.Values[i]-w))
	}
	t.Logf("%s: class %d in %.1f ms, within %.3g of the command line", spec, got.Classes[0].Index, 1000*got.Seconds, worst)
	if spec == "cpu" {
		require.Equal(t, want, got.Values)
	}
	require.LessOrEqual(t, worst, 1e-5)
}
