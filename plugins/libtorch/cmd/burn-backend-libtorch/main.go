// Command burn-backend-libtorch is the libtorch backend as a plugin process. It starts itself a second time, as a child, to find out which
// kernels work with the installed torch and which of them crash a process.
package main

import (
	"fmt"
	"os"

	"github.com/goburn/burn/plugins/libtorch"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	if err := libtorch.KeepStdout(); err != nil {
		fmt.Fprintln(os.Stderr, "burn-backend-libtorch: standard output:", err)
		os.Exit(1)
	}
	if len(os.Args) == 2 && os.Args[1] == libtorch.ProbeFlag {
		os.Exit(libtorch.ProbeMain(os.Stdin, os.Stdout))
	}
	program := "/proc/self/exe" // the file that is executed may have no name
	if _, err := os.Stat(program); err != nil {
		program, err = os.Executable()
		if err != nil {
			program = os.Args[0]
		}
	}
	serve.Main(libtorch.Name, libtorch.Opener(program))
}
