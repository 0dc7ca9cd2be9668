package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	protocolrules "github.com/goburn/burn/conformance/protocol"
)

// The suite has exactly the parts of the protocol that have rules.
func TestProtocolParts(t *testing.T) {
	var parts []string
	for _, r := range protocolrules.Rules() {
		if part, _, _ := strings.Cut(r.ID, "/"); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	require.ElementsMatch(t, parts, conformance.ProtocolParts())
}

func TestConformanceProtocol(t *testing.T) {
	r := call(t, "conformance", "protocol", "--list", "--run", "^frames/empty$")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "frames/empty             section 4: an empty frame breaks the protocol\n", r.out)

	r = call(t, "conformance", "protocol")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "want the name or the path of a plugin")
	r = call(t, "conformance", "protocol", "no-such-plugin")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "no plugin has the name no-such-plugin")
	r = call(t, "conformance", "protocol", t.TempDir())
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "no file burn-backend-NAME")
	r = call(t, "conformance", "protocol", "x", "--run", "(")
	require.Equal(t, 2, r.code)
}

// For a program that is not a plugin, the report names the broken rules with their sections of the document, as plain text and as JSON.
func TestConformanceProtocolFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the program is a shell script")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-script"), []byte("#!/bin/sh\necho hello\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-script.toml"), []byte("name = \"script\"\n"), 0o644))
	report := filepath.Join(t.TempDir(), "report.json")
	r := call(t, "conformance", "protocol", dir, "--run", "^start/(cookie|handshake)$", "--json", report)
	require.Equal(t, 1, r.code, r.err)
	require.Regexp(t, `(?m)^FAIL start/handshake: start: handshake "hello", want .*\n    section 1: `, r.out)
	require.Regexp(t, `0 passed, 2 failed, 0 skipped\n$`, r.out)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	var back protocolrules.Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, 2, back.Failed)
	require.Equal(t, 1, back.Results[1].Section)
}
