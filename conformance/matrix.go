package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Cell counts the results of one op on one type.
type Cell struct {
	Passed, Failed, Skipped, Expected int
}

// Mark returns the character that Write prints for the cell. It shows the most important outcome in the cell.
func (c Cell) Mark() byte {
	switch {
	case c.Failed > 0:
		return 'F'
	case c.Expected > 0:
		return 'x'
	case c.Passed > 0 && c.Skipped > 0:
		return 'o'
	case c.Passed > 0:
		return '.'
	case c.Skipped > 0:
		return '-'
	}
	return ' '
}

// Matrix is a table of the tested ops by the tested types of their first operand.
type Matrix struct {
	Ops   []string
	Types []dtype.DType
	cells map[string]map[dtype.DType]*Cell
}

// Cell returns the counts of an op on a type. They are 0 if no case tests it.
func (m *Matrix) Cell(op string, d dtype.DType) Cell {
	if c := m.cells[op][d]; c != nil {
		return *c
	}
	return Cell{}
}

// Matrix counts the results by op and type.
func (r *Report) Matrix() *Matrix {
	m := &Matrix{cells: map[string]map[dtype.DType]*Cell{}}
	var types dtype.Set
	for i := range r.Results {
		x := &r.Results[i]
		if x.Op == "" {
			continue
		}
		row := m.cells[x.Op]
		if row == nil {
			row = map[dtype.DType]*Cell{}
			m.cells[x.Op] = row
		}
		c := row[x.Type]
		if c == nil {
			c = &Cell{}
			row[x.Type] = c
		}
		types |= dtype.SetOf(x.Type)
		switch x.Status {
		case Passed:
			c.Passed++
		case Failed:
			c.Failed++
		case Skipped:
			c.Skipped++
		case Expected:
			c.Expected++
		}
	}
	m.Types = types.List()
	for _, c := range op.All() {
		if m.cells[c.String()] != nil {
			m.Ops = append(m.Ops, c.String())
		}
	}
	return m
}

// Write prints the matrix compactly: ops with the same row of marks share a line.
func (m *Matrix) Write(w io.Writer) error {
	if len(m.Ops) == 0 {
		return nil
	}
	var names []string
	for _, d := range m.Types {
		names = append(names, d.String())
	}
	rows := map[string][]string{}
	var order []string
	for _, o := range m.Ops {
		marks := make([]string, len(m.Types))
		for i, d := range m.Types {
			marks[i] = fmt.Sprintf("%-*c", len(names[i]), m.Cell(o, d).Mark())
		}
		key := strings.Join(marks, " ")
		if rows[key] == nil {
			order = append(order, key)
		}
		rows[key] = append(rows[key], o)
	}
	var errs []error
	print := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format, args...)
		errs = append(errs, err)
	}
	print("%s   . passed, o some skipped, - all skipped, x failed as expected, F failed\n", strings.Join(names, " "))
	for _, key := range order {
		for i, line := range wrapped(rows[key], 100) {
			if i > 0 {
				key = strings.Repeat(" ", len(key))
			}
			print("%s   %s\n", key, line)
		}
	}
	return errors.Join(errs...)
}

// wrapped joins words into lines of at most width bytes. Only a longer word exceeds it.
func wrapped(words []string, width int) []string {
	var lines []string
	line := ""
	for _, w := range words {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
