// Command burn-backend-cuda is the cuda backend as a plugin process. A fault of a device ends the process, 100 ms later so that
// its answers are sent. The host then starts another process.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/plugins/cuda"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	serve.Main(cuda.Name, cuda.Opener(func(device int, err error) {
		fmt.Fprintf(os.Stderr, "cuda:%d is lost: %v\n", device, err)
		time.AfterFunc(100*time.Millisecond, func() { os.Exit(3) })
	}))
}
