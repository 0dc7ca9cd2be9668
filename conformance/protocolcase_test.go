package conformance_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// The protocol cases belong to the profile core. A case fails with the error of Options.Protocol, and is skipped if Options.Protocol
// is nil or checks no rule.
func TestProtocolCases(t *testing.T) {
	t.Parallel()
	var asked []string
	o := conformance.Options{Run: "^protocol/", Profile: conformance.Core, Protocol: func(_ context.Context, part string) (int, error) {
		asked = append(asked, part)
		switch part {
		case "tls":
			return 3, errors.New("tls/plain: a client without TLS is served")
		case "plane":
			return 0, nil
		}
		return 2, nil
	}}
	r, err := conformance.Check(t.Context(), openRef(), o)
	require.NoError(t, err)
	require.Equal(t, conformance.ProtocolParts(), asked)
	parts := len(asked)
	require.Equal(t, []int{parts - 2, 1, 1}, []int{r.Passed, r.Failed, r.Skipped})
	failed := slices.IndexFunc(r.Results, func(x conformance.Result) bool { return x.Status == conformance.Failed })
	require.Equal(t, "protocol/tls", r.Results[failed].ID)
	require.Contains(t, r.Results[failed].Reason, "a client without TLS is served")

	path := filepath.Join(t.TempDir(), "report")
	_, err = r.WritePackage(path)
	require.NoError(t, err)
	m, err := conformance.Verify(path)
	require.ErrorIs(t, err, conformance.ErrIncomplete)
	again, err := m.Rerun(t.Context(), openRef(), 100, "checker", conformance.Options{Protocol: o.Protocol})
	require.NoError(t, err)
	require.Empty(t, again.Differences, "a rerun asks the plugin again")

	o.Protocol = nil
	r, err = conformance.Check(t.Context(), openRef(), o)
	require.NoError(t, err)
	require.Equal(t, parts, r.Skipped)
}

// A protocol case may take longer than Options.Timeout, because it checks many rules that each have a time limit.
func TestProtocolCasesTakeTime(t *testing.T) { synctest.Test(t, protocolCasesTakeTime) }

func protocolCasesTakeTime(t *testing.T) {
	const limit = 400 * time.Millisecond
	r, err := conformance.Check(t.Context(), openRef(), conformance.Options{Run: "^protocol/(tls|end)$", Timeout: limit, Protocol: func(ctx context.Context, part string) (int, error) {
		wait := 2 * limit
		if part == "end" {
			wait = time.Hour
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(wait):
			return 1, nil
		}
	}})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{r.Passed, r.Failed})
}
