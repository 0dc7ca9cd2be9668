// Command web serves a page that computes in the browser: burn, compiled for WebAssembly, classifies drawings and image files. It
// compiles the page's program (./page) when it starts, with the Go toolchain of this machine.
//
//	go run ./examples/web            # and open http://localhost:8080
//	go run ./examples/web -out DIR   # the same as files, for any server of static files
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("web", flag.ContinueOnError)
	address := flags.String("addr", "localhost:8080", "`HOST:PORT` to listen at; port 0 takes a free one")
	out := flags.String("out", "", "`FOLDER` to write the page to, instead of serving it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("arguments: want none, got %q", flags.Args())
	}
	var listener net.Listener
	if *out == "" { // before compiling: the port may be taken
		var err error
		if listener, err = net.Listen("tcp", *address); err != nil {
			return fmt.Errorf("%w: -addr names another port", err)
		}
		defer listener.Close()
	}
	fmt.Fprintln(stdout, "compiling burn.wasm")
	files, err := build(ctx)
	if err != nil {
		return err
	}
	w := files["burn.wasm"]
	fmt.Fprintf(stdout, "burn.wasm: %.1f MB, %.1f MB with gzip\n", float64(len(w.data))/1e6, float64(len(w.packed))/1e6)
	if *out != "" {
		return files.write(*out)
	}
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	server := &http.Server{Handler: files, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close() // a page that is loading is cut off
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
