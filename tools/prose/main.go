// Command prose lists constructions that are hard to read in the Go comments and Markdown documents of folders, and advises what
// to write instead.
package main

import (
	"fmt"
	"os"

	"github.com/goburn/burn/internal/prose"
)

func main() {
	roots := os.Args[1:]
	if len(roots) == 0 {
		roots = []string{"."}
	}
	total := 0
	for _, root := range roots {
		found, err := prose.Tree(root)
		for _, f := range found {
			fmt.Println(f)
		}
		total += len(found)
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(1)
		}
	}
	if total > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d findings\n", total)
		os.Exit(1)
	}
}
