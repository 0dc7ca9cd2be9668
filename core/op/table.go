package op

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
)

type entry struct {
	code Code
	row  Row
}

// The rows are in table_*.go, by group.
var sections = [][]entry{
	selectionRows, attentionRows, lossRows, gateRows, numericRows, arrangeRows, neighbourRows,
	creationRows, movementRows, unaryRows, binaryRows, reductionRows, contractionRows,
	arithmeticRows, activationRows, statisticsRows, layerRows, indexingRows, quantizationRows, searchRows, randomRows, einsumRows, spectralRows,
	matrixRows, factorRows, spectrumRows,
	poolingRows, interpolateRows, gridRows, patchRows, quantizedRows}

type snapshot struct {
	rows   []*Row
	byName map[string]Code
}

var (
	table    atomic.Pointer[snapshot]
	tableMu  sync.Mutex // held by Register
	builtins int
)

func init() {
	s := &snapshot{rows: make([]*Row, endOfTable), byName: map[string]Code{}}
	s.rows[NoOp] = &Row{Name: "invalid"}
	for _, section := range sections {
		for i := range section {
			e := &section[i]
			if e.row.Version == 0 {
				e.row.Version = 1
			}
			if s.rows[e.code] != nil {
				panic("op: two rows for " + e.row.Name)
			}
			if _, dup := s.byName[e.row.Name]; dup {
				panic("op: two rows named " + e.row.Name)
			}
			s.rows[e.code], s.byName[e.row.Name] = &e.row, e.code
			e.row.findDraws(e.code)
		}
	}
	for c, r := range s.rows {
		if r == nil {
			panic(fmt.Sprintf("op: code %d has no row", c))
		}
	}
	builtins = int(endOfTable)
	table.Store(s)
}

// All lists every op, registered custom ops included, in the order of the table.
func All() []Code {
	n := len(table.Load().rows)
	codes := make([]Code, 0, n-1)
	for c := 1; c < n; c++ {
		codes = append(codes, Code(c))
	}
	return codes
}

// Lookup returns the row of c. The row must not be changed. For an unknown code it returns a row named "invalid".
func Lookup(c Code) *Row {
	s := table.Load()
	if int(c) < len(s.rows) {
		return s.rows[c]
	}
	return s.rows[NoOp]
}

// ByName finds an op by its name.
func ByName(name string) (Code, bool) {
	c, ok := table.Load().byName[name]
	return c, ok
}

// String returns the op's name.
func (c Code) String() string { return Lookup(c).Name }

// Register adds a custom op, named "vendor.op", with an inference function and an optional decomposition, which may be nil. Without a
// decomposition, a backend that does not claim the op refuses it. Register panics if the row is incomplete or the name is taken, because it
// is meant for init functions. It is safe for concurrent use.
func Register(r Row, decompose Decomposition) Code {
	switch {
	case strings.Count(r.Name, ".") < 1 || strings.HasPrefix(r.Name, ".") || strings.HasSuffix(r.Name, "."):
		panic(fmt.Sprintf("op: custom op %q, want a name of the form vendor.op", r.Name))
	case r.Infer == nil || r.Version == 0 || r.Doc == "":
		panic("op: custom op " + r.Name + " needs a version, a doc line and an inference function")
	}
	r.Class = Custom
	tableMu.Lock()
	defer tableMu.Unlock()
	old := table.Load()
	if _, dup := old.byName[r.Name]; dup {
		panic("op: Register called twice for " + r.Name)
	}
	next := &snapshot{rows: append(append([]*Row(nil), old.rows...), &r), byName: map[string]Code{}}
	for k, v := range old.byName {
		next.byName[k] = v
	}
	c := Code(len(old.rows))
	next.byName[r.Name] = c
	if decompose != nil {
		customDecompositions.Store(c, decompose)
	}
	table.Store(next)
	return c
}

// Shorthands for rows.

func in(name string, types dtype.Set) Operand { return Operand{Name: name, Types: types} }

func same(name string, as int) Operand { return Operand{Name: name, Types: dtype.Any, SameAs: as} }

func optional(o Operand) Operand {
	o.Optional = true
	return o
}

func variadic(o Operand) Operand {
	o.Variadic = true
	return o
}

func required(name string, k Kind, doc string) AttrSpec {
	return AttrSpec{Name: name, Kind: k, Doc: doc}
}

func defaults(a Attr, doc string) AttrSpec {
	return AttrSpec{Name: a.Name, Kind: a.Value.kind, Default: a.Value, Doc: doc}
}

func choice(name, def, doc string, oneOf ...string) AttrSpec {
	return AttrSpec{Name: name, Kind: KindString, Default: Str(name, def).Value, OneOf: oneOf, Doc: doc}
}

var (
	exact  = Tolerance{Exact: true}
	oneULP = Tolerance{Units: 1}
	result = []string{"y"}
)

func ulps(n float64) Tolerance { return Tolerance{Units: n} }

func perTerm(n float64) Tolerance { return Tolerance{Units: n, PerTerm: true} }
