package gpu

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// grain is the unit of sizes and offsets of blocks, in bytes.
const grain = 256

// segment is memory that was allocated from the driver, cut into blocks.
type segment struct {
	memory Memory
	number int // index among all segments that the pool has allocated
	first  *block
	small  bool // the segment is for blocks of at most smallBlock bytes
}

// whole reports whether the segment is one free block.
func (s *segment) whole() bool { return s.first.free && s.first.after == nil }

// block is a part of a segment: free, or held. It is the engine's value of a tensor, whose elements are in row-major order from its
// beginning. The pool's lock guards all fields except holders and shared; segment, offset and owner do not change while it is held,
// except by pack.
type block struct {
	holders atomic.Int32
	segment *segment
	offset  int64
	size    int64
	asked   int64
	use     use
	// owner is the tenant of the queue in whose order the block is used, and reused once it is free. If it is the pool's own tenant, any
	// queue may reuse the block.
	owner *tenant
	// others are the tenants of the other queues that have used the block since it was allocated. shared reports whether there are any.
	others        []*tenant
	shared        atomic.Bool
	before, after *block // neighbours in the segment

	free  bool
	fixed bool // a plan contains the address of the block, so pack does not move the block
}

// ref returns the block's memory and offset.
func (b *block) ref() Ref { return Ref{b.segment.memory, b.offset} }

// retain adds a holder.
func (b *block) retain() *block {
	b.holders.Add(1)
	return b
}

// sole reports whether the caller is the only holder, and no other queue than t has used the block.
func (b *block) sole(t *tenant) bool {
	return b.holders.Load() == 1 && b.owner == t && !b.shared.Load()
}

// use is the purpose of a block, for reports.
type use uint8

const (
	forTensor use = iota
	forConstant
	forScratch
	uses
)

func (u use) String() string {
	return [...]string{"tensors", "constants of programs", "scratch memory"}[u]
}

const (
	fineBits = 3
	fine     = 1 << fineBits // classes for each power of two
	classes  = 40 * fine
)

// bins holds free blocks by size; each power of two is divided into a few classes. Within a class blocks are sorted by size and then by
// place, so that an allocation depends only on which blocks are free, and not on the order in which they were released: a loop that
// allocates the same sizes in each round gets the same places.
type bins struct {
	lists [classes][]*block
	full  [(classes + 63) / 64]uint64 // bit set: the list is not empty
	bytes int64
}

// compareFree orders free blocks.
func compareFree(a, b *block) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.segment.number, b.segment.number), cmp.Compare(a.offset, b.offset))
}

// class returns the list that blocks of size bytes are in.
func class(size int64) int {
	u := uint64(size / grain)
	if u < fine {
		return int(u)
	}
	e := bits.Len64(u) - 1 - fineBits
	return min((e+1)<<fineBits|int(u>>e)&(fine-1), classes-1)
}

func (b *bins) put(x *block) {
	c := class(x.size)
	i, _ := slices.BinarySearchFunc(b.lists[c], x, compareFree)
	b.lists[c] = slices.Insert(b.lists[c], i, x)
	b.full[c/64] |= 1 << (c % 64)
	b.bytes += x.size
	x.free = true
}

func (b *bins) remove(x *block) {
	c := class(x.size)
	i, _ := slices.BinarySearchFunc(b.lists[c], x, compareFree)
	b.lists[c] = slices.Delete(b.lists[c], i, i+1)
	if len(b.lists[c]) == 0 {
		b.full[c/64] &^= 1 << (c % 64)
	}
	b.bytes -= x.size
	x.free = false
}

// find returns the first of the smallest free blocks of at least size bytes, or nil if no free block is large enough.
func (b *bins) find(size int64) *block {
	if b.bytes < size {
		return nil
	}
	c := class(size)
	list := b.lists[c]
	if i, _ := slices.BinarySearchFunc(list, size, func(x *block, size int64) int { return cmp.Compare(x.size, size) }); i < len(list) {
		return list[i]
	}
	for c++; c < classes; c = (c/64 + 1) * 64 {
		if m := b.full[c/64] >> (c % 64); m != 0 {
			return b.lists[c+bits.TrailingZeros64(m)][0]
		}
	}
	return nil
}

// any returns one of the free blocks, or nil if no block is free.
func (b *bins) any() *block {
	for i, m := range b.full {
		if m != 0 {
			return b.lists[i*64+bits.TrailingZeros64(m)][0]
		}
	}
	return nil
}
