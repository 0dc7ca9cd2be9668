package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// plugin build refuses unknown plugins and wrong arguments.
func TestPluginBuild(t *testing.T) {
	burn := athome(t)
	require.Contains(t, burn(1, "plugin", "build", "none").err, `plugin "none": not found`)
	require.Contains(t, burn(2, "plugin", "build", "a b").err, "plugin build")
	require.Contains(t, burn(2, "plugin", "build").err, "accepts 1 arg")
}
