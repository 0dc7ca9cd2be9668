package interp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// Order is the order in which blocks run. A correct kernel computes the same results in all orders, except for the effects of the order of
// atomics.
type Order uint8

// The orders of blocks.
const (
	Forward Order = iota
	Backward
	Shuffled // in a random order that depends on Options.Seed
)

// Options are settings of a run. The zero value means one goroutine, blocks in forward order, no race detector.
type Options struct {
	Order Order
	Seed  uint64
	// Workers is the number of goroutines that run blocks; 0 means one. With more than one, atomics of different blocks run in any order.
	Workers int
	// Races makes Run report races: two accesses of different threads to the same element that no barrier orders, unless both are reads or
	// both are atomic. This needs about a hundred bytes for each element of the slots, and blocks run one after the other.
	Races bool
	// Subgroup is the size of subgroups for kernels that do not set it; 0 means 32.
	Subgroup int
	// Iterations is the number of times that the body of a While may run before the loop is reported as endless; 0 means a million.
	Iterations int
	// Flush says that subnormal numbers of f32 are replaced by zeros in operands and results of arithmetic and casts, as on some hardware.
	// Copies do not change them.
	Flush bool
}

// Fault is an error that occurred while a kernel ran.
type Fault struct {
	Kernel string
	Block  [3]int
	Thread int    // -1 if the error does not concern a single thread
	Inst   string // the instruction, as ir.Kernel.Line prints it
	Text   string
}

func (f *Fault) Error() string {
	who := ""
	if f.Thread >= 0 {
		who = fmt.Sprintf(" thread %d", f.Thread)
	}
	return fmt.Sprintf("kernel %s: block %v%s: %s: %s", f.Kernel, f.Block, who, f.Inst, f.Text)
}

// Run runs a launch on the memory of slots. Each slot has the length of its buffer. For an error of the kernel it returns a *Fault; the
// contents of slots are then undefined.
func Run(l ir.Launch, slots [][]byte, o Options) error {
	if o.Subgroup == 0 {
		o.Subgroup = 32
	}
	if o.Subgroup < 1 {
		return fmt.Errorf("kernel %s: subgroups of %d", l.Kernel.Name, o.Subgroup)
	}
	if o.Iterations == 0 {
		o.Iterations = 1 << 20
	}
	if l.Kernel.Members > 0 {
		return members(l, slots, o)
	}
	blocks := 1
	for _, g := range l.Grid {
		if g < 0 || g > 0 && blocks > (1<<31-1)/g {
			return fmt.Errorf("kernel %s: grid %v", l.Kernel.Name, l.Grid)
		}
		blocks *= g
	}
	if blocks == 0 {
		return nil
	}
	var order []int
	if o.Order == Shuffled {
		order = rand.New(rand.NewPCG(o.Seed, 0)).Perm(blocks)
	}
	pick := func(i int) int {
		switch o.Order {
		case Backward:
			return blocks - 1 - i
		case Shuffled:
			return order[i]
		}
		return i
	}
	if o.Races || o.Workers < 2 || blocks == 1 {
		m, err := newMachine(l, slots, o, nil)
		if err != nil {
			return err
		}
		for i := range blocks {
			if err := m.block(pick(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return parallel(l, slots, o, blocks, pick)
}

// members runs the launches that a batched launch replaces, one after the other, in the order that o sets.
func members(l ir.Launch, slots [][]byte, o Options) error {
	if err := l.Kernel.Verify(); err != nil {
		return err
	}
	all, err := l.Members()
	if err != nil {
		return fmt.Errorf("kernel %s: %w", l.Kernel.Name, err)
	}
	switch o.Order {
	case Backward:
		slices.Reverse(all)
	case Shuffled:
		rand.New(rand.NewPCG(o.Seed, 1)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	}
	for _, x := range all {
		if err := Run(x, slots, o); err != nil {
			return err
		}
	}
	return nil
}

func parallel(l ir.Launch, slots [][]byte, o Options, blocks int, pick func(int) int) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
		lock   sync.Mutex // held by atomics
		errs   = make([]error, min(o.Workers, blocks))
	)
	for w := range errs {
		m, err := newMachine(l, slots, o, &lock)
		if err != nil {
			return err
		}
		wg.Go(func() {
			for !failed.Load() {
				i := next.Add(1) - 1
				if i >= int64(blocks) {
					return
				}
				if err := m.block(pick(int(i))); err != nil {
					errs[w] = err
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// RunWork runs the launches of w in order. slots is the memory of its operands and results. RunWork allocates temporaries and fills them
// with bytes that are not a useful value.
func RunWork(w ir.Work, slots [][]byte, o Options) error {
	all := append([][]byte(nil), slots...)
	for _, n := range w.Temps {
		t := make([]byte, n)
		for i := range t {
			t[i] = 0xfe
		}
		all = append(all, t)
	}
	for i, l := range w.Launches {
		if err := Run(l, all, o); err != nil {
			return fmt.Errorf("launch %d: %w", i, err)
		}
	}
	return nil
}
