package cpu

import (
	"maps"
	"sync"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/attention"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/movement"
	"github.com/goburn/burn/plugins/cpu/internal/normal"
	"github.com/goburn/burn/plugins/cpu/internal/order"
	"github.com/goburn/burn/plugins/cpu/internal/recurrent"
	"github.com/goburn/burn/plugins/cpu/internal/reduction"
)

// rules holds the kernels of the backend by op. The backend claims these ops.
var rules = sync.OnceValue(func() map[op.Code]kernel.Rule {
	all := map[op.Code]kernel.Rule{}
	for _, some := range []map[op.Code]kernel.Rule{elementwise.Rules(), movement.Rules(), contraction.Rules(),
		reduction.Rules(), order.Rules(), normal.Rules(), recurrent.Rules(), attention.Rules()} {
		maps.Copy(all, some)
	}
	return all
})

// ruleTable is rules as a list, for look-up by code.
var ruleTable = sync.OnceValue(func() []kernel.Rule {
	var table []kernel.Rule
	for c, r := range rules() {
		for len(table) <= int(c) {
			table = append(table, kernel.Rule{})
		}
		table[c] = r
	}
	return table
})
