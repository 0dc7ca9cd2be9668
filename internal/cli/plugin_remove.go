package cli

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) pluginRemoveCommand() *cobra.Command {
	f := &storeFlags{}
	var force bool
	cmd := &cobra.Command{
		Use:   "remove NAME[@VERSION]...",
		Short: "Remove installed plugins",
		Long: `Remove builds from the store: all versions that match the argument. If no version of a plugin is left, its entry in the lock in force
is removed too. The command prints changes of the lock. Copies of the lock in other folders do not change.`,
		Example: "  burn plugin remove cpu\n  burn plugin remove 'cuda@<1.0'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.store(f)
			if err != nil {
				return err
			}
			for _, name := range args {
				found, err := s.Select(name)
				if err != nil {
					return remedyBelow(err)
				}
				if kept, err := s.HeldElsewhere(found); err != nil {
					return remedyBelow(err)
				} else if len(kept) > 0 && !force {
					return withLine(fmt.Errorf("plugin %s: %s holds version %s", name, kept[0].Lock, kept[0].Version),
						"remedy: name other versions (NAME@VERSION), or use --force if nothing uses that lock any more")
				}
				before, err := store.ReadLock(s.LockFile)
				if err != nil {
					return err
				}
				if err := s.Remove(cmd.Context(), found); err != nil {
					return err
				}
				for _, i := range found {
					plain.Fprintf(a.out, "removed %s\n", i.ID)
				}
				after, err := store.ReadLock(s.LockFile)
				if err != nil {
					return err
				}
				a.lockAfter(before, after, found)
			}
			return nil
		},
	}
	f.register(cmd, false)
	cmd.Flags().BoolVar(&force, "force", false, "remove versions in the locks of other projects too")
	return cmd
}

// lockAfter prints the changes of the lock's entries for removed builds.
func (a *app) lockAfter(before, after *store.Lock, removed []store.Installed) {
	var told []store.Address
	for _, i := range removed {
		if slices.Contains(told, i.ID.Address) {
			continue
		}
		told = append(told, i.ID.Address)
		had, has := before.Find(i.ID.Address), after.Find(i.ID.Address)
		switch {
		case had == nil:
		case has == nil:
			plain.Fprintf(a.out, "%s: the entry of %s %s is removed, since no version is installed any more\n", before.File, had.Plugin, had.Version)
		case slices.ContainsFunc(removed, func(r store.Installed) bool { return r.ID.Address == i.ID.Address && r.Version == has.Version }):
			plain.Fprintf(a.out, "%s: still holds %s %s, which is not installed any more: `burn plugin install %s` installs it again, `burn plugin lock` locks the installed plugins\n",
				before.File, has.Plugin, has.Version, i.ID.Name)
		default:
			plain.Fprintf(a.out, "%s: unchanged, it holds %s %s\n", before.File, has.Plugin, has.Version)
		}
	}
}
