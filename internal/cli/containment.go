package cli

import (
	"io"
	"strings"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/sdk/client/contain"
)

// printContainment lists the containment rules of plugin processes.
func (a *app) printContainment(all []host.Status, verbose bool) error {
	if !verbose {
		return nil
	}
	for _, s := range all {
		switch {
		case s.State != host.Ready:
			continue
		case s.Transport == host.Builtin:
			plain.Fprintf(a.out, "\n%s:%s  part of this program, with its rights\n", s.Transport, s.Name)
			continue
		case s.Transport == host.Shared:
			plain.Fprintf(a.out, "\n%s:%s  part of the program that loads it, with its rights; as process:%s:\n", s.Transport, s.Name, s.Name)
		default:
			plain.Fprintf(a.out, "\n%s:%s\n", s.Transport, s.Name)
		}
		t := a.table()
		for _, m := range s.Containment {
			state := "in force"
			if !m.InForce {
				state = "not in force"
			}
			plain.Fprintf(t, "  %s\t%s\t%s\n", m.Name, state, oneLine(m.Detail))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// printNeeds prints the permissions that a plugin requests before it is installed.
func (a *app) printNeeds(p *store.Package) {
	lines := p.Manifest.Needs.Lines()
	if len(lines) == 0 {
		return
	}
	a.banner(append([]string{"THIS PLUGIN ASKS FOR MORE THAN COMPUTING: " + p.ID.String(), "It will be confined to its own folder, the system's libraries and:"},
		indent(lines)...)...)
}

func indent(lines []string) []string {
	var all []string
	for _, l := range lines {
		all = append(all, "  "+l)
	}
	return all
}

// printNeedsRow prints the requested permissions as a table row.
func (a *app) printNeedsRow(t io.Writer, n *contain.Needs) {
	text := strings.Join(n.Lines(), "; ")
	if text == "" {
		text = "none"
	}
	plain.Fprintf(t, "needs\t%s\n", text)
}
