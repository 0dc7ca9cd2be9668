// Command burn-backend-libtorch is the libtorch backend as a plugin process.
package main

import (
	"github.com/goburn/burn/plugins/libtorch"
	"github.com/goburn/burn/sdk/serve"
)

func main() { serve.Main(libtorch.Name, libtorch.New) }
