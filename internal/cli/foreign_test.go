package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/stretchr/testify/require"
)

// planted is a text that clears a terminal, moves the cursor back, starts lines and reverses text; escaped is its escaped form.
const (
	planted = "x\x1b[2J\r\nburn: all is well\ty\u202ez\u009b"
	escaped = `x\x1b[2J\r\nburn: all is well\ty\u202ez\u009b`
)

// requirePlain requires that text has the given number of line ends and no other control characters.
func requirePlain(t *testing.T, lines int, text string) {
	t.Helper()
	require.Equal(t, lines, strings.Count(text, "\n"), "%q", text)
	for _, r := range text {
		require.True(t, r == '\n' || unicode.IsPrint(r), "%U in %q", r, text)
	}
}

// TestForeignText checks that text from others is printed escaped, on the line that it belongs to.
func TestForeignText(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &app{out: &out, err: &errOut, started: true}
	device := host.Device{DeviceInfo: core.DeviceInfo{Name: planted, Kind: planted, Detail: planted}, Emulated: []string{planted}}
	all := []host.Status{
		{Name: "cpu", Transport: host.Process, State: host.Ready, Version: planted, Protocol: planted, Devices: []host.Device{device}},
		{Name: "npu", Transport: host.Process, State: host.Failed, Path: planted, Origin: planted,
			Failure: &host.Failure{Cause: "crash", Detail: planted, Remedy: planted}},
	}
	require.NoError(t, a.printDevices(all))
	requirePlain(t, 9, out.String()) // header, row, "not used" with a blank line, name, file, found in, cause, remedy
	require.Contains(t, out.String(), escaped)

	out.Reset()
	a.printReport(&store.Store{}, &store.Report{Problems: []store.Problem{{Plugin: planted, What: planted, Remedy: planted}}, Notes: []string{planted}})
	requirePlain(t, 4, out.String())

	out.Reset()
	x := inspection{Model: planted, Graph: planted, Producer: planted, Opsets: map[string]int{planted: 1}, Device: planted, Assumed: []string{planted},
		Inputs: []valueInfo{{Name: planted, Type: planted}}, Outputs: []valueInfo{{Name: planted, Type: planted}},
		Operators: []operatorInfo{{Name: planted, Count: 1, Support: planted}}, Ops: []opInfo{{Op: planted, DType: planted}}, Partial: planted, open: []string{planted}}
	require.NoError(t, a.printInspection(x, true))
	requirePlain(t, 21, out.String())

	out.Reset()
	printTop(&out, planted, value([]int{1, 2}, float32(1), 0).Tensor, []topRow{{Label: planted, Value: 1}, {Index: 1, Label: "b"}}, false)
	requirePlain(t, 3, out.String())
	require.Contains(t, out.String(), escaped)

	out.Reset()
	require.NoError(t, a.json(all))
	requirePlain(t, strings.Count(out.String(), "\n"), out.String())

	a.banner(planted, planted)
	requirePlain(t, 4, errOut.String())
}

// TestForeignErrors checks that foreign lines in an error are indented or escaped, so that they do not look like lines of burn.
func TestForeignErrors(t *testing.T) {
	a := &app{started: true}
	text := a.errorText(errors.New("plugin: " + planted))
	requirePlain(t, 1, text)
	require.Contains(t, text, "\n    burn: all is well")
	text = a.errorText(remedyBelow(&store.Refusal{What: planted, Err: store.ErrLocked, Remedy: planted}))
	requirePlain(t, 1, text)
	require.Contains(t, text, "\nremedy: "+escaped)
}

// TestForeignManifest checks that commands escape the texts in the manifest and in the output of a plugin.
func TestForeignManifest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script is no plugin there")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-npu"), []byte("#!/bin/sh\nprintf 'x\\033[2J\\r\\n\\342\\200\\256y' >&2; exit 3\n"), 0o700))
	manifest := filepath.Join(dir, "burn-backend-npu.toml")
	for _, text := range []string{
		`name = "x\u001b[2J\r\n\u202e"`,
		`kind = "x\u001b[2J\r\n\u202e"`,
		`os = "x\u001b[2J\r\n\u202e"`,
		`version = "x\u001b[2J\r\n\u202e"`,
		"[\"x\u202e",
	} {
		require.NoError(t, os.WriteFile(manifest, []byte(text), 0o600))
		for _, command := range []string{"devices", "doctor"} {
			r := call(t, command, "--plugin-path", dir)
			for _, text := range []string{r.out, r.err} {
				requirePlain(t, strings.Count(text, "\n"), text)
			}
			require.Contains(t, r.out, "npu")
		}
	}
}
