package main

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
)

// rows returns the numbers of the rows of x that the indices select, and the length inner of a row. It treats x as [outer, length,
// inner], and the result of gather or the updates of scatter as [outer, positions, inner]: row i of these belongs to row at[i] of x.
func rows(c *call) (at []int, inner int, err error) {
	x, axis, batch := c.Descs[0].Shape, c.Node.Attrs.Int("axis"), c.Node.Attrs.Int("batch")
	indices, positions := indicesOf(c.In[1]), c.Descs[1].Shape[batch:].Size()
	batches, middle := x[:batch].Size(), x[batch:axis].Size()
	inner = x[axis+1:].Size()
	if middle*inner == 0 {
		return nil, inner, nil
	}
	for k, i := range indices {
		if i < 0 || int(i) >= x[axis] {
			return nil, 0, fmt.Errorf("index %d at position %d, want one in [0,%d): %w", i, k, x[axis], core.ErrIndex)
		}
	}
	for b := range batches {
		for m := range middle {
			for _, i := range indices[b*positions:][:positions] {
				at = append(at, (b*middle+m)*x[axis]+int(i))
			}
		}
	}
	return at, inner, nil
}

// indicesOf returns the elements of an array of indices.
func indicesOf(a array) []int64 {
	if _, narrow := a.elements.([]int32); narrow {
		return apply(flat[int32](a), convert[int32, int64])
	}
	return flat[int64](a)
}

func gather[T element](c *call) error {
	at, inner, err := rows(c)
	if err != nil {
		return err
	}
	x, y := flat[T](c.In[0]), make([]T, 0, c.Node.Outputs[0].Shape.Size())
	for _, k := range at {
		y = append(y, x[k*inner:][:inner]...)
	}
	return set(c, 0, y)
}

// scatter combines rows of updates into x.
func scatter[T element](c *call) error {
	at, inner, err := rows(c)
	if err != nil {
		return err
	}
	meet := map[string]func(a, b T) T{
		"assign": func(_, b T) T { return b },
		"add":    func(a, b T) T { return a + b },
		"mul":    func(a, b T) T { return a * b },
		"min":    func(a, b T) T { return min(a, b) },
		"max":    func(a, b T) T { return max(a, b) },
	}[c.Node.Attrs.Str("mode")]
	y, updates := slices.Clone(flat[T](c.In[0])), flat[T](c.In[2])
	for j, k := range at {
		for i := range inner {
			y[k*inner+i] = meet(y[k*inner+i], updates[j*inner+i])
		}
	}
	return set(c, 0, y)
}
