package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/template"
)

// structured are the rules of attention and of the ops that move elements by indices, run along lines or slide over windows. Operands and
// results are contiguous, except operands for which InRows or InLines is true.
var structured = map[op.Code]Rule{
	op.Gather:         gather,
	op.Scatter:        scatter,
	op.GatherElements: gatherElements,
	op.Embedding:      embedding,
	op.CacheWrite:     cacheWrite,
	op.Concat:         concat,
	op.Pad:            pad,

	op.CumSum:       scan(template.JoinAdd),
	op.CumProd:      scan(template.JoinMul),
	op.CumMax:       scan(template.JoinMax),
	op.CumMin:       scan(template.JoinMin),
	op.CumArgMax:    scanIndex(template.JoinMax),
	op.CumArgMin:    scanIndex(template.JoinMin),
	op.LogCumSumExp: scanLogSum,
	op.Sort:         sort,
	op.ArgSort:      argSort,
	op.TopK:         topK,

	op.WindowReduce:      windowReduce,
	op.Attention:         attention,
	op.AttentionGradient: attentionGradient,
}
