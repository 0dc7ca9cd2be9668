package order

import (
	"math"
	"slices"

	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// A key combines an element of at most 32 bits with its index in the line. The high bits are a number that sorts as the
// element does, with NaN last and the zeros equal. The low bits are the index. So the keys of a line are distinct, and
// sorting them is a stable sort of the elements.

// keys sets the elements of the slice to to the keys of x, for descending order if reverse is set. It returns false for elements of 64
// bits.
func keys[T number](to []uint64, x []T, reverse bool) bool {
	to = to[:len(x)]
	flip := uint32(0)
	if reverse {
		flip = math.MaxUint32
	}
	switch x := any(x).(type) {
	case []float32:
		for i, v := range x {
			to[i] = keyOf(v, i, flip)
		}
	case []int32:
		signed(to, x, flip)
	case []int16:
		signed(to, x, flip)
	case []int8:
		signed(to, x, flip)
	case []uint32:
		unsigned(to, x, flip)
	case []uint16:
		unsigned(to, x, flip)
	case []uint8:
		unsigned(to, x, flip)
	default:
		return false
	}
	return true
}

// keyOf returns the key of element i.
func keyOf(v float32, i int, flip uint32) uint64 {
	b := math.Float32bits(v + 0) // removes a minus sign from zero
	if b&0x7fffffff > 0x7f800000 {
		b = 0x7fffffff
	}
	b ^= uint32(int32(b)>>31) | 1<<31
	return uint64(b^flip)<<32 | uint64(i)
}

// sparse is the least ratio of elements to wanted elements for which searching for candidates is faster.
const sparse = 16

// searchKeys sets heap to the least keys of x, in order. It skips elements that cannot be among the least so far without computing their
// keys. Once the heap has good candidates, it skips most elements.
func searchKeys(heap []uint64, x []float32, reverse bool) {
	k, flip, bound := len(heap), uint32(0), vector.Below
	if reverse {
		flip, bound = math.MaxUint32, vector.Above
	}
	for i := range heap {
		heap[i] = keyOf(x[i], i, flip)
	}
	for j := k/2 - 1; j >= 0; j-- {
		sinkKey(heap, j)
	}
	for i := k; i < len(x); i++ {
		worst := x[heap[0]&math.MaxUint32]
		if worst != worst && !reverse { // any element except NaN is less
			bound, worst = vector.AtMost, float32(math.Inf(1))
		} else if !reverse {
			bound = vector.Below
		}
		if i += bound.Find(x[i:], worst); i == len(x) {
			break
		}
		if v := keyOf(x[i], i, flip); v < heap[0] {
			heap[0] = v
			sinkKey(heap, 0)
		}
	}
	slices.Sort(heap)
}

func signed[T int32 | int16 | int8](to []uint64, x []T, flip uint32) {
	for i, v := range x {
		to[i] = uint64(uint32(int32(v))^1<<31^flip)<<32 | uint64(i)
	}
}

func unsigned[T uint32 | uint16 | uint8](to []uint64, x []T, flip uint32) {
	for i, v := range x {
		to[i] = uint64(uint32(v)^flip)<<32 | uint64(i)
	}
}

// few is the length up to which sorting by comparison is faster than by counting.
const few = 512

// sortKeys sorts k in ascending order. buffer has at least the length of k and is overwritten.
func sortKeys(k, buffer []uint64) {
	if len(k) <= few {
		slices.Sort(k)
		return
	}
	// Least significant digit first: the indices are already in order.
	var counts [4][256]int
	for _, v := range k {
		for d := range 4 {
			counts[d][v>>(32+8*d)&255]++
		}
	}
	from, to := k, buffer[:len(k)]
	for d := range 4 {
		count := &counts[d]
		if count[from[0]>>(32+8*d)&255] == len(k) {
			continue
		}
		at := 0
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, v := range from {
			digit := v >> (32 + 8*d) & 255
			to[count[digit]] = v
			count[digit]++
		}
		from, to = to, from
	}
	if &from[0] != &k[0] {
		copy(k, from)
	}
}

// selectSmallest moves the n least keys to the beginning, in ascending order.
func selectSmallest(k []uint64, n int) {
	heap := k[:n] // a heap with the greatest of the least keys on top
	for j := n/2 - 1; j >= 0; j-- {
		sinkKey(heap, j)
	}
	for _, v := range k[n:] {
		if v < heap[0] {
			heap[0] = v
			sinkKey(heap, 0)
		}
	}
	slices.Sort(heap)
}

func sinkKey(heap []uint64, j int) {
	v := heap[j]
	for {
		child := 2*j + 1
		if child >= len(heap) {
			break
		}
		if child+1 < len(heap) && heap[child] < heap[child+1] {
			child++
		}
		if heap[child] <= v {
			break
		}
		heap[j] = heap[child]
		j = child
	}
	heap[j] = v
}

// read writes the elements of x, and their indices, in the order of the keys k.
func read[T number](k []uint64, x, v []T, i []int64) {
	for j, key := range k {
		at := int64(key & math.MaxUint32)
		v[j], i[j] = x[at], at
	}
}
