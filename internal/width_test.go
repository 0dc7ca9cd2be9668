package internal_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNarrowPlatforms checks that burn does not compile where int has 32 bits, as 64-bit attributes and sizes would be truncated
// there. core/dtype, which every package that computes imports, fails to compile with an explanation; on all other platforms it
// compiles.
func TestNarrowPlatforms(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH")
	}
	out, err := exec.Command(goTool, "tool", "dist", "list").Output()
	require.NoError(t, err)
	narrow := 0
	for _, platform := range strings.Fields(string(out)) {
		c := build.Default
		c.GOOS, c.GOARCH, _ = strings.Cut(platform, "/")
		refused, err := c.MatchFile("../core/dtype", "width.go")
		require.NoError(t, err)
		sizes := types.SizesFor("gc", c.GOARCH)
		require.NotNil(t, sizes, platform)
		require.Equal(t, sizes.Sizeof(types.Typ[types.Int]) == 4, refused, platform)
		if refused {
			narrow++
		}
	}
	require.Greater(t, narrow, 8)

	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "../core/dtype/width.go", nil, 0)
	require.NoError(t, err)
	_, err = (&types.Config{}).Check("dtype", files, []*ast.File{f}, nil)
	require.ErrorContains(t, err, "undefined: burn_needs_a_64_bit_platform")
}
