package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/plain"
)

// buildTime is the time limit for the start of a plugin that compiles its source. buildOption is the plugin's option that requests this; its
// value is the compiler.
const (
	buildTime   = 15 * time.Minute
	buildOption = "build"
)

func (a *app) pluginBuildCommand() *cobra.Command {
	compiler := ""
	cmd := &cobra.Command{
		Use:   "build NAME",
		Short: "Compile the source that a plugin has for this machine",
		Long: `Start a plugin that contains C++ source for this machine, and let it compile the source with your compiler. The plugin libtorch needs this for a torch older than
2.9. The plugin is checked and confined as always, and so is the compiler. A plugin with nothing to compile reports that.`,
		Example: "  burn plugin build libtorch\n  burn plugin build libtorch --compiler clang++",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginBuild(cmd.Context(), args[0], cmp.Or(compiler, os.Getenv("CXX"), "c++"))
		},
	}
	cmd.Flags().StringVar(&compiler, "compiler", "", "`PROGRAM` that compiles C++ (default: CXX of the environment, else c++)")
	return cmd
}

// pluginBuild opens the plugin with the option.
func (a *app) pluginBuild(ctx context.Context, name, compiler string) error {
	s, err := host.ParseSpec(host.Process + ":" + name)
	if err != nil {
		return usage("plugin build: %w", err)
	}
	o := a.hostOptions()
	own := maps.Clone(o.BackendOptions[s.Name])
	if own == nil {
		own = map[string]string{}
	}
	own[buildOption] = compiler
	o.BackendOptions = map[string]map[string]string{s.Name: own}
	o.StartTimeout = max(o.StartTimeout, buildTime)
	p, err := host.Open(ctx, s.String(), o)
	switch {
	case errors.Is(err, core.ErrAttr):
		return usage("plugin build: %s compiles nothing: %w", s.Name, err)
	case err != nil:
		return remedyBelow(err)
	}
	for _, d := range p.Backend.Info().Devices {
		plain.Fprintf(a.out, "%s: %s\n", d.Name, d.Detail)
	}
	return p.Backend.Close()
}
