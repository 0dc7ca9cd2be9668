// Command burn runs, inspects and tests models on whatever backends are installed. See docs/CLI.md.
package main

import (
	"os"

	"github.com/goburn/burn/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
