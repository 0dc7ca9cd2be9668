package shared

import "sync"

// loans contains the memory that is lent to libraries and not returned yet, by number.
var loans = struct {
	sync.Mutex
	last uintptr
	open map[uintptr]loan
}{open: map[uintptr]loan{}}

type loan struct {
	data    []byte // kept alive by this reference
	release func()
}

// giveBack is burn_loan.give_back.
var giveBack = sync.OnceValue(func() uintptr {
	return callback(func(number uintptr) uintptr {
		if l, ok := take(number); ok {
			l.release()
		}
		return 0
	})
})

// take ends a loan.
func take(number uintptr) (loan, bool) {
	loans.Lock()
	defer loans.Unlock()
	l, ok := loans.open[number]
	delete(loans.open, number)
	return l, ok
}

// lend packs a loan of data. When the library returns the loan, release is called. withdraw ends the loan without calling release.
func (p *packer) lend(data []byte, release func()) (address uintptr, withdraw func()) {
	loans.Lock()
	loans.last++
	number := loans.last
	loans.open[number] = loan{data, release}
	loans.Unlock()
	return put(&p.arena, cLoan{head: headOf[cLoan](), data: dataOf(data), bytes: uint64(len(data)), giveBack: giveBack(), lender: number}),
		func() { take(number) }
}
