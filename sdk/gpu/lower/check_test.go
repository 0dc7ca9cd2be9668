package lower

import (
	"testing"

	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

func checkWork(t testing.TB, target template.Target, w ir.Work, slots [][]byte) {}
