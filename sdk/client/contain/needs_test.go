package contain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNeedsEnv checks that a plugin sees the variables that it names, or whose prefix it names, and no others.
func TestNeedsEnv(t *testing.T) {
	n := &Needs{Env: []string{"ACME_*", "NPU_HOME"}}
	require.NoError(t, n.Check())
	for name, want := range map[string]bool{"ACME_LEVEL": true, "ACME_": true, "ACME": false, "NPU_HOME": true, "NPU_HOME2": false, "AWS_SECRET": false, "": false} {
		require.Equal(t, want, n.Sees(name), name)
	}
	require.False(t, (*Needs)(nil).Sees("ACME_LEVEL"))
	require.Equal(t, []string{"variables ACME_* NPU_HOME"}, n.Lines())
	for _, wrong := range []string{"*", "A*", "AB*", "", "A B", "A=1", "A*B", "1A"} {
		require.ErrorContains(t, (&Needs{Env: []string{wrong}}).Check(), "needs.env", wrong)
	}
	require.ErrorContains(t, (&Needs{Env: make([]string, maxNeeds+1)}).Check(), "needs.env")
}
