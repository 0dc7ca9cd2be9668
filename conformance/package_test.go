package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

// reported returns a report of the cases that match run. The backend does not claim cos, and computes one element of the sine of
// seven elements wrongly.
func reported(t *testing.T, run string) *conformance.Report {
	t.Helper()
	open := openRef(ref.Claiming(func(c op.Code) bool { return c != op.Cos }), ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if n.Op == op.Sin && err == nil && len(out[0].F) == 7 {
			out[0].F[2] = 9
		}
		return out, err
	}))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: run})
	require.NoError(t, err)
	r.Plugin = conformance.Plugin{Device: "process:ref", File: "burn-backend-ref", SHA256: "00ff"}
	return r
}

const someCases = "^(sin|cos|neg)/f32/[^/]+/plain$"

func TestReports(t *testing.T) {
	t.Parallel()
	r := reported(t, someCases)
	require.Equal(t, [3]int{11, 1, 6}, [3]int{r.Passed, r.Failed, r.Skipped})

	var b bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 18)
	failures := 0
	for i, l := range lines {
		var row struct {
			ID, Status, Op, Type, Reason string
			Profiles                     []string
			Minimal                      *conformance.Minimal
		}
		require.NoError(t, json.Unmarshal([]byte(l), &row))
		require.Equal(t, r.Results[i].ID, row.ID)
		require.Equal(t, "f32", row.Type)
		require.Contains(t, row.Profiles, "core")
		if row.Status == "failed" {
			failures++
			require.Equal(t, "sin", row.Op)
			require.Contains(t, row.Reason, "got 9, want")
			require.Equal(t, "f32[7]", row.Minimal.Inputs[0].Type)
		}
	}
	require.Equal(t, 1, failures)

	b.Reset()
	require.NoError(t, r.WriteJUnit(&b))
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &junit))
	require.Equal(t, [3]int{18, 1, 6}, [3]int{junit.Tests, junit.Failures, junit.Skipped})
	require.Len(t, junit.Suites, 3)
	for _, s := range junit.Suites {
		for _, c := range s.Cases {
			require.Equal(t, s.Name == "sin" && c.Name == "f32/odd/plain", c.Failure != nil)
		}
	}

	b.Reset()
	require.NoError(t, r.WriteHTML(&b))
	html := b.String()
	require.NotRegexp(t, `(?i)(src|href)\s*=\s*["']?(https?:)?//`, html, "the page loads nothing from other addresses")
	for _, want := range []string{"sin/f32/odd/plain", "got 9, want", "burn conformance run process:ref", `class="cell fail"`, `class="cell skip"`, "f32[7]"} {
		require.Contains(t, html, want)
	}

	b.Reset()
	require.NoError(t, r.Write(&b))
	require.Regexp(t, `(?m)^F +sin$`, b.String())
	require.Regexp(t, `\n11 passed, 1 failed, 6 skipped\n$`, b.String())
	require.Regexp(t, `(?m)^profile core +fail `, b.String())
	require.Regexp(t, `(?m)^profile half +not executed `, b.String())
}

// quantReport returns the report of a complete run of quant, a small profile.
func quantReport(t *testing.T) *conformance.Report {
	t.Helper()
	r, err := conformance.Check(context.Background(), openRef(), conformance.Options{Profile: conformance.Quant})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	return r
}

func TestPackage(t *testing.T) {
	t.Parallel()
	r := quantReport(t)
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "report"), filepath.Join(dir, "report.tar.gz")} {
		digest, err := r.WritePackage(path)
		require.NoError(t, err)
		require.Len(t, digest, 64)
		m, err := conformance.Verify(path)
		require.NoError(t, err)
		require.Equal(t, conformance.Quant, m.Profile)
		require.Equal(t, conformance.Current().Hash, m.Suite.Hash)
		require.Equal(t, "ref", m.Backend.Name)
		i := slices.IndexFunc(m.Profiles, func(p conformance.ProfileResult) bool { return p.Profile == conformance.Quant })
		require.Equal(t, conformance.Pass, m.Profiles[i].Verdict)
	}
}

// Verify finds changed, missing and added bytes in every file of a package, a missing file and an added file.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	r := quantReport(t)
	path := filepath.Join(t.TempDir(), "report")
	_, err := r.WritePackage(path)
	require.NoError(t, err)
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 8)
	for _, e := range entries {
		file := filepath.Join(path, e.Name())
		good, err := os.ReadFile(file)
		require.NoError(t, err)
		for k := range 12 {
			bad := slices.Clone(good)
			at := (len(bad) - 1) * k / 11
			bad[at] ^= 1 << (k % 7)
			require.NoError(t, os.WriteFile(file, bad, 0o644))
			_, err = conformance.Verify(path)
			require.ErrorIs(t, err, conformance.ErrTampered, "%s at %d", e.Name(), at)
		}
		for _, bad := range [][]byte{nil, good[:len(good)-1], append(slices.Clone(good), ' ')} {
			require.NoError(t, os.WriteFile(file, bad, 0o644))
			_, err = conformance.Verify(path)
			require.ErrorIs(t, err, conformance.ErrTampered, e.Name())
		}
		require.NoError(t, os.Remove(file))
		_, err = conformance.Verify(path)
		require.ErrorIs(t, err, conformance.ErrTampered, e.Name())
		require.NoError(t, os.WriteFile(file, good, 0o644))
	}
	_, err = conformance.Verify(path)
	require.NoError(t, err)
	more := filepath.Join(path, "more")
	require.NoError(t, os.WriteFile(more, nil, 0o644))
	_, err = conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrTampered)
	require.NoError(t, os.Truncate(more, 256<<20+1)) // a sparse file
	_, err = conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrTampered)
	require.ErrorContains(t, err, "more has 268435457 bytes, want at most 268435456")
}

func TestVerifyFindsTamperingInArchives(t *testing.T) {
	t.Parallel()
	r := quantReport(t)
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	_, err := r.WritePackage(path)
	require.NoError(t, err)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	var at []int
	for i := range 20 { // the header of the archive, its end, and places between
		at = append(at, i, len(good)-1-i, len(good)*i/20)
	}
	for _, i := range at {
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		_, err = conformance.Verify(path)
		require.ErrorIs(t, err, conformance.ErrTampered, "byte %d of %d", i, len(good))
	}
	for _, bad := range [][]byte{good[:len(good)/2], append(slices.Clone(good), 0), {}} {
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		_, err = conformance.Verify(path)
		require.ErrorIs(t, err, conformance.ErrTampered)
	}
}

func TestVerifyFindsIncompleteRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report")
	_, err := reported(t, someCases).WritePackage(path)
	require.NoError(t, err)
	m, err := conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrIncomplete)
	require.ErrorContains(t, err, "have no result")
	require.Equal(t, someCases, m.Run)

	// A run that lost a result, with digests of the remaining results.
	r := quantReport(t)
	r.Results = slices.Delete(r.Results, 5, 6)
	path = filepath.Join(t.TempDir(), "report")
	_, err = r.WritePackage(path)
	require.NoError(t, err)
	_, err = conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrTampered) // the counts include the lost result

	// A profile of which no case could be missing.
	r = quantReport(t)
	r.Options.Profile = "best"
	path = filepath.Join(t.TempDir(), "report")
	_, err = r.WritePackage(path)
	require.NoError(t, err)
	_, err = conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrTampered)
	require.ErrorContains(t, err, `profile "best", want one of [`)
	_, err = conformance.Verify(filepath.Join(path, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Every profile has more than 100 cases, and cases belong to the expected profiles.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range conformance.Profiles() {
		ids, err := conformance.IDs(conformance.Options{Profile: p})
		require.NoError(t, err)
		require.Greater(t, len(ids), 100, p)
		for _, c := range []struct {
			id string
			in []conformance.Profile
		}{
			{"add/f32/same/plain", []conformance.Profile{conformance.InferenceF32, conformance.Core}}, {"add/f16/same/plain", []conformance.Profile{conformance.Half}},
			{"gelu/f32/matrix/decomposed", []conformance.Profile{conformance.NN}}, {"quantize/f32/one/plain", []conformance.Profile{conformance.Quant}},
			{"quantize/f16/one/plain", []conformance.Profile{conformance.Quant, conformance.Half}}, {"cast/f32/to-bf16/plain", []conformance.Profile{conformance.Half}},
			{"stream/poison", []conformance.Profile{conformance.InferenceF32, conformance.Core}}, {"stream/round-trip/f16", []conformance.Profile{conformance.Half}},
			{"claims/add", []conformance.Profile{conformance.Core}}, {"add/f64/same/plain", nil},
			{"level/inference-f32/add", []conformance.Profile{conformance.InferenceF32}}, {"add/i64/same/plain", []conformance.Profile{conformance.Core}},
		} {
			require.Equal(t, p == conformance.All || slices.Contains(c.in, p), slices.Contains(ids, c.id), "%s in %s", c.id, p)
		}
	}
	_, err := conformance.IDs(conformance.Options{Profile: "none"})
	require.ErrorContains(t, err, `profile "none"`)
}

// A lean package contains what Verify needs, without the views that can be generated from it.
func TestLeanPackage(t *testing.T) {
	t.Parallel()
	r := quantReport(t)
	dir := t.TempDir()
	full, lean := filepath.Join(dir, "full.tar.gz"), filepath.Join(dir, "lean.tar.gz")
	_, err := r.WritePackage(full)
	require.NoError(t, err)
	r.Lean = true
	_, err = r.WritePackage(lean)
	require.NoError(t, err)
	whole, err := conformance.Verify(full)
	require.NoError(t, err)
	m, err := conformance.Verify(lean)
	require.NoError(t, err)
	require.Equal(t, whole.Profiles, m.Profiles)
	require.Equal(t, whole.Suite.Hash, m.Suite.Hash)
	for _, view := range []string{conformance.JUnitFile, conformance.PageFile} {
		require.Contains(t, whole.Files, view)
		require.NotContains(t, m.Files, view)
	}
	a, err := os.Stat(full)
	require.NoError(t, err)
	b, err := os.Stat(lean)
	require.NoError(t, err)
	require.Less(t, b.Size(), a.Size())
}
