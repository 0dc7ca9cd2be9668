package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// bare is a backend without extensions.
type bare struct{ core.Backend }

type bareDevice struct{ core.Device }

func (b bare) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, index)
	return bareDevice{d}, err
}

func (bareDevice) Extend(any) bool { return false }

// plainest is the least backend of a profile: it claims only primitives, only on the given types, and has no extensions.
// more, if not nil, changes its capabilities further.
type plainest struct {
	types dtype.Set
	more  func(c *core.Capabilities)
}

func (p plainest) open() func() (core.Backend, error) {
	return func() (core.Backend, error) {
		return bare{ref.New(ref.Claiming(func(c op.Code) bool { return op.Lookup(c).Class == op.Primitive }), ref.Declaring(func(c *core.Capabilities) {
			c.Features, c.Types = nil, p.types
			for _, claim := range c.Ops {
				for _, sets := range [][]dtype.Set{claim.Operands, claim.Results} {
					for i := range sets {
						sets[i] &= p.types
					}
				}
			}
			if p.more != nil {
				p.more(c)
			}
		}))}, nil
	}
}

// least maps each profile that a release lists to its least backend.
var least = map[conformance.Profile]plainest{
	conformance.InferenceF32: {dtype.SetOf(dtype.F32, dtype.I32, dtype.Bool), narrow},
	conformance.Core:         {dtype.Required, nil},
	conformance.Storage:      {dtype.Required, nil},
	conformance.NN:           {dtype.Required, nil},
	conformance.Training:     {dtype.Required, nil},
	conformance.Half:         {dtype.Required | dtype.SetOf(dtype.F16, dtype.BF16), nil},
	conformance.Quant:        {dtype.Any, nil},
}

// A release lists every profile except All, and requires nothing that the least backend of the profile lacks: it claims only primitives
// and has no extensions. The sample has every kind of test of every op.
func TestReleaseDemandsNoMoreThanPrimitives(t *testing.T) {
	t.Parallel()
	releases, err := conformance.Releases()
	require.NoError(t, err)
	require.NotEmpty(t, releases)
	r := releases[0]
	for _, p := range conformance.Profiles() {
		if p == conformance.All {
			require.False(t, r.Lists(p), "no backend has everything")
			continue
		}
		require.True(t, r.Lists(p), p)
		ids, err := conformance.IDs(conformance.Options{Profile: p})
		require.NoError(t, err)
		must := 0
		for _, id := range ids {
			if r.Must(p, id) {
				must++
			}
		}
		require.Greater(t, must, 40, p)
		report, err := conformance.Check(t.Context(), least[p].open(), conformance.Options{Profile: p, Sample: sampled(30), Shrink: -1})
		require.NoError(t, err)
		asked := 0
		for _, x := range report.Results {
			if !r.Must(p, x.ID) {
				continue
			}
			asked++
			if x.Status != conformance.Passed {
				t.Errorf("%s: %s %s", x.ID, x.Status, x.Reason)
			}
		}
		require.NotZero(t, asked, p)
	}
}

func TestParseRelease(t *testing.T) {
	t.Parallel()
	head := "date 2026-11-23\nsuite " + strings.Repeat("0", 64) + "\n"
	for text, want := range map[string]string{
		"":                                 "want both",
		"date 2026-11-23\n":                "want both",
		"date 23.11.2026\n":                "want YYYY-MM-DD",
		head + "must core (\n":             "line 3",
		head + "must best .\n":             "line 3",
		head + "must core\n":               "line 3",
		head + "mustn't core .\n":          `"mustn't"`,
		head + "optional everything ^a/\n": "line 3",
	} {
		_, err := conformance.ParseRelease(text)
		require.ErrorContains(t, err, want, text)
	}
	r, err := conformance.ParseRelease(head + "# of all\n#without a space\n  # indented\nmust core .\noptional core /program$\nmust nn /decomposed$\n")
	require.NoError(t, err)
	require.True(t, r.Must(conformance.Core, "add/f32/same/plain"))
	require.False(t, r.Must(conformance.Core, "add/f32/same/program"))
	require.False(t, r.Must(conformance.NN, "add/f32/same/plain"))
	require.False(t, r.Must(conformance.Half, "add/f16/same/plain"))
}

func TestParseWaivers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	good := `{"case": "a", "issue": "https://example.org/1", "owner": "ACME", "expires": "2026-12-24", "reason": "r"}`
	l, err := conformance.ParseWaivers([]byte("["+good+"]"), now)
	require.NoError(t, err)
	require.Equal(t, []conformance.Waiver{{Case: "a", Issue: "https://example.org/1", Owner: "ACME", Expires: "2026-12-24", Reason: "r"}}, l)
	for old, x := range map[string][2]string{
		`"a"`: {`""`, "want case"}, `"ACME"`: {`""`, "owner"}, `"r"`: {`""`, "reason"}, "https://example.org/1": {"#1", "https://"},
		"2026-12-24": {"2027-11-23", "180 days"}, "-12-24": {"", "YYYY-MM-DD"}, `"reason"`: {`"why"`, "unknown field"},
	} {
		_, err := conformance.ParseWaivers([]byte("["+strings.Replace(good, old, x[0], 1)+"]"), now)
		require.ErrorContains(t, err, x[1], old)
	}
	_, err = conformance.ParseWaivers([]byte("["+good+","+good+"]"), now)
	require.ErrorContains(t, err, "twice")
}

// A submission is accepted if its report is for a release, each required case passed or is waived, and the report is signed by the
// maker's key if there is one. Every other submission is refused with an error that says why.
func TestSubmission(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	release, err := conformance.ParseRelease("date 2026-11-23\nsuite " + conformance.Current().Hash + "\nmust quant ^quantize/f32/\n")
	require.NoError(t, err)
	releases := []conformance.Release{*release}
	maker := newSigner(t, "acme")
	open := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == op.Quantize && len(out[0].I) > 0 && in[0].Desc.Shape.Size() < 20 {
			out[0].I[0] ^= 1
		}
		return out, err
	}))
	content := conformance.Plugin{Device: "process:ref", Archive: "sha256:" + strings.Repeat("1", 64)}
	report := func(open func() (core.Backend, error)) *conformance.Report {
		r, err := conformance.Check(t.Context(), open, conformance.Options{Profile: conformance.Quant, Shrink: -1,
			Challenge: &conformance.Challenge{Nonce: "n", Content: content.Content(), Seeds: 1}})
		require.NoError(t, err)
		r.Plugin = content
		return r
	}
	right, wrong := report(openRef()), report(open)
	failed := slices.DeleteFunc(slices.Clone(wrong.Results), func(x conformance.Result) bool { return x.Status != conformance.Failed })
	require.NotEmpty(t, failed)
	require.Less(t, len(failed), 200)
	waive := func(expires string, more ...string) string {
		var l []conformance.Waiver
		for _, x := range failed {
			l = append(l, conformance.Waiver{Case: x.ID, Issue: "https://example.org/1", Owner: "ACME", Expires: expires, Reason: "r"})
		}
		for _, id := range more {
			l = append(l, conformance.Waiver{Case: id, Issue: "https://example.org/1", Owner: "ACME", Expires: expires, Reason: "r"})
		}
		text, err := json.Marshal(l)
		require.NoError(t, err)
		return string(text)
	}
	const about = `{"name": "ACME | NPU", "maker": "ACME", "homepage": "https://example.org/npu", "contact": "npu@example.org", "hardware": "NPU 1", "profiles": ["quant"],
		"support": "2028-11-23"}`
	verify := func(_ string, m *conformance.Manifest) error { return m.CheckSignature(maker.verify) }
	submitted := func(r *conformance.Report, files map[string]string, sign func([]byte) conformance.Signature) (*conformance.Submission, error) {
		dir := t.TempDir()
		_, err := r.WriteSigned(filepath.Join(dir, conformance.ReportFile), sign)
		require.NoError(t, err)
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		return conformance.ReadSubmission(dir, releases, now, verify)
	}
	key := func(files map[string]string) map[string]string {
		files[conformance.KeyFile] = "the key"
		return files
	}

	first, err := submitted(right, key(map[string]string{conformance.SubmissionFile: about}), maker.sign)
	require.NoError(t, err)
	require.Equal(t, first.Standings[0].Must, first.Standings[0].Passed)
	second, err := submitted(wrong, key(map[string]string{conformance.SubmissionFile: about, conformance.WaiversFile: waive("2026-12-24")}), maker.sign)
	require.NoError(t, err)
	require.NotEmpty(t, second.Standings[0].Waived)
	third, err := submitted(right, map[string]string{conformance.SubmissionFile: strings.Replace(about, "ACME | NPU", "A", 1)}, nil)
	require.NoError(t, err)

	var page bytes.Buffer
	require.NoError(t, conformance.WriteScoreboard(&page, []*conformance.Submission{first, second, third}))
	require.ErrorContains(t, conformance.WriteScoreboard(&page, []*conformance.Submission{first, {Name: "B", Manifest: second.Manifest}}), `the submission "B" has no standing, want one for each of its profiles`)
	lines := strings.Split(page.String(), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "|---") })
	require.True(t, strings.HasPrefix(lines[i+1], "| [A](https://example.org/npu) | "), "by name")
	require.Contains(t, lines[i+1], "| 1 of a challenge | no | 2028-11-23 |")
	require.Contains(t, lines[i+2], `| [ACME \| NPU](https://example.org/npu) | `)
	require.Contains(t, lines[i+2], "| acme | 2028-11-23 |")
	require.Contains(t, lines[i+3], " waived |")

	for _, x := range []struct {
		r     *conformance.Report
		files map[string]string
		sign  func([]byte) conformance.Signature
		want  string
	}{
		{right, map[string]string{}, nil, conformance.SubmissionFile},
		{right, map[string]string{conformance.SubmissionFile: "{}"}, nil, "want name"},
		{right, map[string]string{conformance.SubmissionFile: strings.Replace(about, "2028-11-23", "soon", 1)}, nil, "support"},
		{right, map[string]string{conformance.SubmissionFile: strings.Replace(about, "quant", "core", 1)}, nil, "no list of cases"},
		{right, map[string]string{conformance.SubmissionFile: about}, maker.sign, "maker.pub is missing"},
		{right, key(map[string]string{conformance.SubmissionFile: about}), nil, "not signed"},
		{right, key(map[string]string{conformance.SubmissionFile: about}), newSigner(t, "acme").sign, "signature of the report package is wrong"},
		{wrong, key(map[string]string{conformance.SubmissionFile: about}), maker.sign, "that must: "},
		{wrong, key(map[string]string{conformance.SubmissionFile: about, conformance.WaiversFile: waive("2026-11-22")}), maker.sign, "expired on 2026-11-22; its owner is ACME"},
		{wrong, key(map[string]string{conformance.SubmissionFile: about, conformance.WaiversFile: waive("2026-12-24", "quantize/f32/matrix/plain")}), maker.sign, "excuses nothing"},
		{wrong, key(map[string]string{conformance.SubmissionFile: about, conformance.WaiversFile: waive("2026-12-24", "no/such/case")}), maker.sign, "excuses nothing"},
	} {
		_, err := submitted(x.r, x.files, x.sign)
		require.ErrorContains(t, err, x.want)
	}
	releases = nil
	_, err = submitted(right, key(map[string]string{conformance.SubmissionFile: about}), maker.sign)
	require.True(t, errors.Is(err, conformance.ErrOtherSuite))
}
