package conformance

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageRow is a row of the matrix.
type pageRow struct {
	Op    string
	Cells []pageCell
}

type pageCell struct {
	Class, Text, Title, Type string
}

// WriteHTML writes the report as one self-contained page: the matrix of ops and types, failures with their inputs, and all cases
// with filters.
func (r *Report) WriteHTML(w io.Writer) error {
	type failure struct {
		ID, Reason string
		Minimal    *Minimal
		Expected   bool
	}
	data := struct {
		*Report
		Title    string
		Types    []string
		Matrix   []pageRow
		Failures []failure
		Cases    [][2]string       // id and status
		Reasons  map[string]string // why cases were skipped, by id
		Took     time.Duration
		Asked    int
		Missed   int
		Left     map[Profile][]string // reasons for which cases were not tested, by profile
	}{Report: r, Asked: len(r.asked), Missed: len(r.missed()), Left: map[Profile][]string{}, Title: "burn conformance: " + r.Backend.Name + " " + r.Backend.Version, Took: r.Duration.Round(time.Millisecond),
		Cases: [][2]string{}, Reasons: map[string]string{}}
	for _, p := range r.Profiles {
		data.Left[p.Profile] = r.holeLines(p)
	}
	m := r.Matrix()
	for _, d := range m.Types {
		data.Types = append(data.Types, d.String())
	}
	for _, o := range m.Ops {
		l := pageRow{Op: o}
		for _, d := range m.Types {
			l.Cells = append(l.Cells, cellOf(m.Cell(o, d), d.String()))
		}
		data.Matrix = append(data.Matrix, l)
	}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Status == Failed || x.Status == Expected {
			data.Failures = append(data.Failures, failure{x.ID, x.Reason, x.Minimal, x.Status == Expected})
		}
		if x.Status == Skipped {
			data.Reasons[x.ID] = x.Reason
		}
		data.Cases = append(data.Cases, [2]string{x.ID, string(x.Status)})
	}
	return page.Execute(w, data)
}

func cellOf(c Cell, typ string) pageCell {
	p := pageCell{Title: fmt.Sprintf("%d passed, %d failed, %d skipped, %d failed as expected", c.Passed, c.Failed, c.Skipped, c.Expected), Type: typ}
	switch c.Mark() {
	case 'F':
		p.Class, p.Text = "fail", fmt.Sprint(c.Failed)
	case 'x':
		p.Class, p.Text = "expected", fmt.Sprint(c.Expected)
	case 'o':
		p.Class, p.Text = "some", fmt.Sprint(c.Passed)
	case '.':
		p.Class, p.Text = "pass", fmt.Sprint(c.Passed)
	case '-':
		p.Class, p.Text = "skip", "–"
	default:
		p.Title = ""
	}
	return p
}
