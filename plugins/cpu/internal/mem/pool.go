// Package mem allocates the memory of tensors: reference-counted, 64-byte aligned buffers from a pool that keeps a bounded amount of idle
// memory. The limit is checked before memory is requested from the system. All tensors of the cpu backend, and the workspaces of its
// kernels, are allocated by this package. It must not know types or shapes.
package mem

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goburn/burn/core"
)

// hugeFrom is the least size in bytes of a buffer for which huge pages are requested. Huge pages cause fewer page faults and fewer TLB
// misses.
const hugeFrom = 4 << 20

// Align is the alignment of every buffer in bytes.
const Align = 64

// Pool allocates buffers and keeps released ones for the next request of the same size class. It is safe for concurrent use.
type Pool struct {
	limit   int64 // limit of the bytes of all buffers, idle ones included
	maxIdle int64
	band    int // bytes of a guard band, a multiple of Align; 0: none

	mu      sync.Mutex
	inUse   int64
	idle    int64
	byClass [classes][]*Buffer
	guarded map[*Buffer]struct{} // buffers in use, with guard bands
	written error                // the first guard band that was found written
}

// NewPool returns a pool that holds at most limit bytes, and at most idle bytes of them in unused buffers.
func NewPool(limit, idle int64) *Pool { return &Pool{limit: limit, maxIdle: idle} }

// Limit returns the greatest number of bytes that the pool holds.
func (p *Pool) Limit() int64 { return p.limit }

// Reserved returns the number of bytes of all buffers, idle ones included, and of memory that accounts hold.
func (p *Pool) Reserved() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse + p.idle
}

// Account counts the memory of a pool that one stream holds. It is safe for concurrent use.
type Account struct {
	pool  *Pool
	inUse int64 // the pool's mu protects it
}

// NewAccount returns an account on p.
func (p *Pool) NewAccount() *Account { return &Account{pool: p} }

// InUse returns the number of bytes of the account's buffers that are not released, and of memory that Hold counted.
func (a *Account) InUse() int64 {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	return a.inUse
}

// Pool returns the pool of the account.
func (a *Account) Pool() *Pool { return a.pool }

// Hold counts n bytes of memory outside the pool as in use. It returns core.ErrOutOfMemory if they exceed the limit.
func (a *Account) Hold(n int64) error {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inUse+p.idle+n > p.limit {
		p.trim()
	}
	if p.inUse+n > p.limit {
		return fmt.Errorf("hold %d bytes, %d of %d in use: %w", n, p.inUse, p.limit, core.ErrOutOfMemory)
	}
	p.inUse += n
	a.inUse += n
	return nil
}

// Drop stops counting n bytes that Hold counted.
func (a *Account) Drop(n int64) {
	a.pool.mu.Lock()
	a.pool.inUse -= n
	a.inUse -= n
	a.pool.mu.Unlock()
}

// Buffer is reference-counted memory. Retain and Release change the count and are safe for concurrent use. The last Release returns the
// memory to the pool.
type Buffer struct {
	data    []byte // of the size of its class
	whole   []byte // with the guard bands on both sides; nil without
	size    int
	refs    atomic.Int32
	class   int
	account *Account
	foreign func() // returns memory that is not the pool's to its owner
}

// New returns a buffer of size bytes with a reference count of one. Its contents are undefined. It returns core.ErrOutOfMemory, and changes
// nothing, if the limit does not allow it.
func (a *Account) New(size int) (*Buffer, error) {
	class, room := classOf(size)
	if class < 0 {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, core.ErrOutOfMemory)
	}
	p := a.pool
	p.mu.Lock()
	if n := len(p.byClass[class]); n > 0 {
		b := p.byClass[class][n-1]
		p.byClass[class] = p.byClass[class][:n-1]
		p.idle -= int64(room)
		p.inUse += int64(room)
		a.inUse += int64(room)
		p.mu.Unlock()
		b.size, b.account = size, a
		p.guard(b)
		return b, nil
	}
	if p.inUse+p.idle+int64(room) > p.limit {
		p.trim()
	}
	if p.inUse+int64(room) > p.limit {
		held := p.inUse
		p.mu.Unlock()
		return nil, fmt.Errorf("allocate %d bytes, %d of %d in use: %w", size, held, p.limit, core.ErrOutOfMemory)
	}
	p.inUse += int64(room)
	a.inUse += int64(room)
	p.mu.Unlock()
	whole := aligned(room + 2*p.band)
	b := &Buffer{data: whole[p.band : p.band+room : p.band+room], size: size, class: class, account: a}
	b.refs.Store(1)
	if room >= hugeFrom {
		hugePages(b.data)
	}
	if p.band > 0 {
		b.whole = whole
		p.guard(b)
	}
	return b, nil
}

// Adopt returns a read-only buffer that consists of data, with a reference count of one. data is memory outside the pool, aligned to Align
// bytes. It counts as in use. The last Release calls release. Adopt returns core.ErrOutOfMemory, and changes nothing, if the memory exceeds
// the limit.
func (a *Account) Adopt(data []byte, release func()) (*Buffer, error) {
	if err := a.Hold(int64(len(data))); err != nil {
		return nil, err
	}
	b := &Buffer{data: data, size: len(data), account: a, foreign: release}
	b.refs.Store(1)
	return b, nil
}

// trim drops all idle buffers, so that the garbage collector frees them. The
// caller holds mu.
func (p *Pool) trim() {
	clear(p.byClass[:])
	p.idle = 0
}

// Trim frees all idle buffers.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim()
}

// put returns a released buffer to the pool.
func (p *Pool) put(b *Buffer) {
	room := int64(len(b.data))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inspect(b)
	delete(p.guarded, b)
	p.inUse -= room
	b.account.inUse -= room
	b.account = nil
	if p.idle+room <= p.maxIdle {
		p.idle += room
		p.byClass[b.class] = append(p.byClass[b.class], b)
	}
}

func aligned(n int) []byte {
	raw := make([]byte, n+Align-1)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (Align - 1)
	return raw[skip : skip+n : skip+n]
}

// Retain adds a reference and returns b.
func (b *Buffer) Retain() *Buffer {
	b.refs.Add(1)
	return b
}

// Release removes a reference.
func (b *Buffer) Release() {
	if b.refs.Load() != 1 { // else the caller has the only reference
		if b.refs.Add(-1) > 0 {
			return
		}
		b.refs.Store(1) // another goroutine released the other reference meanwhile
	}
	a := b.account
	if a == nil {
		panic("mem: buffer released more often than held")
	}
	if b.foreign == nil {
		a.pool.put(b)
		return
	}
	b.account = nil
	a.Drop(int64(len(b.data)))
	b.data = nil
	b.foreign()
}

// Sole reports whether the owner of a reference may write to the memory: there is no other reference, and Adopt did not create the buffer.
func (b *Buffer) Sole() bool { return b.refs.Load() == 1 && b.foreign == nil }

// Size returns the requested size in bytes.
func (b *Buffer) Size() int { return b.size }

// Bytes returns the memory of the buffer, Size bytes.
func (b *Buffer) Bytes() []byte { return b.data[:b.size] }

// Pointer returns the address of the memory, which is aligned to Align bytes.
func (b *Buffer) Pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b.data)) }

// Size classes: multiples of 64 bytes up to 1 KiB, then four classes per power of two.
const (
	smallClasses = 16
	classes      = smallClasses + 4*(maxShift-10)
	maxShift     = 46
)

// classOf returns the size class of a size and the bytes of its buffers. The class is -1 for sizes that no machine can hold.
func classOf(size int) (class, room int) {
	if size <= smallClasses*Align {
		n := max(1, (size+Align-1)/Align)
		return n - 1, n * Align
	}
	shift := bits.Len64(uint64(size-1)) - 1 // 2^shift < size <= 2^(shift+1)
	if shift >= maxShift {
		return -1, 0
	}
	quarter := 1 << (shift - 2)
	steps := (size - 1<<shift + quarter - 1) / quarter // 1 to 4
	return smallClasses + 4*(shift-10) + steps - 1, 1<<shift + steps*quarter
}
