package conformance_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

// cheatCases is the pattern of the cases whose results TestRecordedTableIsCaught records.
const cheatCases = "^(add|mul|exp|sum|matmul|sort)/f32/[^/]+/(plain|special)$"

// table evaluates nodes without computing: it looks results up by node and operands, and returns zeros if it has none. While it
// records, it adds the results of the reference.
type table struct {
	mu      sync.Mutex
	records bool
	results map[string][]ref.Tensor
	missed  int
}

func (t *table) eval(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
	var key strings.Builder
	fmt.Fprint(&key, n.Op, n.Attrs)
	for _, x := range in {
		fmt.Fprint(&key, " ", x.Desc.DType, x.Desc.Shape, " ")
		key.Write(x.Bytes())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if out, ok := t.results[key.String()]; ok {
		return out, nil
	}
	if t.records {
		out, err := ref.Eval(n, in)
		if err == nil {
			t.results[key.String()] = out
		}
		return out, err
	}
	t.missed++
	var out []ref.Tensor
	for _, d := range n.Outputs {
		out = append(out, ref.Zeros(d))
	}
	return out, nil
}

// A table that was recorded with one seed passes with that seed, so a run with a known seed proves nothing. With the seeds of a
// challenge the same cases fail. The table has no results for the fresh cases either.
func TestRecordedTableIsCaught(t *testing.T) {
	t.Parallel()
	recorded := &table{records: true, results: map[string][]ref.Tensor{}}
	o := conformance.Options{Run: cheatCases, Seed: 1, Shrink: -1}
	r, err := conformance.Check(t.Context(), openRef(ref.Evaluating(recorded.eval)), o)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	all := r.Passed

	recorded.records = false
	r, err = conformance.Check(t.Context(), openRef(ref.Evaluating(recorded.eval)), o)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Equal(t, all, r.Passed, "the table holds the results of all cases with its seed")
	require.Zero(t, recorded.missed)

	o.Seed, o.Challenge = 0, &conformance.Challenge{Nonce: conformance.NewNonce(), Content: "sha256:00"}
	r, err = conformance.Check(t.Context(), openRef(ref.Evaluating(recorded.eval)), o)
	require.NoError(t, err)
	require.Greater(t, r.Failed, all*8/10, "only cases with empty results may pass, because they are equal with every seed")
	require.Contains(t, r.Results[slices.IndexFunc(r.Results, func(x conformance.Result) bool { return x.Status == conformance.Failed })].Reason, "seed ")

	r, err = conformance.Check(t.Context(), openRef(ref.Evaluating(recorded.eval)), conformance.Options{Run: "^fresh/", Shrink: -1})
	require.NoError(t, err)
	require.Greater(t, r.Failed, 10*r.Passed)
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	c := conformance.Challenge{Nonce: "n", Content: "sha256:00", Seeds: 3}
	seeds := c.Derive()
	// printf 'burn conformance challenge 1\nnonce n\ncontent sha256:00\nseed 1\n' | sha256sum
	require.Equal(t, uint64(0xb2d3e890fb13db4b), seeds[0])
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(seeds))), 3)
	for _, other := range []conformance.Challenge{{Nonce: "m", Content: "sha256:00", Seeds: 3}, {Nonce: "n", Content: "sha256:01", Seeds: 3}} {
		for _, s := range other.Derive() {
			require.NotContains(t, seeds, s)
		}
	}
	for _, x := range []struct {
		c    conformance.Challenge
		seed uint64
		want string
	}{
		{conformance.Challenge{Content: "sha256:00"}, 0, "nonce"}, {conformance.Challenge{Nonce: "a\nb", Content: "sha256:00"}, 0, "nonce"},
		{conformance.Challenge{Nonce: "n"}, 0, "content"}, {conformance.Challenge{Nonce: "n", Content: "sha256:00", Seeds: 65}, 0, "65 seeds"},
		{c, 2, "a seed and a challenge"},
	} {
		_, err := conformance.Check(t.Context(), openRef(), conformance.Options{Run: "^add/f32/same/plain$", Seed: x.seed, Challenge: &x.c})
		require.ErrorContains(t, err, x.want)
	}
	require.NotEqual(t, conformance.NewNonce(), conformance.NewNonce())
}

// The reference passes the fresh cases with many seeds, and a backend that computes one element of one op wrongly fails some of them.
func TestFreshCases(t *testing.T) {
	t.Parallel()
	c := &conformance.Challenge{Nonce: "fresh", Content: "sha256:00", Seeds: 8}
	r, err := conformance.Check(t.Context(), openRef(), conformance.Options{Run: "^fresh/", Challenge: c, Shrink: -1})
	require.NoError(t, err)
	if r.Err() != nil {
		require.NoError(t, r.Write(os.Stdout))
	}
	require.NoError(t, r.Err())
	require.Zero(t, r.Skipped)
	require.Greater(t, r.Passed, 80)

	for _, x := range []struct {
		op   op.Code
		want []string // prefixes of ids: with each, at least one case fails
	}{
		{op.Add, []string{"fresh/graph/", "fresh/model/"}},
		{op.MatMul, []string{"fresh/model/", "fresh/permuted/matmul", "fresh/concatenated/matmul", "fresh/split/matmul", "fresh/linear/matmul"}},
		{op.Sum, []string{"fresh/permuted/sum", "fresh/linear/sum"}},
	} {
		wrong := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			out, err := ref.Eval(n, in)
			if err == nil && n.Op == x.op && len(out[0].F) > 1 {
				out[0].F[len(out[0].F)-1] += 0.5
			}
			return out, err
		}))
		r, err := conformance.Check(t.Context(), wrong, conformance.Options{Run: "^fresh/", Challenge: c, Shrink: -1})
		require.NoError(t, err)
		for _, want := range x.want {
			require.True(t, slices.ContainsFunc(r.Results, func(r conformance.Result) bool {
				return r.Status == conformance.Failed && strings.HasPrefix(r.ID, want)
			}), "%v: %s", x.op, want)
		}
	}
}

// signer is the key with which the maker of a plugin signs report packages.
type signer struct {
	id  string
	key ed25519.PrivateKey
}

func newSigner(t *testing.T, id string) signer {
	_, k, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	return signer{id, k}
}

func (s signer) sign(statement []byte) conformance.Signature {
	return conformance.Signature{Key: s.id, Value: ed25519.Sign(s.key, statement)}
}

// verify accepts signatures by this key only.
func (s signer) verify(key string, statement, signature []byte) error {
	if key != s.id {
		return errors.New("an unknown key")
	}
	if !ed25519.Verify(s.key.Public().(ed25519.PublicKey), statement, signature) {
		return errors.New("not signed by this key")
	}
	return nil
}

// certified returns a small report with a challenge: a sample of the profile quant.
func certified(t *testing.T) *conformance.Report {
	content := conformance.Plugin{Device: "process:ref", File: "burn-backend-ref", SHA256: strings.Repeat("0", 64), Package: "example.org/acme/ref", Version: "1.0.0",
		Archive: "sha256:" + strings.Repeat("1", 64)}
	r, err := conformance.Check(t.Context(), openRef(), conformance.Options{Profile: conformance.Quant, Sample: 40,
		Challenge: &conformance.Challenge{Nonce: "asked", Content: content.Content(), Seeds: 2}})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	r.Plugin = content
	return r
}

// A package that was edited and hashed again is consistent, and only its signature reveals the forgery. Verify itself rejects a
// package whose seeds do not follow from its challenge, or whose challenge is for another plugin.
func TestForgedPackageIsCaught(t *testing.T) {
	t.Parallel()
	maker := newSigner(t, "acme")
	r := certified(t)
	path := filepath.Join(t.TempDir(), "report")
	_, err := r.WriteSigned(path, maker.sign)
	require.NoError(t, err)
	m, err := conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrIncomplete, "it is a sample")
	require.NoError(t, m.CheckSignature(maker.verify))
	require.ErrorIs(t, m.CheckSignature(newSigner(t, "acme").verify), conformance.ErrSignature)
	signature, err := os.ReadFile(filepath.Join(path, conformance.SignatureFile))
	require.NoError(t, err)

	for name, forge := range map[string]func(r *conformance.Report){
		"another name":    func(r *conformance.Report) { r.Backend.Name = "other" },
		"another package": func(r *conformance.Report) { r.Plugin.Package = "example.org/other/ref" },
		"another date":    func(r *conformance.Report) { r.Started = r.Started.Add(-time.Hour) },
		"another result": func(r *conformance.Report) {
			r.Results = slices.Clone(r.Results)
			r.Results[0].Reason = "was never slow"
		},
	} {
		t.Run(name, func(t *testing.T) {
			forged := *r
			forge(&forged)
			path := filepath.Join(t.TempDir(), "report")
			_, err := forged.WritePackage(path) // writes the digests of the edited files
			require.NoError(t, err)
			m, err := conformance.Verify(path)
			require.ErrorIs(t, err, conformance.ErrIncomplete, "without a signature the forgery is a consistent sample")
			require.ErrorIs(t, m.CheckSignature(maker.verify), conformance.ErrUnsigned)
			require.NoError(t, os.WriteFile(filepath.Join(path, conformance.SignatureFile), signature, 0o600))
			m, err = conformance.Verify(path)
			require.ErrorIs(t, err, conformance.ErrIncomplete)
			require.ErrorIs(t, m.CheckSignature(maker.verify), conformance.ErrSignature)
		})
	}

	for name, forge := range map[string]func(r *conformance.Report){
		"another archive": func(r *conformance.Report) { r.Plugin.Archive = "sha256:" + strings.Repeat("2", 64) },
		"chosen seeds":    func(r *conformance.Report) { r.Seed, r.Seeds = 1, []uint64{1, 2} },
		"one seed":        func(r *conformance.Report) { r.Seeds = r.Seeds[:1] },
		"another nonce": func(r *conformance.Report) {
			r.Options.Challenge = &conformance.Challenge{Nonce: "another", Content: r.Plugin.Content(), Seeds: 2}
		},
		"a tree of other files": func(r *conformance.Report) {
			r.Plugin.Files, r.Plugin.Tree = []conformance.PluginFile{{Path: "a", Digest: "sha256:00"}}, "sha256:11"
		},
	} {
		t.Run(name, func(t *testing.T) {
			forged := *r
			forge(&forged)
			path := filepath.Join(t.TempDir(), "report.tar.gz")
			_, err := forged.WriteSigned(path, maker.sign)
			require.NoError(t, err)
			_, err = conformance.Verify(path)
			require.ErrorIs(t, err, conformance.ErrTampered)
		})
	}
}

// A rerun on the plugin finds results that were made up before signing: failures reported as passed, and cases reported as skipped
// that run.
func TestMadeUpResultsAreCaught(t *testing.T) {
	t.Parallel()
	wrong := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == op.Sin && len(out[0].F) > 1 {
			out[0].F[1] = 9
		}
		return out, err
	}))
	run := "^(sin|cos)/f32/[^/]+/(plain|special)$"
	honest, err := conformance.Check(t.Context(), openRef(), conformance.Options{Run: run})
	require.NoError(t, err)
	bad, err := conformance.Check(t.Context(), wrong, conformance.Options{Run: run, Shrink: -1})
	require.NoError(t, err)
	require.NotZero(t, bad.Failed)

	rerun := func(r *conformance.Report, backend string) *conformance.Rerun {
		path := filepath.Join(t.TempDir(), "report.tar.gz")
		_, err := r.WritePackage(path)
		require.NoError(t, err)
		m, err := conformance.Verify(path)
		require.ErrorIs(t, err, conformance.ErrIncomplete)
		open := openRef()
		if backend == "wrong" {
			open = wrong
		}
		again, err := m.Rerun(t.Context(), open, 100, "checker", conformance.Options{})
		require.NoError(t, err)
		require.Equal(t, len(r.Results), again.Cases)
		return again
	}
	require.Empty(t, rerun(honest, "right").Differences)
	require.Empty(t, rerun(bad, "wrong").Differences, "a rerun confirms a report that states the failures")

	found := map[string]bool{}
	for _, d := range rerun(honest, "wrong").Differences {
		require.Equal(t, [2]conformance.Status{conformance.Passed, conformance.Failed}, [2]conformance.Status{d.Reported, d.Got})
		require.True(t, strings.HasPrefix(d.ID, "sin/"), d.ID)
		found[fmt.Sprint(d.Fresh)] = true
	}
	require.Equal(t, []string{"false", "true"}, slices.Sorted(maps.Keys(found)), "differences with the seeds of the report, and with fresh seeds")

	hidden := *honest
	hidden.Results = slices.Clone(honest.Results)
	hidden.Passed, hidden.Skipped = 0, 0
	for i := range hidden.Results {
		if x := &hidden.Results[i]; strings.HasPrefix(x.ID, "sin/") {
			x.Status, x.Reason = conformance.Skipped, "not claimed: sin on f32"
		}
	}
	hidden.Profiles = slices.Clone(honest.Profiles)
	for i := range hidden.Profiles {
		if p := &hidden.Profiles[i]; p.Passed > 0 {
			p.Skipped = p.Passed / 2
			p.Passed -= p.Skipped
		}
	}
	for _, d := range rerun(&hidden, "wrong").Differences {
		require.Equal(t, conformance.Skipped, d.Reported)
		require.NotEqual(t, conformance.Skipped, d.Got)
	}
	require.NotEmpty(t, rerun(&hidden, "wrong").Differences)

	path := filepath.Join(t.TempDir(), "report")
	honest.Backend.Name = "another"
	_, err = honest.WritePackage(path)
	require.NoError(t, err)
	m, err := conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrIncomplete)
	_, err = m.Rerun(context.Background(), openRef(), 1, "checker", conformance.Options{})
	require.ErrorContains(t, err, "the report is of another")
	other := *m
	other.Suite.Hash = "00"
	_, err = other.Rerun(context.Background(), openRef(), 1, "checker", conformance.Options{})
	require.ErrorIs(t, err, conformance.ErrOtherSuite)
}

// The manifest of a certified report is JSON that other programs can check: it contains the seeds as numbers, with all digits.
func TestManifestOfACertificate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report")
	r := certified(t)
	_, err := r.WritePackage(path)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(path, conformance.ManifestFile))
	require.NoError(t, err)
	var m struct {
		Seeds     []json.Number
		Challenge conformance.Challenge
	}
	require.NoError(t, json.Unmarshal(text, &m))
	require.Equal(t, fmt.Sprint(r.Seeds[1]), m.Seeds[1].String())
	require.Equal(t, "asked", m.Challenge.Nonce)
}
