// Command burn runs, inspects and tests models on the installed backends: see docs/CLI.md. It only calls package internal/cli, which
// contains the command; no other code belongs here.
package main

import (
	"os"

	"github.com/goburn/burn/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
