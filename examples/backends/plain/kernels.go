package main

import (
	"maps"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// table maps ops to kernels.
type table map[op.Code]func(c *call) error

// kernels maps element types to tables. A node is looked up by the type of its first operand. The op where uses the type of its
// second operand, and an op without operands the type of its result.
var kernels = map[dtype.DType]table{
	dtype.F32: join(storage[float32](dtype.F32), numbers[float32, float64](), signed[float32](), floats()),
	dtype.I32: join(storage[int32](dtype.I32), numbers[int32, int64](), signed[int32](), integers[int32](), logic[int32](), table{
		op.RandomBits: randomBits,
	}),
	dtype.I64: join(storage[int64](dtype.I64), numbers[int64, int64](), signed[int64](), integers[int64](), logic[int64]()),
	dtype.U8: join(storage[uint8](dtype.U8), numbers[uint8, int64](), integers[uint8](), logic[uint8](), table{
		op.Abs: each(func(a uint8) uint8 { return a }),
	}),
	dtype.Bool: join(storage[uint8](dtype.Bool), logic[uint8](), table{
		op.Not: each(func(a uint8) uint8 { return 1 - a }),
	}),
}

// join merges tables. Later ones take precedence.
func join(tables ...table) table {
	all := table{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// storage returns the kernels that every type has: creation, movement, equality and selection.
func storage[T element](d dtype.DType) table {
	return join(movement[T](), table{
		op.Full:    full[T](d),
		op.Gather:  gather[T],
		op.Scatter: scatter[T],
		op.Cast:    cast[T],
		op.Equal:   pairs(func(a, b T) uint8 { return truth(a == b) }),
		op.Where:   where[T],
	})
}

// numbers returns the kernels of types with arithmetic and order. Sums are accumulated in A and converted at the end.
func numbers[T element, A wide]() table {
	return join(reductions[T, A](), table{
		op.Iota:         iota_[T],
		op.Add:          pairs(func(a, b T) T { return a + b }),
		op.Sub:          pairs(func(a, b T) T { return a - b }),
		op.Mul:          pairs(func(a, b T) T { return a * b }),
		op.Max:          pairs(greater[T]),
		op.Min:          pairs(lesser[T]),
		op.Less:         pairs(func(a, b T) uint8 { return truth(a < b) }),
		op.MatMul:       matmul[T, A],
		op.Conv:         conv[T, A],
		op.WindowReduce: windowReduce[T, A],
	})
}

func signed[T element]() table {
	return table{op.Neg: each(func(a T) T { return -a }), op.Abs: each(func(a T) T { return max(a, -a) })}
}
