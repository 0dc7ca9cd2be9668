package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/peer"
)

// The parts of docs/BENCHMARKS.md that receive the reports.
const (
	section    peer.Section = "make bench-train"
	fusionPart peer.Section = "make bench-fusion"
)

func report(figures []figure, load string) string {
	var b strings.Builder
	version := "none"
	for _, f := range figures {
		for _, s := range f.peers {
			if s.version != "" {
				version = s.version
			}
		}
	}
	fmt.Fprintf(&b, "Of %s on %s (%d processors), %s/%s, PyTorch %s.", time.Now().UTC().Format("2 January 2006"), peer.Processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, version)
	if load != "" {
		fmt.Fprintf(&b, " Load of the machine before the run: %s.", load)
	}
	b.WriteString(" A step ends with a wait for its loss; of many steps the last alone does. " +
		"Processor time is that of all threads of both processes of burn, and of PyTorch's one.")
	b.WriteString("\n\n| model | device | threads | PyTorch | burn, ms | PyTorch, ms | speed | processor: burn, ms | PyTorch, ms | speed | many: burn, ms | PyTorch, ms | speed | difference | burn's memory, MiB | PyTorch's |\n" +
		"|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, f := range figures {
		for _, s := range f.peers {
			if s.err != nil {
				fmt.Fprintf(&b, "| %s%s | %s | %d | %s | | failed | | | | | | | | | | |\n", f.text, narrow(f.narrow), f.device, f.settings.threads, s.mode)
				continue
			}
			fmt.Fprintf(&b, "| %s%s | %s | %d | %s | %.3f | %.3f | %.2f | %.1f | %.1f | %.2f | %.3f | %.3f | %.2f | %.0e | %.0f | %.0f |\n", f.text, narrow(f.narrow), f.device, f.settings.threads, s.mode,
				ms(f.burn.Median), ms(s.stats.Median), ratio(s.stats.Median, f.burn.Median), ms(f.used), ms(s.used), ratio(s.used, f.used),
				ms(f.many), ms(s.many), ratio(s.many, f.many), f.difference,
				mib(f.memory), mib(s.reserved))
		}
	}
	b.WriteString(curveTable(figures))
	return b.String()
}

func narrow(dt dtype.DType) string {
	if dt == dtype.BF16 {
		return ", bf16"
	}
	return ""
}

// curveTable returns a Markdown table of the differences of the losses of language models, empty if none were compared.
func curveTable(figures []figure) string {
	var b strings.Builder
	for _, f := range figures {
		for _, s := range f.peers {
			if len(s.curve) == 0 || len(f.curve) == 0 {
				continue
			}
			if b.Len() == 0 {
				b.WriteString("\nLosses of the same steps from the same weights; the distance is the greatest between means of 10 steps.\n\n" +
					"| model | PyTorch | steps | first: burn | PyTorch | last: burn | PyTorch | distance |\n|---|---|---:|---:|---:|---:|---:|---:|\n")
			}
			n, m := len(f.curve)-1, len(s.curve)-1
			fmt.Fprintf(&b, "| %s%s | %s | %d | %.5f | %.5f | %.5f | %.5f | %.1e |\n", f.text, narrow(f.narrow), s.mode, n+1, f.curve[0], s.curve[0], f.curve[n], s.curve[m], s.difference)
		}
	}
	return b.String()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// ratio returns the peer's time divided by burn's own.
func ratio(peer, own time.Duration) float64 {
	if own <= 0 {
		return 0
	}
	return float64(peer) / float64(own)
}
