// Command benchmodels times models on the built-in cpu backend, on the same backend as a plugin process, and in ONNX
// Runtime, on the same machine, with the same threads, in one run, after checking that all give the same results. It
// writes a section of docs/BENCHMARKS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/model/onnx/onnxtest"
	_ "github.com/goburn/burn/plugins/cpu"
)

func main() {
	models := flag.String("models", "", "`DIR` of NAME/model.onnx with test_data_set_0")
	python := flag.String("python", "", "Python `PROGRAM` with onnx and onnxruntime; empty: no peer")
	threads := flag.Int("threads", 0, "threads of every contestant; 0: 1 and then all processors")
	seconds := flag.Float64("seconds", 1, "how long each contestant runs each model, in rounds")
	out := flag.String("out", "", "`FILE` whose section \"Models\" is replaced; empty: print")
	flag.Parse()
	if err := run(*models, *python, *threads, *seconds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "benchmodels:", err)
		os.Exit(1)
	}
}

func run(models, python string, threads int, seconds float64, out string) error {
	if models == "" {
		return fmt.Errorf("-models is needed: a directory of NAME/model.onnx with test_data_set_0")
	}
	counts := []int{threads}
	if threads == 0 {
		counts = slices.Compact([]int{1, runtime.NumCPU()})
	}
	cases, err := onnxtest.Find(models)
	if err != nil {
		return err
	}
	var peer *ort
	if python != "" {
		if peer, err = startORT(python); err != nil {
			return err
		}
		defer peer.close()
	}
	var text strings.Builder
	for _, n := range counts {
		if err := section(&text, cases, peer, n, seconds); err != nil {
			return err
		}
	}
	if out == "" {
		_, err = io.WriteString(os.Stdout, text.String())
		return err
	}
	return replaceSection(out, "Models", text.String())
}

// row is one model's times in microseconds.
type row struct {
	name                   string
	builtin, process, peer float64
}

func section(w io.Writer, cases []onnxtest.Case, peer *ort, threads int, seconds float64) error {
	ctx := context.Background()
	runtime.GOMAXPROCS(max(threads, 1))
	var devices []*core.Device
	for _, spec := range []string{"builtin:cpu", "process:cpu"} {
		d, err := host.Open(ctx, spec, host.Options{Config: core.Config{Threads: threads}})
		if err != nil {
			return err
		}
		defer d.Close()
		devices = append(devices, d)
	}
	var rows []row
	for _, c := range cases {
		if _, err := os.Stat(data(c)); err != nil { // nothing to feed it with
			continue
		}
		r, err := measure(ctx, devices, peer, c, threads, seconds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%d threads  %-22s builtin %8.0f µs  process %8.0f µs  peer %8.0f µs\n", threads, r.name, r.builtin, r.process, r.peer)
		rows = append(rows, r)
	}
	fmt.Fprintf(w, "\n### %d thread%s\n\n", threads, map[bool]string{true: "s"}[threads != 1])
	table(w, rows, peer)
	return nil
}

func table(w io.Writer, rows []row, peer *ort) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	head, rule := "| model\t| builtin, µs\t| process, µs\t| process / builtin\t|", "|---\t|---:\t|---:\t|---:\t|"
	if peer != nil {
		head, rule = head+" ONNX Runtime "+peer.version+", µs\t| speed against ONNX Runtime\t|", rule+"---:\t|---:\t|"
	}
	fmt.Fprintf(t, "%s\n%s\n", head, rule)
	var overhead, speed []float64
	for _, r := range rows {
		fmt.Fprintf(t, "| %s\t| %.0f\t| %.0f\t| %.2f\t|", r.name, r.builtin, r.process, r.process/r.builtin)
		overhead = append(overhead, r.process/r.builtin)
		if peer != nil {
			fmt.Fprintf(t, " %.0f\t| %.2f\t|", r.peer, r.peer/r.builtin)
			speed = append(speed, r.peer/r.builtin)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintf(t, "| geometric mean\t|\t|\t| %.2f\t|", geomean(overhead))
	if peer != nil {
		fmt.Fprintf(t, "\t| %.2f\t|", geomean(speed))
	}
	fmt.Fprintln(t)
	_ = t.Flush()
}

func geomean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += math.Log(x)
	}
	return math.Exp(s / float64(len(v)))
}

func median(ts []time.Duration) float64 {
	slices.Sort(ts)
	return float64(ts[len(ts)/2].Nanoseconds()) / 1e3
}

// replaceSection puts text under the heading "## name" of a Markdown file, in place of what stands there.
func replaceSection(path, name, text string) error {
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	head := "## " + name + "\n"
	at := strings.Index(string(b), head)
	if at < 0 {
		return fmt.Errorf("%s has no section %q", path, name)
	}
	rest := string(b)[at+len(head):]
	end := strings.Index(rest, "\n## ")
	if end < 0 {
		end = len(rest)
	}
	intro, _, _ := strings.Cut(rest[:end], "\n### ") // prose before the first table stays
	return os.WriteFile(path, []byte(string(b)[:at]+head+strings.TrimRight(intro, "\n")+"\n"+text+rest[end:]), 0o644)
}
