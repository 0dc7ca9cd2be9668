package cli

import (
	"io"
	"strings"
	"time"

	"github.com/goburn/burn/internal/plain"
)

// bar shows the progress of a run: a bar on a terminal, else a line from time to time.
type bar struct {
	progress
	out    io.Writer
	failed int
	last   time.Time
	every  time.Duration
}

func newBar(w io.Writer, total int) *bar {
	return &bar{progress: *newProgress(w, total), out: w, last: time.Now(), every: 10 * time.Second}
}

const barWidth = 30

// step counts one case.
func (b *bar) step(id string, failed bool) {
	b.done++
	if failed {
		b.failed++
	}
	now := time.Now()
	if b.w == nil {
		if now.Sub(b.last) >= b.every {
			b.last = now
			plain.Fprintf(b.out, "%d of %d cases, %d failed, now at %s\n", b.done, b.total, b.failed, id)
		}
		return
	}
	if now.Sub(b.last) < 50*time.Millisecond && b.done < b.total {
		return
	}
	b.last = now
	full := barWidth * b.done / max(1, b.total)
	id = id[max(0, len(id)-40):]
	plain.Fprintf(b.w, "\r\x1b[K[%s%s] %d/%d  %d failed  %s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), b.done, b.total, b.failed, id)
	b.drawn = true
}
