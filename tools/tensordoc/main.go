// Command tensordoc writes docs/TENSOR.md: every exported function and method of package tensor, with the names that Burn and
// PyTorch have for it, and every public function of Burn's tensor, with its counterpart here.
//
//	go run ./tools/tensordoc -src tensor -out docs/TENSOR.md
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

//go:generate go run . -src ../../tensor -out ../../docs/TENSOR.md

func main() {
	src := flag.String("src", "tensor", "`DIR` of the package")
	out := flag.String("out", "docs/TENSOR.md", "`FILE` to write")
	flag.Parse()
	if err := run(*src, *out); err != nil {
		fmt.Fprintln(os.Stderr, "tensordoc:", err)
		os.Exit(1)
	}
}

func run(src, out string) error {
	funcs, err := exported(src)
	if err != nil {
		return err
	}
	rows, err := parseRows(rowText)
	if err != nil {
		return err
	}
	if err := check(funcs, rows); err != nil {
		return err
	}
	var b bytes.Buffer
	write(&b, funcs, rows)
	return os.WriteFile(out, b.Bytes(), 0o644)
}
