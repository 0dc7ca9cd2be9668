package gemm

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/panel"
)

// scratch contains idle products, in one pool for each element type.
var scratch [10]sync.Pool

func pool[T micro.Number]() *sync.Pool {
	var zero T
	i := 0
	switch any(zero).(type) {
	case float32:
		i = 0
	case float64:
		i = 1
	case int64:
		i = 2
	case int32:
		i = 3
	case int16:
		i = 4
	case int8:
		i = 5
	case uint64:
		i = 6
	case uint32:
		i = 7
	case uint16:
		i = 8
	case uint8:
		i = 9
	}
	return &scratch[i]
}

func take[T micro.Number]() *product[T] {
	if r, ok := pool[T]().Get().(*product[T]); ok {
		return r
	}
	r := &product[T]{}
	r.packLoop, r.mulLoop, r.directLoop, r.vectorLoop, r.stripLoop = r.packPart, r.mulPart, r.directPart, r.vectorPart, r.stripPart
	return r
}

func give[T micro.Number](r *product[T]) {
	if cap(r.abuf) > panel.MaxKept {
		r.abuf = nil
	}
	if cap(r.bbuf) > panel.MaxKept {
		r.bbuf = nil
	}
	pool[T]().Put(r)
}
