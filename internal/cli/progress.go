package cli

import (
	"fmt"
	"io"

	"github.com/goburn/burn/internal/plain"
)

// progress is a line that is redrawn in place, on a terminal only.
type progress struct {
	w           io.Writer // nil draws nothing
	done, total int       // total is 0 if unknown
	drawn       bool
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total}
	if terminal(w) {
		p.w = w
	}
	return p
}

// step counts one item and shows what it was.
func (p *progress) step(what string) {
	p.done++
	if p.w == nil {
		return
	}
	what = plain.Text(what)
	what = what[max(0, len(what)-60):]
	of := ""
	if p.total > 0 {
		of = fmt.Sprintf("/%d", p.total)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d%s  %s", p.done, of, what)
	p.drawn = true
}

// clear removes the line.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
