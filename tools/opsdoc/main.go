// Command opsdoc writes docs/OPS.md: the table of ops, and the backends that have each op natively.
//
//	go run ./tools/opsdoc -out docs/OPS.md
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/goburn/burn/core"
	_ "github.com/goburn/burn/plugins/cpu"
)

//go:generate go run . -out ../../docs/OPS.md

// backends lists the built-in backends for which the table has a column of native ops.
var backends = []string{"cpu"}

func main() {
	out := flag.String("out", "docs/OPS.md", "`FILE` to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "opsdoc:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	var b bytes.Buffer
	natives, err := open(backends)
	if err != nil {
		return err
	}
	write(&b, natives)
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// native contains the ops that a backend claims.
type native struct {
	name string
	ops  map[string]core.OpCapability
}

func open(names []string) ([]native, error) {
	var l []native
	for _, name := range names {
		b, err := core.Open(name, core.Config{})
		if err != nil {
			return nil, err
		}
		d, err := b.Open(context.Background(), 0)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		l = append(l, native{name, d.Capabilities().Ops})
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	return l, nil
}
