package lower

import "github.com/goburn/burn/core/op"

// structured is the rules of ops that follow indices or order: gather, scatter, scans, sorting, windows.
var structured = map[op.Code]Rule{}
