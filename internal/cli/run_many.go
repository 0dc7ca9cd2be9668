package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
	"github.com/spf13/cobra"
)

// manyFlags are the flags of burn run for many inputs.
type manyFlags struct {
	batch  int
	format string
	out    string
}

func (f *manyFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.batch, "batch", 1, "at most `N` samples in one run")
	fl.StringVar(&f.format, "format", "", "`FORMAT` of the results of several files: text, csv or jsonl (default text, or the extension of --out)")
	fl.StringVar(&f.out, "out", "", "`FILE` for the results of several files instead of stdout")
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)))
}

var formats = []string{"text", "csv", "jsonl"}

// asked reports whether a flag requests many inputs.
func (f *manyFlags) asked(cmd *cobra.Command) bool {
	fl := cmd.Flags()
	return fl.Changed("batch") || fl.Changed("format") || fl.Changed("out")
}

func (f *manyFlags) check(r runFlags) error {
	if f.batch < 1 || f.batch > 1<<16 {
		return usage("--batch: want 1 to %d, got %d", 1<<16, f.batch)
	}
	if f.format == "" {
		f.format = "text"
		switch strings.ToLower(filepath.Ext(f.out)) {
		case ".csv":
			f.format = "csv"
		case ".jsonl", ".ndjson":
			f.format = "jsonl"
		}
	}
	if !slices.Contains(formats, f.format) {
		return usage("--format: want text, csv or jsonl, got %q", f.format)
	}
	if r.json {
		return usage("--json: is for one run; for many files use --format jsonl")
	}
	return nil
}

// manyRun runs a model on one item after another.
type manyRun struct {
	app      *app
	model    *onnx.Model
	path     string
	flags    runFlags
	files    *manyFiles
	fixed    map[string]onnxtest.Value // inputs that are the same in every run
	ranked   string                    // output for --top; empty without it
	labels   []string
	place    *core.Place
	dev      *tensor.Device
	session  *onnx.Session
	out      resultWriter
	batch    int           // samples per run; 1 if the model accepts no more
	seen     int           // items read
	done     int           // items with a result
	failed   int           // items without one
	runs     int           // runs of the model
	computed time.Duration // time of all runs
}

// runMany runs the model on many items. Errors of single items are printed at once, and the command then returns an error in the end.
func (a *app) runMany(ctx context.Context, path string, m *onnx.Model, files *manyFiles, f runFlags, stdin io.Reader) (err error) {
	if err := f.many.check(f); err != nil {
		return err
	}
	r := &manyRun{app: a, model: m, path: path, flags: f, files: files, batch: f.many.batch}
	if f.labels != "" {
		if r.labels, err = readLabels(f.labels); err != nil {
			return err
		}
	}
	if r.ranked, err = rankedOutput(m, f); err != nil {
		return err
	}
	if err := r.readFixed(); err != nil {
		return err
	}
	if r.place, err = a.openChecked(ctx, f.verify, f.shadow); err != nil {
		return err
	}
	r.place = a.decorated(r.place)
	defer func() { err = errors.Join(err, r.place.Close()) }()
	if r.session, r.dev, err = openSession(ctx, m, r.place); err != nil {
		return lost(r.place, modelFault(path, err))
	}
	defer func() {
		a.printExplained()
		err = errors.Join(err, r.session.Close(), r.dev.Close())
	}()
	w := a.out
	if f.many.out != "" {
		file, err := os.Create(f.many.out)
		if err != nil {
			return usage("--out: %w", err)
		}
		defer func() {
			if cerr := file.Close(); err == nil {
				err = cerr
			}
		}()
		w = file
	}
	r.out = newResultWriter(f.many.format, w, f)
	err = r.all(ctx, stdin)
	if ferr := r.out.flush(); err == nil {
		err = ferr
	}
	return r.end(ctx, lost(r.place, err))
}

// end prints how far the work got, and returns its error.
func (r *manyRun) end(ctx context.Context, err error) error {
	of := ""
	if n := r.files.total(); n > 0 {
		of = fmt.Sprintf(" of %d", n)
	}
	if ctx.Err() != nil || err != nil {
		plain.Fprintf(r.app.err, "stopped after %d%s: %d done, %d failed\n", r.done+r.failed, of, r.done, r.failed)
		if err == nil {
			err = context.Cause(ctx)
		}
		return err
	}
	if r.flags.verbose {
		plain.Fprintf(r.app.err, "%s on %s: %d done, %d failed, %s in %v\n", r.path, r.place.Spec, r.done, r.failed, count(r.runs, "run"), round(r.computed))
	}
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d of %d failed", r.failed, r.done+r.failed)
	case r.done == 0:
		return usage("standard input names no file, want a path or a line of JSON on each line")
	}
	return nil
}

// readFixed reads the inputs that are the same in every run, and checks that none is missing.
func (r *manyRun) readFixed() error {
	r.fixed = map[string]onnxtest.Value{}
	room := newHostRoom()
	for _, in := range r.model.Inputs() {
		file, ok := r.files.fixed[in.Name]
		switch {
		case ok:
			v, err := readInput(in, file, r.flags.image, room)
			if err != nil {
				return err
			}
			r.fixed[in.Name] = v
		case in.Name == r.files.vary || in.Default || in.Kind == onnx.OptionalKind:
		case !r.files.lines: // a line may supply it
			all := map[string]string{r.files.vary: r.files.paths[0]}
			for name, file := range r.files.fixed {
				all[name] = file
			}
			return r.app.missing(r.path, r.model.Inputs(), all)
		}
	}
	return nil
}

// all reads the items, joins neighbours whose samples can go into one run up to the batch size, and runs them.
func (r *manyRun) all(ctx context.Context, stdin io.Reader) error {
	if r.batch > 1 {
		if why := r.single(); why != "" {
			plain.Fprintf(r.app.err, "--batch: %s: one run for each file\n", why)
			r.batch = 1
		}
	}
	var held []manyItem
	rows, bytes := 0, int64(0)
	flush := func() error {
		items := held
		held, rows, bytes = nil, 0, 0
		if len(items) == 0 {
			return nil
		}
		if err := r.run(ctx, items); err != nil {
			return err
		}
		return r.out.flush()
	}
	shown := r.app.err
	if r.flags.many.out == "" && terminal(r.app.out) { // the results on the terminal show the progress already
		shown = io.Discard
	}
	bar := newProgress(shown, r.files.total())
	defer bar.clear()
	for e := range r.files.entries(stdin) {
		if ctx.Err() != nil {
			return nil // items still held have not run
		}
		bar.step(e.label)
		it, err := r.read(e)
		r.seen++
		if err != nil {
			bar.clear()
			if err := r.fail(e.label, err); err != nil {
				return err
			}
			continue
		}
		if len(held) > 0 && (!alike(held[0], it) || rows+it.rows > r.batch || bytes+it.bytes > onnx.HostLimit()/8) {
			if err := flush(); err != nil {
				return err
			}
		}
		held, rows, bytes = append(held, it), rows+it.rows, bytes+it.bytes
		if rows >= r.batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return flush()
}

// single returns why samples of several files cannot go into one run, empty if they can.
func (r *manyRun) single() string {
	for _, in := range r.model.Inputs() {
		if _, ok := r.fixed[in.Name]; ok || in.Default {
			continue
		}
		switch {
		case in.Kind != onnx.TensorKind:
			return fmt.Sprintf("input %s is %s", in.Name, in.Type())
		case in.Ranked && (len(in.Shape) == 0 || in.Shape[0].Size >= 0):
			return fmt.Sprintf("input %s is %s, which fixes the batch", in.Name, in.Type())
		}
	}
	return ""
}

// fail reports an item without a result, and continues.
func (r *manyRun) fail(label string, err error) error {
	r.failed++
	text := indented(err)
	if !strings.Contains(text, label) {
		text = plain.Text(label) + ": " + text
	}
	fmt.Fprintf(r.app.err, "burn: %s\n", text)
	return r.out.fail(label, err)
}

// fatal reports whether an error of a run ends the work: the device or the caller is gone, or no item can have a result.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, core.ErrCanceled) || errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed)
}

// run runs the model once on items, or separately on each if that fails or if the outputs cannot be divided by samples.
func (r *manyRun) run(ctx context.Context, items []manyItem) error {
	rows := 0
	feed := map[string]onnxtest.Value{}
	for _, it := range items {
		rows += it.rows
	}
	for name, v := range items[0].feed {
		if feed[name] = v; len(items) > 1 {
			var parts []onnxtest.Array
			for _, it := range items {
				parts = append(parts, it.feed[name].Tensor)
			}
			feed[name] = onnxtest.Value{Tensor: joined(parts)}
		}
	}
	for name, v := range r.fixed {
		if _, ok := feed[name]; !ok {
			feed[name] = r.repeated(name, v, rows)
		}
	}
	began := time.Now()
	results, err := runOnce(ctx, r.dev, r.session, feed)
	r.runs++
	r.computed += time.Since(began)
	switch {
	case err != nil && fatal(ctx, err):
		return modelFault(r.path, err)
	case err != nil && len(items) > 1:
		return r.each(ctx, items)
	case err != nil:
		return r.fail(items[0].label, modelFault(r.path, err))
	case len(items) > 1:
		for _, o := range r.model.Outputs() {
			if v := results[o.Name]; v.Kind != onnxtest.Tensor || len(v.Tensor.Shape) == 0 || v.Tensor.Shape[0] != rows {
				plain.Fprintf(r.app.err, "--batch: output %s of %d samples is %v, which cannot be divided by samples: one run for each file\n", o.Name, rows, v)
				r.batch = 1
				return r.each(ctx, items)
			}
		}
	}
	at := 0
	for _, it := range items {
		part := results
		if len(items) > 1 {
			part = map[string]onnxtest.Value{}
			for name, v := range results {
				part[name] = onnxtest.Value{Tensor: rowsOf(v.Tensor, at, at+it.rows)}
			}
		}
		at += it.rows
		if err := r.show(it, part); err != nil {
			return err
		}
	}
	return nil
}

func (r *manyRun) each(ctx context.Context, items []manyItem) error {
	for i := range items {
		if err := r.run(ctx, items[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns a fixed input for a run of rows samples: one sample is repeated if the model leaves the number open.
func (r *manyRun) repeated(name string, v onnxtest.Value, rows int) onnxtest.Value {
	for _, in := range r.model.Inputs() {
		if in.Name == name && v.Kind == onnxtest.Tensor && in.Ranked && len(in.Shape) > 0 && in.Shape[0].Size < 0 && v.Tensor.Shape[0] == 1 && rows > 1 {
			return onnxtest.Value{Tensor: joined(slices.Repeat([]onnxtest.Array{v.Tensor}, rows))}
		}
	}
	return v
}

// show writes the result of an item.
func (r *manyRun) show(it manyItem, results map[string]onnxtest.Value) error {
	res := itemResult{label: it.label, outputs: results, ranked: r.ranked}
	for _, o := range r.model.Outputs() {
		res.names = append(res.names, o.Name)
	}
	if r.ranked != "" {
		var err error
		if res.top, err = top(r.ranked, results[r.ranked], r.flags.top, r.flags.softmax, r.labels); err != nil {
			return err
		}
	}
	if r.flags.output != "" {
		dir := filepath.Join(r.flags.output, outputFiles([]string{fmt.Sprintf("%06d-%s", it.place, strings.TrimSuffix(filepath.Base(it.label), filepath.Ext(it.label)))})[0])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		written := map[string]string{}
		for i, file := range outputFiles(res.names) {
			o := infoOf(res.names[i], results[res.names[i]])
			if err := save(filepath.Join(dir, file), results[res.names[i]], &o, written); err != nil {
				return err
			}
		}
		for file := range written {
			res.files = append(res.files, file)
		}
		slices.Sort(res.files)
	}
	err := r.out.write(&res)
	var own *itemError
	if errors.As(err, &own) {
		return r.fail(it.label, err)
	}
	if err == nil {
		r.done++
	}
	return err
}
