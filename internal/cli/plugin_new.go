package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/internal/scaffold"
)

func (a *app) pluginNewCommand() *cobra.Command {
	p := scaffold.Plugin{}
	dir, burn := "", ""
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the first version of a backend plugin",
		Long: `Write a plugin in Go, Python or C that builds, starts, lists a device and passes the conformance cases of its claims. Its
README.md describes how to build and run it; the report of the suite names the missing ops. The command does not write to a folder that is not
empty.

A plugin in Go needs burn's module. If this command was built from a released version, the plugin requires that version. Otherwise its go.mod
replaces the module by a checkout: the one of --burn, the one from which this command was built, or the one that contains the working folder.`,
		Example: `  burn plugin new npu --lang c
  burn plugin new npu --lang go --burn ../burn
  burn plugin new npu --lang python --dir plugins/npu`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p.Name = args[0]
			if dir == "" {
				dir = "burn-backend-" + p.Name
			}
			if p.Language == "go" {
				var err error
				if p.Source, err = burnSource(burn); err != nil {
					return err
				}
			}
			return a.pluginNew(p, dir)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Language, "lang", "go", "`LANGUAGE` of the plugin: "+strings.Join(scaffold.Languages(), ", "))
	f.StringVar(&dir, "dir", "", "`DIR` for the plugin (default burn-backend-NAME)")
	f.StringVar(&burn, "burn", "", "`DIR` of a checkout of burn for a plugin in Go")
	must(cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(scaffold.Languages(), cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagDirname("dir"))
	must(cmd.MarkFlagDirname("burn"))
	return cmd
}

// burnSource returns the source of the burn module for a plugin in Go; dir is the value of the flag --burn.
func burnSource(dir string) (scaffold.Source, error) {
	if dir != "" {
		dir, err := scaffold.Checkout(dir)
		if err != nil {
			return scaffold.Source{}, usage("plugin new: --burn: want the folder of a checkout of burn: %w", err)
		}
		return scaffold.Source{Dir: dir}, nil
	}
	s, err := scaffold.FindSource()
	if err != nil {
		return s, usage("plugin new: %w; get one with git clone https://%s and name its folder with --burn DIR", err, scaffold.Module)
	}
	return s, nil
}

func (a *app) pluginNew(p scaffold.Plugin, dir string) error {
	if all := scaffold.Languages(); !slices.Contains(all, p.Language) {
		return usage("plugin new: --lang: want one of %s, got %q%s", strings.Join(all, ", "), p.Language, nearest.Hint(p.Language, all))
	}
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
		plain.Fprintf(a.out, "%s/%s\n", dir, f)
	}
	switch s := p.Source; {
	case s.Dir != "":
		plain.Fprintf(a.out, "\nit is built with the checkout of burn in %s: go.mod replaces the module by it\n", s.Dir)
	case s.Version != "":
		plain.Fprintf(a.out, "\nit is built with burn %s\n", s.Version)
	}
	plain.Fprintf(a.out, "\nto build, run and test it: %s/README.md\n", dir)
	return nil
}
