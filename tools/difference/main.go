// Command difference lists the nodes of the conformance suite for which two backends return different results: it runs the suite
// on one device behind decorators/verify, which also computes each node on the other device. It groups the results outside the
// tolerance of their op by op and type.
//
//	go run ./tools/difference -device cpu -against libtorch -profile core
//
// It ends with a line of counts, and with exit status 1 if there is a difference.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/host"
	_ "github.com/goburn/burn/plugins/cpu"
)

// errDiffer is the error of a run that found differences, which have been printed.
var errDiffer = errors.New("the devices differ")

func main() {
	device := flag.String("device", "cpu", "`DEVICE` that the suite runs on")
	against := flag.String("against", "", "`DEVICE` to compare with")
	o := conformance.Options{Shrink: -1}
	profile := flag.String("profile", "core", "`PROFILE` of cases")
	flag.StringVar(&o.Run, "run", "", "regular `EXPRESSION` that ids of cases match")
	flag.IntVar(&o.Sample, "sample", 1, "about one in `N` cases")
	most := flag.Int("most", 3, "print at most `N` differences of an op and type")
	flag.Parse()
	o.Profile = conformance.Profile(*profile)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *device, *against, o, *most); err != nil {
		if !errors.Is(err, errDiffer) {
			fmt.Fprintln(os.Stderr, "difference:", err)
		}
		os.Exit(1)
	}
}

// found collects the results of the comparison.
type found struct {
	mu       sync.Mutex // guards the fields below
	current  string     // the case that is running
	compared int
	skipped  map[string]int      // nodes that were not compared, by op and reason
	differ   map[string][]string // texts by op
}

func (f *found) note(what string, skipped error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if skipped == nil {
		f.compared++
		return
	}
	f.skipped[what]++
}

func (f *found) fault(x *verify.Fault) {
	if x.Kind != verify.Difference {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	name, _, _ := strings.Cut(x.Command, " ")
	f.differ[name] = append(f.differ[name], fmt.Sprintf("after %s: %v", f.current, x.Err))
}

// run runs the suite and prints the differences.
func run(ctx context.Context, w io.Writer, device, against string, o conformance.Options, most int) error {
	other, err := host.Open(ctx, against, host.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }() // its results have been read
	second, err := other.Open(ctx)
	if err != nil {
		return err
	}
	f := &found{skipped: map[string]int{}, differ: map[string][]string{}}
	o.Progress = func(r conformance.Result, _ int) {
		f.mu.Lock()
		f.current = r.ID
		f.mu.Unlock()
	}
	open := func() (core.Backend, error) {
		p, err := host.Open(ctx, device, host.Options{})
		if err != nil {
			return nil, err
		}
		return verify.Wrap(p.Backend, verify.PassOn(), verify.Against(second, f.note), verify.OnFault(f.fault)), nil
	}
	r, err := conformance.Check(ctx, open, o)
	if err != nil {
		return err
	}
	n := 0
	for _, name := range slices.SortedFunc(maps.Keys(f.differ), cmp.Compare) {
		all := f.differ[name]
		n += len(all)
		fmt.Fprintf(w, "%s: %d\n", name, len(all))
		for _, text := range all[:min(most, len(all))] {
			fmt.Fprintf(w, "    %s\n", text)
		}
	}
	skipped := 0
	for _, k := range f.skipped {
		skipped += k
	}
	fmt.Fprintf(w, "%d nodes of %d cases compared, %d of %d ops not computed by %s, %d differences\n", f.compared, r.Passed+r.Failed, skipped, len(f.skipped), against, n)
	if n > 0 {
		return errDiffer
	}
	return nil
}
