package cli

import (
	"fmt"
	"time"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) pluginKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key to sign archives with: FILE and FILE.pub",
		Long: `Make an ed25519 key. FILE is the private key: keep it secret, readable only by you. FILE.pub is the public key for your users, who trust it
with burn plugin trust.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := store.GenerateKey()
			if err != nil {
				return err
			}
			if err := k.Write(args[0]); err != nil {
				return &exitError{exitUsage, err}
			}
			plain.Fprintf(a.out, "key %s\n  private  %s\n  public   %s.pub\n", k.Public().ID(), args[0], args[0])
			return nil
		},
	}
}

func (a *app) pluginSignCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:     "sign ARCHIVE...",
		Short:   "Sign archives: write ARCHIVE.sig",
		Example: "  burn plugin sign dist/*.tar.gz --key burn.key",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return usage("--key: want a private key file; burn plugin keygen makes one")
			}
			k, err := store.ReadPrivateKey(key)
			if err != nil {
				return remedyBelow(&exitError{exitUsage, err})
			}
			for _, path := range args {
				p, err := store.Inspect(path, store.Limits{})
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if err := k.SignFile(path, p); err != nil {
					return err
				}
				plain.Fprintf(a.out, "signed %s with key %s: %s\n", p.ID, k.Public().ID(), path+store.SignatureExt)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "private key `FILE`")
	return cmd
}

func (a *app) pluginIndexCommand() *cobra.Command {
	var key, expires string
	cmd := &cobra.Command{
		Use:   "index DIR",
		Short: "Write the index of a mirror",
		Long: `Make a mirror of a folder of archives: check each DIR/HOST/NAMESPACE/NAME/VERSION/OS_ARCH.tar.gz and write DIR/index.toml. A mirror can be
used from disk or through any web server.

--key signs the index in DIR/index.toml.sig. A signed index has a counter that grows with each index, and a date of expiry. Users who have
seen it refuse older and expired ones. So rewrite the index before that day, even without new archives. Users must trust the key
for the namespaces in the mirror.`,
		Example: "  burn plugin index ./mirror --key acme.key\n  burn plugin index ./mirror --key acme.key --expires 2027-01-31",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o := store.IndexOptions{}
			if key != "" {
				k, err := store.ReadPrivateKey(key)
				if err != nil {
					return remedyBelow(&exitError{exitUsage, err})
				}
				o.Key = &k
			}
			if expires != "" {
				var err error
				if o.Expires, err = time.Parse(time.DateOnly, expires); err != nil {
					return usage("--expires: want YYYY-MM-DD, got %q", expires)
				}
			}
			x, err := store.WriteIndex(args[0], o)
			if err != nil {
				return remedyBelow(&exitError{exitUsage, err})
			}
			builds := 0
			for _, p := range x.Plugins {
				for _, v := range p.Versions {
					builds += len(v.Platforms)
				}
			}
			plain.Fprintf(a.out, "%s, %s in %s\n", count(len(x.Plugins), "plugin"), count(builds, "archive"), args[0])
			if o.Key == nil {
				fmt.Fprintln(a.out, "not signed: sign it with --key, so that a mirror cannot show users an old index")
			} else {
				plain.Fprintf(a.out, "signed with key %s: counter %d, until %s\n", o.Key.Public().ID(), x.Counter, x.Expires.Format(time.DateOnly))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "private key `FILE` to sign the index with")
	cmd.Flags().StringVar(&expires, "expires", "", "`DATE` (YYYY-MM-DD) until which the index is valid (default: 90 days)")
	return cmd
}
