// Command newop shows the files that a new op touches: in a copy of the tree it adds a scratch op with everything that an op needs,
// regenerates files, runs the tests that look for gaps, and prints the files that differ. For each file that an op must have it also shows
// the test that fails without it. It must not change the tree itself.
//
//	go run ./tools/newop -kind composite
//	go run ./tools/newop -kind primitive
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	kind := flag.String("kind", "composite", "`CLASS` of the op, composite or primitive")
	root := flag.String("root", ".", "`DIR` of the tree")
	keep := flag.String("keep", "", "`DIR` for the copy, which stays; else it is removed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *kind, *root, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "newop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, kind, root, keep string) error {
	s, ok := scratches[kind]
	if !ok {
		return fmt.Errorf("kind %q, want composite or primitive", kind)
	}
	dir := keep
	if dir == "" {
		temp, err := os.MkdirTemp("", "newop")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	if err := copyTree(dir, root); err != nil {
		return err
	}
	found, err := add(ctx, dir, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d files by hand\n", s.name, len(found.hand))
	for _, f := range found.hand {
		fmt.Fprintf(w, "  %s\n", f)
		if t, ok := found.missed[f]; ok {
			fmt.Fprintf(w, "    without it fails %s\n", t)
		}
	}
	fmt.Fprintf(w, "%d renewed by go generate %s\n", len(found.generated), generated)
	for _, f := range found.generated {
		fmt.Fprintf(w, "  %s\n", f)
	}
	return nil
}
