package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/goburn/burn/internal/peer"
)

// section is the part of docs/BENCHMARKS.md that the report goes to.
const section peer.Section = "make bench-train"

func report(figures []figure, version, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Of %s on %s (%d processors), %s/%s, PyTorch %s.", time.Now().UTC().Format("2 January 2006"), peer.Processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, version)
	if load != "" {
		fmt.Fprintf(&b, " Load of the machine before the run: %s.", load)
	}
	b.WriteString("\n\n| model | threads | burn, ms | PyTorch, ms | speed | of the best | difference | most memory, MiB |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %.2f | %.2f | %.0e | %.0f |\n", f.text, f.threads, ms(f.burn.Median), ms(f.peer.Median),
			float64(f.peer.Median)/float64(f.burn.Median), float64(f.peer.Best)/float64(f.burn.Best), f.difference, float64(f.memory)/(1<<20))
	}
	return b.String()
}
