package restore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// missing is the error of a backend that no longer has a capability after a restart.
type missing string

func (m missing) Error() string {
	return "restore: the backend came back without " + string(m) + ": " + core.ErrBackendLost.Error()
}

// Unwrap returns core.ErrBackendLost.
func (missing) Unwrap() error { return core.ErrBackendLost }

// less returns the name of a capability that a device had before and no longer has, or "".
func less(old, now *core.Capabilities, had, has extensions) string {
	for _, x := range []struct {
		name     string
		had, has bool
	}{
		{"programs", had.programs != nil, has.programs != nil},
		{"memory figures", had.memory != nil, has.memory != nil},
		{"host memory", had.host != nil, has.host != nil},
		{"copies between devices", had.peer != nil, has.peer != nil},
		{"collectives", had.collectives != nil, has.collectives != nil},
		{"exact capabilities", had.selective == nil, has.selective == nil},
		{"determinism", old.Deterministic, now.Deterministic},
		{"its limits", true, covers(old.Limits, now.Limits)},
	} {
		if x.had && !x.has {
			return x.name
		}
	}
	if gone := old.Types &^ now.Types; gone != 0 {
		return fmt.Sprintf("type %v", gone)
	}
	if gone := now.Flushes &^ old.Flushes; gone != 0 {
		return fmt.Sprintf("subnormal numbers of %v", gone)
	}
	for _, name := range slices.Sorted(maps.Keys(old.Ops)) {
		x := old.Ops[name]
		y, ok := now.Ops[name]
		if !ok || x.Version != y.Version {
			return fmt.Sprintf("%s version %d", name, x.Version)
		}
		gone := lacks(x.Operands, y.Operands, old.Types) | lacks(x.Results, y.Results, old.Types)
		if gone != 0 {
			return fmt.Sprintf("%s of %v", name, gone)
		}
		if !covers(x.Limits, y.Limits) {
			return "the limits of " + name
		}
	}
	return ""
}

// lacks returns the types that some operand or result no longer supports.
func lacks(old, now []dtype.Set, all dtype.Set) (gone dtype.Set) {
	at := func(l []dtype.Set, i int) dtype.Set {
		if len(l) == 0 {
			return all
		}
		return l[min(i, len(l)-1)] & all
	}
	for i := range max(len(old), len(now)) {
		gone |= at(old, i) &^ at(now, i)
	}
	return gone
}

// covers reports whether now allows everything that old allows.
func covers(old, now core.Limits) bool {
	return bound(old.Rank, now.Rank) && bound(old.Bytes, now.Bytes) && bound(old.Elements, now.Elements) && bound(old.Buffers, now.Buffers)
}

// bound is like covers, for one limit; 0 means no limit.
func bound[T cmp.Ordered](old, now T) bool {
	var none T
	return now == none || old != none && old <= now
}
