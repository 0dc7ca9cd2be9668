package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

//go:embed peer.py
var script []byte

type opFlags struct {
	device, python, json string
	torch                string
	tf32                 string
	match                *regexp.Regexp
	small                bool
	repeats              int
	atLeast, limit       time.Duration
}

// figure is the measurement of a case on one side.
type figure struct {
	Name   string  `json:"name"`
	Side   string  `json:"side"` // burn, eager, compiled, or pinned for copies
	Millis float64 `json:"ms"`   // median time of a run
	Best   float64 `json:"best_ms"`
	Off    float64 `json:"off"` // greatest distance from the expected results, relative to the tolerance; in JSON null if it is not finite
	Error  string  `json:"error,omitempty"`
}

// MarshalJSON implements json.Marshaler: a wrong result has an infinite distance, which JSON cannot express.
func (fig figure) MarshalJSON() ([]byte, error) {
	type plain figure
	x := struct {
		plain
		Off *float64 `json:"off"`
	}{plain: plain(fig)}
	if !math.IsInf(fig.Off, 0) && !math.IsNaN(fig.Off) {
		x.Off = &fig.Off
	}
	return json.Marshal(x)
}

func runOps(ctx context.Context, args []string, out io.Writer) (err error) {
	var o opFlags
	f := flag.NewFlagSet("ops", flag.ContinueOnError)
	f.StringVar(&o.device, "device", "cuda:0", "`DEVICE` of burn")
	f.StringVar(&o.python, "python", "python3", "Python `PROGRAM` with torch; empty: burn alone")
	f.StringVar(&o.torch, "torch", "cuda", "`DEVICE` of PyTorch")
	f.StringVar(&o.json, "json", "", "`FILE` for a line of JSON for each figure, written as they come")
	f.StringVar(&o.tf32, "tf32", "tf32=on", "`OPTION=VALUE` of the backend that allows TF32")
	match := f.String("run", "", "cases whose name matches `EXPRESSION`")
	f.BoolVar(&o.small, "small", false, "small sizes, to try the command out")
	f.IntVar(&o.repeats, "repeats", 15, "samples of a case")
	f.DurationVar(&o.atLeast, "sample", 30*time.Millisecond, "how long a sample takes at least")
	f.DurationVar(&o.limit, "limit", time.Minute, "greatest time for a case")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.match, err = regexp.Compile(*match); err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	z := full
	if o.small {
		z = small
	}
	list := slices.DeleteFunc(cases(z), func(c opCase) bool { return !o.match.MatchString(c.name) })
	log := io.Discard
	if o.json != "" {
		w, fault := os.Create(o.json)
		if fault != nil {
			return fault
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		log = w
	}
	var figures []figure
	var lost []error // faults of the log
	keep := func(fig figure) {
		figures = append(figures, fig)
		b, e := json.Marshal(fig)
		if e == nil {
			_, e = fmt.Fprintf(log, "%s\n", b)
		}
		if e != nil {
			lost = append(lost, fmt.Errorf("-json: figure of %s: %w", fig.Name, e))
		}
		fmt.Fprintf(os.Stderr, "%s\n", b)
	}
	for _, tf32 := range []bool{false, true} {
		own := slices.DeleteFunc(slices.Clone(list), func(c opCase) bool { return c.tf32 != tf32 })
		if err := o.burn(ctx, own, tf32, z, keep); err != nil {
			keep(figure{Name: "device", Side: "burn", Error: err.Error()})
		}
	}
	if o.python != "" {
		if err := o.peer(ctx, list, z, keep); err != nil {
			keep(figure{Name: "device", Side: "eager", Error: err.Error()})
		}
	}
	_, err = io.WriteString(out, table(list, figures))
	err = errors.Join(append(lost, err)...)
	for _, fig := range figures {
		if fig.Side == "burn" && fig.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", fig.Name, fig.Error))
		}
	}
	return err
}

// burn measures cases on a device that it opens, with or without TF32. Without TF32 it also measures the cases that are not
// programs.
func (o *opFlags) burn(ctx context.Context, list []opCase, tf32 bool, z sizes, keep func(figure)) error {
	if len(list) == 0 {
		return nil
	}
	var config core.Config
	if tf32 {
		name, value, ok := strings.Cut(o.tf32, "=")
		if !ok {
			return fmt.Errorf("-tf32: got %q, want OPTION=VALUE", o.tf32)
		}
		config.Options = map[string]string{name: value}
	}
	p, err := host.Open(ctx, o.device, host.Options{Config: config, Containment: os.Getenv("BURN_PLUGIN_CONTAINMENT")})
	if err != nil {
		return err
	}
	dev, err := tensor.Own(ctx, p)
	if err != nil {
		return err
	}
	for i := range list {
		fig := figure{Name: list[i].name, Side: "burn"}
		if err := ctx.Err(); err != nil {
			return errors.Join(err, dev.Close())
		}
		within, stop := context.WithTimeout(ctx, o.limit)
		terr := tensor.Try(func() { err = o.measure(within, dev, &list[i], z, &fig) })
		stop()
		if err = errors.Join(err, terr); err != nil {
			fig.Error = err.Error()
		}
		keep(fig)
	}
	if !tf32 {
		o.plain(ctx, dev, z, keep)
	}
	return dev.Close()
}

// peer measures PyTorch by running peer.py, and passes each figure to keep.
func (o *opFlags) peer(ctx context.Context, list []opCase, z sizes, keep func(figure)) error {
	dir, err := os.MkdirTemp("", "benchgpu")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return err
	}
	type request struct {
		Name   string   `json:"name"`
		Kind   string   `json:"kind"`
		Shapes [][]int  `json:"shapes"`
		Types  []string `json:"types"`
		TF32   bool     `json:"tf32"`
		Chain  int      `json:"chain"`
	}
	var requests []request
	for _, c := range list {
		r := request{Name: c.name, Kind: c.kind, TF32: c.tf32, Chain: z.chain}
		shapes, types := c.shapes()
		for _, s := range shapes {
			r.Shapes = append(r.Shapes, s)
		}
		r.Types = types
		requests = append(requests, r)
	}
	for _, c := range plainCases(z) {
		if o.match.MatchString(c.name) {
			requests = append(requests, request{Name: c.name, Kind: c.name, Shapes: [][]int{{c.size}}, Types: []string{"f32"}})
		}
	}
	b, err := json.Marshal(map[string]any{"cases": requests, "device": o.torch, "repeats": o.repeats, "sample": o.atLeast.Seconds(), "limit": o.limit.Seconds()})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.python, path)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(b)), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := json.NewDecoder(out)
	for {
		var fig figure
		if err := lines.Decode(&fig); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, cmd.Wait())
		}
		keep(fig)
	}
}
