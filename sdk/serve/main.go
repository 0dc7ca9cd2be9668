package serve

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// Main is the main function of a plugin: it serves the backend that open returns under the given name, and exits with status 0, 1 for an
// error, or 2 for wrong flags. Flags:
//
//	--version  print name, version, protocol and platform
//	--debug    serve without a host: print a value for BURN_REATTACH, and serve any number of hosts until interrupted
func Main(name string, open core.Opener) {
	os.Exit(run(name, open, os.Args[1:], os.Stdout, os.Stderr))
}

func run(name string, open core.Opener, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("burn-backend-"+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.Bool("version", false, "print name, version, protocol and platform, and exit")
	attach := flags.Bool("debug", false, "serve without a host, and print how to attach: BURN_REATTACH")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case *version:
		fmt.Fprintf(stdout, "burn-backend-%s %s, protocol %v, %s\n", name, versionOf(open), wire.Speaks(), core.Platform())
		return 0
	case *attach:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return attachable(ctx, Options{Name: name, Open: open}, stdout, stderr)
	}
	if err := Serve(Options{Name: name, Open: open}); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func attachable(ctx context.Context, o Options, stdout, stderr io.Writer) int {
	at, done, err := Attachable(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	value, err := json.Marshal(map[string]wire.Attach{o.Name: at})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintf(stdout, "%s='%s'\n", wire.EnvReattach, value)
	<-done
	return 0
}

// versionOf returns the version of the backend, or of the module when the backend does not open here.
func versionOf(open core.Opener) string {
	if b, err := open(core.Config{}); err == nil {
		defer b.Close()
		return b.Info().Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
