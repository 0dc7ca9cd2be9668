package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goburn/burn/internal/scaffold"
)

func (a *app) pluginNewCommand() *cobra.Command {
	p := scaffold.Plugin{}
	dir := ""
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the first version of a backend plugin",
		Long: `Write a plugin that builds, starts, lists a device and passes what it claims of the conformance suite, in Go, Python or C. Its
README.md says how to build and run it; the report of the suite names what is still to be written. A folder that is not
empty is left alone.`,
		Example: `  burn plugin new npu --lang c
  burn plugin new npu --lang python --dir plugins/npu`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p.Name = args[0]
			if dir == "" {
				dir = "burn-backend-" + p.Name
			}
			if p.Language == "go" && p.BurnDir == "" {
				if v := buildInfo().Version; strings.HasPrefix(v, "v") {
					p.BurnVersion = v
				}
			}
			return a.pluginNew(p, dir)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Language, "lang", "go", "`LANGUAGE` of the plugin: "+strings.Join(scaffold.Languages(), ", "))
	f.StringVar(&dir, "dir", "", "`DIR` to write it to (default burn-backend-NAME)")
	f.StringVar(&p.BurnDir, "burn", "", "`DIR` of a local copy of burn to build a plugin in Go with")
	must(cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(scaffold.Languages(), cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagDirname("dir"))
	must(cmd.MarkFlagDirname("burn"))
	return cmd
}

func (a *app) pluginNew(p scaffold.Plugin, dir string) error {
	files, err := p.Write(dir)
	switch {
	case errors.Is(err, scaffold.ErrExists):
		return usage("plugin new: %w; give another --dir", err)
	case err != nil && files == nil:
		return usage("plugin new: %w", err)
	case err != nil:
		return fmt.Errorf("plugin new: %w", err)
	}
	for _, f := range files {
		fmt.Fprintf(a.out, "%s/%s\n", dir, f)
	}
	fmt.Fprintf(a.out, "\nto build, run and test it: %s/README.md\n", dir)
	return nil
}
