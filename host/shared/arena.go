package shared

import "unsafe"

// arena holds the structs of one call. The structs do not move, and are valid until reset, as long as the arena is kept alive.
type arena struct {
	blocks [][]uint64
	at     int // the block that is being filled
}

const arenaBlock = 512 // words

// reset makes the memory of all structs available again.
func (a *arena) reset() {
	for i := range a.blocks {
		a.blocks[i] = a.blocks[i][:0]
	}
	a.at = 0
}

func (a *arena) bytes(size int) unsafe.Pointer {
	words := max(1, (size+7)/8)
	for a.at < len(a.blocks) && len(a.blocks[a.at])+words > cap(a.blocks[a.at]) {
		a.at++
	}
	if a.at == len(a.blocks) {
		a.blocks = append(a.blocks, make([]uint64, 0, max(words, arenaBlock)))
	}
	b := &a.blocks[a.at]
	from := len(*b)
	*b = (*b)[:from+words]
	clear((*b)[from:])
	return unsafe.Pointer(&(*b)[from])
}

// place allocates a T, which holds no Go pointers, and sets it to v.
func place[T any](a *arena, v T) *T {
	p := (*T)(a.bytes(int(unsafe.Sizeof(v))))
	*p = v
	return p
}

// put is like place, but returns the address.
func put[T any](a *arena, v T) uintptr { return uintptr(unsafe.Pointer(place(a, v))) }

// zeroed returns a list of n zeros and its address. The address is 0 if n is 0.
func zeroed[T any](a *arena, n int) ([]T, uintptr) {
	if n == 0 {
		return nil, 0
	}
	var t T
	p := a.bytes(n * int(unsafe.Sizeof(t)))
	return unsafe.Slice((*T)(p), n), uintptr(p)
}

// putAll copies a list to the arena and returns its address, which is 0 for an empty list.
func putAll[T any](a *arena, v []T) uintptr {
	list, address := zeroed[T](a, len(v))
	copy(list, v)
	return address
}

func (a *arena) text(s string) uintptr {
	list, address := zeroed[byte](a, len(s)+1)
	copy(list, s)
	return address
}

// addressOf returns the address of v, which is in an arena.
func addressOf[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }
