package cli

import (
	"regexp"
	"strings"

	"github.com/goburn/burn/internal/nearest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	unknownCommand = regexp.MustCompile(`^unknown command "([^"]*)" for `)
	unknownFlag    = regexp.MustCompile(`^unknown flag: --([^=\s]+)`)
)

// suggestion returns a hint for a mistyped command or flag that cobra complains about, as part of a message; empty if nothing is
// close.
func suggestion(cmd *cobra.Command, complaint error) string {
	text := complaint.Error()
	if m := unknownCommand.FindStringSubmatch(text); m != nil {
		return nearest.Hint(m[1], commandNames(cmd))
	}
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		var names []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		return strings.ReplaceAll(nearest.Hint("--"+m[1], names), `"`, "")
	}
	return ""
}

// commandNames returns the names of the subcommands of cmd.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	return names
}
