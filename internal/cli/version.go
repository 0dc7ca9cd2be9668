package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/sdk/wire"
	"github.com/spf13/cobra"
)

type versionInfo struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Dirty    bool     `json:"dirty,omitempty"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Protocol protocol `json:"protocol"`
}

// protocol is the range of plugin protocol versions.
type protocol struct {
	Min uint32 `json:"min"`
	Max uint32 `json:"max"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, platform and protocol range",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildInfo()
			if asJSON {
				return a.json(v)
			}
			t := a.table()
			plain.Fprintf(t, "burn\t%s\n", v.Version)
			if v.Commit != "" {
				dirty := ""
				if v.Dirty {
					dirty = ", with changes"
				}
				plain.Fprintf(t, "commit\t%s%s\n", v.Commit, dirty)
			}
			plain.Fprintf(t, "go\t%s\n", v.Go)
			plain.Fprintf(t, "platform\t%s\n", v.Platform)
			plain.Fprintf(t, "plugin protocol\t%v\n", wire.Range(v.Protocol))
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func buildInfo() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: core.Platform(), Protocol: protocol(wire.Speaks())}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := b.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}
