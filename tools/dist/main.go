// Command dist builds the archives of every plugin for every platform, signs them, and lays them out as a mirror with an index
// and a burn.lock. The same sources, Go version, key and SOURCE_DATE_EPOCH produce the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/host/store"
)

func main() {
	o := options{log: os.Stderr}
	var platforms, names string
	flag.StringVar(&o.out, "out", "dist", "`folder` of the mirror")
	flag.StringVar(&o.key, "key", "", "private key `file` to sign with (burn plugin keygen makes one); empty: archives are not signed")
	flag.StringVar(&o.version, "version", "0.1.0", "`version` of the plugins")
	flag.StringVar(&o.namespace, "namespace", "github.com/goburn", "`HOST/NAMESPACE` of the maker")
	flag.StringVar(&platforms, "platforms", strings.Join(store.Platforms(), ","), "OS_ARCH `list`")
	flag.StringVar(&names, "plugins", "", "`list` of plugins (default: all)")
	flag.StringVar(&o.python, "python", "python3", "Python with pip, which fetches libraries that plugins carry")
	expires := flag.String("expires", "", "`date` (YYYY-MM-DD) until which the signed index holds (default: 90 days)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "dist: unexpected argument %q, want only flags\n", flag.Arg(0))
		os.Exit(2)
	}
	o.platforms, o.names = split(platforms), split(names)
	if err := o.dates(os.Getenv("SOURCE_DATE_EPOCH"), *expires); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := dist(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// dates sets the build time, in seconds since 1970, and the expiry date.
func (o *options) dates(epoch, expires string) error {
	if epoch != "" {
		n, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: want seconds, got %q", epoch)
		}
		o.date = time.Unix(n, 0)
	}
	if expires != "" {
		var err error
		if o.expires, err = time.Parse(time.DateOnly, expires); err != nil {
			return fmt.Errorf("-expires: want YYYY-MM-DD, got %q", expires)
		}
	}
	return nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

type options struct {
	out, key, version, namespace string
	python                       string
	platforms, names             []string  // empty names mean all plugins
	date, expires                time.Time // dates of the index; zero means now, and 90 days later
	root                         string    // folder of the repository; empty means the working folder
	log                          io.Writer
}

// dist builds, packs and signs the plugins that o selects, then writes index and lock.
func dist(ctx context.Context, o options) error {
	var key *store.PrivateKey
	signer := ""
	if o.key != "" {
		k, err := store.ReadPrivateKey(o.key)
		if err != nil {
			return err
		}
		key, signer = &k, k.Public().ID()
	} else {
		fmt.Fprintln(o.log, "dist: no -key: the archives are not signed, and are installed with --allow-unsigned alone")
	}
	chosen, err := choose(o.names)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "burn-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	lock := &store.Lock{File: filepath.Join(o.out, store.LockName), Format: 1}
	for _, p := range chosen {
		for _, platform := range o.platforms {
			if !p.on(platform) {
				fmt.Fprintf(o.log, "dist: %s is not built for %s\n", p.name, platform)
				continue
			}
			built, err := o.archive(ctx, p, platform, work, key)
			if err != nil {
				return fmt.Errorf("%s %s: %w", p.name, platform, err)
			}
			lock.Put(built.ID, built.ID.MirrorPath(), signer, store.Hashes{Archive: built.Archive, Tree: built.Tree})
			fmt.Fprintf(o.log, "dist: %s  %d bytes  %s\n", built.ID, built.Size, built.Archive)
		}
	}
	if _, err := store.WriteIndex(o.out, store.IndexOptions{Key: key, Now: o.date, Expires: o.expires}); err != nil {
		return err
	}
	for i := range lock.Plugins { // one source for all platforms
		lock.Plugins[i].Source = o.namespace
	}
	return lock.Write()
}
