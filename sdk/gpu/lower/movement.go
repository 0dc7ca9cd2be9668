package lower

import "github.com/goburn/burn/core/op"

// movements is the rules of ops that make or move elements.
var movements = map[op.Code]Rule{}
