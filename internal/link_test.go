package internal_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linked lists all packages that are linked into a program that imports the given ones.
func linked(t *testing.T, cgo string, packages ...string) []string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: this test builds programs with it")
	}
	cmd := exec.Command(goTool, append([]string{"list", "-deps"}, packages...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.Fields(string(out))
}

func heavy(p string) bool {
	return p == "C" || p == "runtime/cgo" || p == "net" || strings.HasPrefix(p, "google.golang.org/") || strings.HasPrefix(p, "github.com/hashicorp/")
}

// A program that uses tensor and the built-in cpu backend links neither gRPC nor go-plugin nor cgo, even where cgo is available.
func TestBuiltInProgramIsLight(t *testing.T) {
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			deps := linked(t, cgo, module+"/tensor", module+"/plugins/cpu")
			require.Contains(t, deps, module+"/core")
			require.Contains(t, deps, module+"/plugins/cpu")
			for _, p := range deps {
				require.False(t, heavy(p), "links %s", p)
			}
		})
	}
}

// A program that imports host links gRPC and go-plugin, so TestBuiltInProgramIsLight can find them.
func TestPluginProgramIsHeavy(t *testing.T) {
	deps := linked(t, "0", module+"/host")
	require.Contains(t, deps, "google.golang.org/grpc")
	require.Contains(t, deps, "github.com/hashicorp/go-plugin")
}

// The command links neither readers of data that it does not offer nor the packages that generate documentation.
func TestCommandLinksNoTools(t *testing.T) {
	deps := linked(t, "0", module+"/cmd/burn")
	require.Contains(t, deps, "github.com/spf13/cobra")
	for _, p := range deps {
		for _, heavy := range []string{"github.com/spf13/cobra/doc", "github.com/cpuguy83/", "github.com/russross/", "go.yaml.in/", "modernc.org/", "github.com/parquet-go/",
			"github.com/stretchr/"} {
			require.False(t, strings.HasPrefix(p, heavy), "links %s", p)
		}
	}
}
