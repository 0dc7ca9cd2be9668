package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) pluginTrustCommand() *cobra.Command {
	f := &storeFlags{}
	var namespaces []string
	var owner, expires, revoke, reason string
	var accept bool
	cmd := &cobra.Command{
		Use:   "trust [FILE.pub]",
		Short: "List trusted keys, trust one, or revoke one",
		Long: `Without argument, list the keys of the trust file. With a public key file, trust the key for the given namespaces: the owner of its
private key can then sign programs with these names. Get public keys from a source that you trust, not from the place of the archive.
If something other than this command changed the trust file, it is refused until you have looked at it and used --accept.`,
		Example: `  burn plugin trust
  burn plugin trust acme.pub --namespace example.org/acme --owner "ACME GPUs"
  burn plugin trust --revoke 0123456789abcdef --reason "private key was lost"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if accept || revoke == "" && len(args) == 0 { // lists the file, even if it is invalid
				return a.lookAtTrust(f, accept)
			}
			t, err := a.trust(f)
			if err != nil {
				return err
			}
			switch {
			case revoke != "" && len(args) == 1:
				return usage("--revoke takes the id of a key and no file")
			case revoke != "":
				return a.revoke(t, revoke, reason)
			case len(namespaces) == 0:
				return usage("--namespace: want HOST/NAMESPACE that the key may sign for, HOST/* or *")
			}
			p, err := store.ReadPublicKey(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			k := store.Key{ID: p.ID(), Public: p.String(), Owner: owner, Namespaces: namespaces}
			if expires != "" {
				if k.Expires, err = time.Parse(time.DateOnly, expires); err != nil {
					return usage("--expires: want YYYY-MM-DD, got %q", expires)
				}
			}
			if err := t.Add(k); err != nil {
				return &exitError{exitUsage, err}
			}
			if err := t.Write(); err != nil {
				return err
			}
			added := t.Find(k.ID)
			plain.Fprintf(a.out, "%s key %s for %s in %s\n", added.State(time.Now()), k.ID, strings.Join(added.Namespaces, ", "), t.File)
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.trustFile, "trust-file", "", "`FILE` with trusted keys (default: trust.toml of the user's configuration)")
	fs.StringSliceVar(&namespaces, "namespace", nil, "`HOST/NAMESPACE` for which the key is trusted; may be repeated")
	fs.StringVar(&owner, "owner", "", "`NAME` of the key's owner")
	fs.StringVar(&expires, "expires", "", "`DATE` (YYYY-MM-DD) from which the key is no longer trusted")
	fs.StringVar(&revoke, "revoke", "", "id `KEY` of a key that is never trusted again")
	fs.BoolVar(&accept, "accept", false, "accept the current trust file, although something other than this command changed or removed it")
	fs.StringVar(&reason, "reason", "no reason given", "`TEXT` with the reason of the revocation")
	return cmd
}

// lookAtTrust lists the keys, and reports if the file was changed by another program.
func (a *app) lookAtTrust(f *storeFlags, accept bool) error {
	path := f.trustFile
	if path == "" {
		var err error
		if path, err = store.TrustFile(); err != nil {
			return err
		}
	}
	t, err := store.ReadTrust(path)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := a.listKeys(t); err != nil {
		return err
	}
	if accept {
		if err := t.Accept(); err != nil {
			return err
		}
		plain.Fprintf(a.out, "accepted %s as it is\n", t.File)
		return nil
	}
	_, err = store.OpenTrust(path)
	return remedyBelow(err)
}

func (a *app) revoke(t *store.Trust, id, reason string) error {
	k := t.Find(id)
	if k == nil {
		return usage("key %s is not in %s", id, t.File)
	}
	k.Revoked = reason
	if err := t.Write(); err != nil {
		return err
	}
	plain.Fprintf(a.out, "revoked key %s: plugins signed with it are refused; see burn plugin verify\n", id)
	return nil
}

func (a *app) listKeys(t *store.Trust) error {
	if len(t.Keys) == 0 {
		plain.Fprintf(a.out, "no key is trusted (%s)\n", t.File)
		return nil
	}
	w := a.table()
	fmt.Fprintln(w, "KEY\tSTATE\tNAMESPACES\tEXPIRES\tOWNER")
	for i := range t.Keys {
		k := &t.Keys[i]
		expires := "-"
		if !k.Expires.IsZero() {
			expires = k.Expires.Format(time.DateOnly)
		}
		plain.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.State(time.Now()), strings.Join(k.Namespaces, " "), expires, dash(k.Owner))
	}
	return w.Flush()
}
