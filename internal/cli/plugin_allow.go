package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

func (a *app) pluginAllowCommand() *cobra.Command {
	var forget, list bool
	cmd := &cobra.Command{
		Use:   "allow [DIR]",
		Short: "Allow the plugins in ./burn_plugins to be used",
		Long: `Allow commands in the folder above to use the plugins in a folder named burn_plugins (default: ./burn_plugins). These plugins may be foreign
programs, so burn uses them only if you have allowed the current content of the folder, and asks again when
it changes. Folders in --plugin-path, BURN_PLUGIN_PATH or plugin_path need no permission.`,
		Example: "  burn plugin allow\n  burn plugin allow --list\n  burn plugin allow --forget ./burn_plugins",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "burn_plugins"
			if len(args) > 0 {
				dir = args[0]
			}
			switch {
			case list && (forget || len(args) > 0):
				return usage("--list takes no folder and no --forget")
			case list:
				return a.listAllowed()
			case forget:
				return a.forgetFolder(cmd.Context(), dir)
			}
			return remedyBelow(a.allowFolder(cmd.Context(), dir))
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the allowed folders")
	cmd.Flags().BoolVar(&forget, "forget", false, "revoke the permission")
	return cmd
}

func (a *app) allowFolder(ctx context.Context, dir string) error {
	l, err := host.Local(dir)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if len(l.Plugins) == 0 {
		return usage("%s: there is no plugin in it, want files named burn-backend-NAME", l.Path)
	}
	if err := l.Allow(ctx); err != nil {
		return err
	}
	plain.Fprintf(a.out, "allowed %s: %s\n", l.Path, strings.Join(l.Plugins, ", "))
	if l.Foreign != nil {
		plain.Fprintf(a.err, "burn: note: %v; burn asks again when the content changes\n", l.Foreign)
	}
	return nil
}

func (a *app) forgetFolder(ctx context.Context, dir string) error {
	was, err := store.ForgetFolder(ctx, dir)
	if err != nil {
		return err
	}
	if !was {
		return usage("%s is not an allowed folder; see burn plugin allow --list", dir)
	}
	plain.Fprintf(a.out, "forgot %s\n", dir)
	return nil
}

func (a *app) listAllowed() error {
	st, err := store.ReadState(store.UserDir())
	if err != nil {
		return remedyBelow(err)
	}
	if len(st.Folders) == 0 {
		fmt.Fprintln(a.out, "no folder is allowed")
		return nil
	}
	for _, f := range st.Folders {
		plain.Fprintf(a.out, "%s\n", f.Path)
	}
	return nil
}

// interactive reports whether the command can ask a user at a terminal.
func (a *app) interactive() bool {
	in, ok := a.in.(*os.File)
	return ok && isatty.IsTerminal(in.Fd()) && terminal(a.err)
}

// ask returns the function host.Options.Ask for a terminal. It asks only once per command about a folder; later calls for it return false.
func (a *app) ask(in io.Reader) func(host.LocalFolder) bool {
	said := map[string]bool{}
	return func(l host.LocalFolder) bool {
		if _, ok := said[l.Path]; ok {
			return false
		}
		how := "has plugins, which are programs that would run with your rights"
		if l.Changed {
			how = "has other plugins than when you allowed it"
		}
		plain.Fprintf(a.err, "burn: %s %s: %s\n", l.Path, how, strings.Join(l.Plugins, ", "))
		if l.Foreign != nil {
			plain.Fprintf(a.err, "burn: %v\n", l.Foreign)
		}
		fmt.Fprint(a.err, "Use them, now and until they change? [y/N] ")
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer := strings.ToLower(strings.TrimSpace(line))
		said[l.Path] = true
		return answer == "y" || answer == "yes"
	}
}
