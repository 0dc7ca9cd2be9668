// Command burn-backend-cpu is the cpu backend as a plugin process.
package main

import (
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/serve"
)

func main() {
	serve.Main("cpu", cpu.NewForClient)
}
