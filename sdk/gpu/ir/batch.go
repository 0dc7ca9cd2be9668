package ir

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Batch returns one launch that replaces launches of the same kernel. The replaced launches run in any order or at the same time. Arguments
// that are equal in all launches become one argument. All launches must use the same numbering of slots. Batch returns false if there are no
// launches, if they have different kernels or a batched kernel, or if a grid has more than one row.
func Batch(ls []Launch) (Launch, bool) {
	if len(ls) == 0 || ls[0].Kernel.Members > 0 {
		return Launch{}, false
	}
	first := ls[0].Kernel
	text := first.String()
	l := Launch{Grid: [3]int{0, 1, 1}}
	for i := range ls {
		x := &ls[i]
		if x.Kernel != first && x.Kernel.String() != text || len(x.Args) != len(first.Params) || x.Grid[1] != 1 || x.Grid[2] != 1 ||
			x.Grid[0] > math.MaxInt32-l.Grid[0] {
			return Launch{}, false
		}
		l.Starts = append(l.Starts, int32(l.Grid[0]))
		l.Grid[0] += x.Grid[0]
	}
	k := *first
	k.Members, k.Params = len(ls), slices.Clone(first.Params)
	for i := range k.Params {
		k.Params[i].Each = slices.ContainsFunc(ls, func(x Launch) bool { return x.Args[i] != ls[0].Args[i] })
		if !k.Params[i].Each {
			l.Args = append(l.Args, ls[0].Args[i])
			continue
		}
		for _, x := range ls {
			l.Args = append(l.Args, x.Args[i])
		}
	}
	l.Kernel = &k
	return l, true
}

// Arguments returns the parameter of each argument of a launch, in order.
func (k *Kernel) Arguments() []Param {
	if k.Members == 0 {
		return k.Params
	}
	var all []Param
	for _, p := range k.Params {
		n := 1
		if p.Each {
			n = k.Members
		}
		all = append(all, slices.Repeat([]Param{p}, n)...)
	}
	return all
}

// ParamBytes returns the size of the parameters of a kernel in bytes. A pointer has 8 bytes, and each parameter begins at a multiple of 8.
// In a batched kernel, the starts of the members are a further parameter.
func (k *Kernel) ParamBytes() int {
	total := 0
	for _, p := range k.Params {
		n := p.Type.Size()
		if p.IsBuffer() {
			n = 8
		}
		if p.Each {
			n *= k.Members
		}
		total += (n + 7) &^ 7
	}
	if k.Members > 0 {
		total += (4*(k.Members+1) + 7) &^ 7
	}
	return total
}

// Members returns the launches that l replaces: l itself if its kernel is not batched.
func (l *Launch) Members() ([]Launch, error) {
	k := l.Kernel
	if k.Members == 0 {
		return []Launch{*l}, nil
	}
	if want := len(k.Arguments()); len(l.Args) != want || len(l.Starts) != k.Members {
		return nil, fmt.Errorf("%d arguments and %d starts for %d members, want %d arguments", len(l.Args), len(l.Starts), k.Members, want)
	}
	if l.Grid[1] != 1 || l.Grid[2] != 1 || l.Starts[0] != 0 {
		return nil, fmt.Errorf("%d members in grid %v, from block %d on", k.Members, l.Grid, l.Starts[0])
	}
	one := *k
	one.Members, one.Params = 0, slices.Clone(k.Params)
	for i := range one.Params {
		one.Params[i].Each = false
	}
	all := make([]Launch, k.Members)
	for m := range all {
		end := l.Grid[0]
		if m+1 < k.Members {
			end = int(l.Starts[m+1])
		}
		if end <= int(l.Starts[m]) {
			return nil, errors.New("a member without blocks")
		}
		x := Launch{Kernel: &one, Grid: [3]int{end - int(l.Starts[m]), 1, 1}}
		at := 0
		for _, p := range k.Params {
			if p.Each {
				x.Args = append(x.Args, l.Args[at+m])
				at += k.Members
				continue
			}
			x.Args = append(x.Args, l.Args[at])
			at++
		}
		all[m] = x
	}
	return all, nil
}

// checkBatch checks each member of a batched launch.
func checkBatch(l Launch, buffers []int64, limits Limits) (err error) {
	if err := l.Kernel.Verify(); err != nil {
		return err
	}
	c := &checker{k: l.Kernel}
	defer caught(&err)
	all, err := l.Members()
	if err != nil {
		c.fail(nil, "%v", err)
	}
	if n := l.Kernel.ParamBytes(); above(n, limits.Params) {
		c.fail(nil, "%d bytes of parameters, at most %d", n, limits.Params)
	}
	if above(l.Grid[0], limits.Grid[0]) || l.Grid[0] > math.MaxInt32 {
		c.fail(nil, "grid %v, at most %v", l.Grid, limits.Grid)
	}
	for m, x := range all {
		if err := Check(x, buffers, limits); err != nil {
			return fmt.Errorf("member %d: %w", m, err)
		}
	}
	return nil
}
