// Command lines prints the size of the source: the numbers of files, functions, lines of code and lines of tests, and the packages with
// more than two lines of code per line of tests, the packages with the most excess code first. It counts the given folders, or the current
// one.
//
// A line counts as code if it contains a part of a token. Generated files, comments, blank lines and folders named testdata do not count.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/goburn/burn/internal/golines"
)

func main() {
	most := flag.Int("packages", 20, "how many packages are listed")
	flag.Parse()
	roots := flag.Args()
	if len(roots) == 0 {
		roots = []string{"."}
	}
	for _, root := range roots {
		c, err := golines.Tree(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lines:", err)
			os.Exit(1)
		}
		show(c, *most)
	}
}

func show(c *golines.Counts, most int) {
	sum := c.Sum()
	fmt.Printf("%d files, median %d lines, longest %d\n", len(c.Files), quantile(c.Files, 0.5), quantile(c.Files, 1))
	fmt.Printf("%d functions, median %d lines, 90 %% within %d, longest %d\n", len(c.Functions), quantile(c.Functions, 0.5),
		quantile(c.Functions, 0.9), quantile(c.Functions, 1))
	fmt.Printf("%d lines of code, %d of tests: %.3f for one of code; %d generated\n", sum.Code, sum.Test,
		float64(sum.Test)/float64(max(1, sum.Code)), sum.Generated)
	lack := func(p golines.Package) int { return p.Code - 2*p.Test }
	list := slices.DeleteFunc(slices.Clone(c.Packages), func(p golines.Package) bool { return lack(p) <= 0 })
	slices.SortStableFunc(list, func(a, b golines.Package) int { return cmp.Compare(lack(b), lack(a)) })
	for _, p := range list[:min(most, len(list))] {
		fmt.Printf("%6d %6d %.2f  %s\n", p.Code, p.Test, float64(p.Test)/float64(p.Code), p.Dir)
	}
}

func quantile(sorted []int, q float64) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
