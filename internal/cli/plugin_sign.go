package cli

import (
	"fmt"

	"github.com/goburn/burn/host/store"
	"github.com/spf13/cobra"
)

func (a *app) pluginKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key to sign archives with: FILE and FILE.pub",
		Long: `Make an ed25519 key. FILE is the private half: keep it to yourself, readable by you alone. FILE.pub is for your users, who trust it
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
			fmt.Fprintf(a.out, "key %s\n  private  %s\n  public   %s.pub\n", k.Public().ID(), args[0], args[0])
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
				return refused(&exitError{exitUsage, err})
			}
			for _, path := range args {
				p, err := store.Inspect(path, store.Limits{})
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if err := k.SignFile(path, p); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "signed %s with key %s: %s\n", p.ID, k.Public().ID(), path+store.SignatureExt)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "private key `FILE`")
	return cmd
}

func (a *app) pluginIndexCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "index DIR",
		Short: "Write the index of a mirror",
		Long: `Make a folder of archives a mirror: check each DIR/HOST/NAMESPACE/NAME/VERSION/OS_ARCH.tar.gz and write DIR/index.toml. A mirror is
used as it lies on disk, or behind any web server.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := store.WriteIndex(args[0], store.Limits{})
			if err != nil {
				return refused(&exitError{exitUsage, err})
			}
			builds := 0
			for _, p := range x.Plugins {
				for _, v := range p.Versions {
					builds += len(v.Platforms)
				}
			}
			fmt.Fprintf(a.out, "%s, %s in %s\n", count(len(x.Plugins), "plugin"), count(builds, "archive"), args[0])
			return nil
		},
	}
}
