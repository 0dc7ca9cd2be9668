package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDimString(t *testing.T) {
	for want, d := range map[string]dim{"3": {3, 0}, "1n": {0, 1}, "2n+1": {1, 2}, "2n-1": {-1, 2}, "-1n+4": {4, -1}} {
		require.Equal(t, want, d.String())
	}
	require.Equal(t, "[2 1n]", fmt.Sprint([]dim{{2, 0}, {0, 1}}))
}
