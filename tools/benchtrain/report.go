package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The lines that the generated part stands between.
const (
	begin = "<!-- make bench-train: begin -->\n"
	end   = "<!-- make bench-train: end -->\n"
)

func report(figures []figure, version, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Of %s on %s (%d processors), %s/%s, PyTorch %s.", time.Now().UTC().Format("2 January 2006"), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, version)
	if load != "" {
		fmt.Fprintf(&b, " Load of the machine before the run: %s.", load)
	}
	b.WriteString("\n\n| model | threads | burn, ms | PyTorch, ms | speed | of the best | difference |\n|---|---:|---:|---:|---:|---:|---:|\n")
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %.2f | %.2f | %.0e |\n", f.text, f.threads, ms(f.burn.Median), ms(f.peer.Median),
			float64(f.peer.Median)/float64(f.burn.Median), float64(f.peer.Best)/float64(f.burn.Best), f.difference)
	}
	return b.String()
}

// replace puts text between the marks of a file.
func replace(path, text string) error {
	path = filepath.Clean(path)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s: want the lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+strings.TrimSpace(text)+"\n\n"+end+tail), 0o644)
}
