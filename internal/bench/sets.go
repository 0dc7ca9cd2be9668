package bench

import (
	"regexp"
	"slices"

	"github.com/goburn/burn/core/op"
)

// Cases returns all sets, in the order of the report.
func Cases() []Case {
	return slices.Concat(matmuls(), unaryOps(), binaryOps(), reductions(), rows(), movement(), convolutions(), pooling(), attention(), selection())
}

// Sets returns the names of the sets.
func Sets() []string {
	var names []string
	for _, c := range Cases() {
		if !slices.Contains(names, c.Set) {
			names = append(names, c.Set)
		}
	}
	return names
}

// Select returns the cases of a set (all if empty) whose name matches filter.
func Select(cases []Case, set string, filter *regexp.Regexp) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool {
		return set != "" && c.Set != set || filter != nil && !filter.MatchString(c.Name)
	})
}

// The two sizes for ops that are bound by memory: within the second-level cache, and in main memory.
const (
	side      = 128  // 64 KiB of f32
	largeSide = 4096 // 64 MiB
)

// of returns a case.
func of(set, name string, c op.Code, in []Operand, attrs ...op.Attr) Case {
	return Case{Name: name, Set: set, Op: c, In: in, Attrs: attrs}
}

// memory marks cases that are bound by memory.
func memory(cs ...Case) []Case {
	for i := range cs {
		cs[i].Memory = true
	}
	return cs
}

// in returns a list of operands.
func in(x ...Operand) []Operand { return x }

// both returns the cases that make returns for each of the two sizes; make receives the length of a side.
func both(make func(n int, size string) []Case) []Case {
	return append(make(side, "64KiB"), make(largeSide, "64MiB")...)
}
