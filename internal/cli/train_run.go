package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/dashboard"
	"github.com/goburn/burn/train/metric"
	"github.com/goburn/burn/train/report"
)

// trainRun is one invocation of burn train.
type trainRun struct {
	app    *app
	ctx    context.Context
	flags  trainFlags
	config trainConfig
	name   string
}

// dir returns the folder of the run.
func (r *trainRun) dir() string { return cmp.Or(r.flags.out, filepath.Join("runs", r.name)) }

// notFoundIsUsage wraps the error of a missing data set with the exit code of an input error.
func notFoundIsUsage(err error) error {
	if errors.Is(err, source.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &exitError{exitUsage, err}
	}
	return err
}

// trainJob is the task-specific part of a run.
type trainJob[M, B any] struct {
	// open creates the model and the loaders on a device.
	open    func(dev *tensor.Device) (*train.Parts[M, B], error)
	step    train.Step[M, B]
	metrics []metric.Metric
	test    func(dev *tensor.Device) (train.Loader[B], error) // nil for none
	about   map[string]string                                 // metadata of model.burn, beside the task
	// finish writes the task's additional files for the model into the folder.
	finish func(ctx context.Context, m M, dir string) error
}

// execute trains, evaluates, exports and reports.
func execute[M, B any](r *trainRun, job trainJob[M, B]) (err error) {
	dir := r.dir()
	folder, err := r.prepare(dir)
	if err != nil {
		return err
	}
	c, page := r.config, report.New("")
	l := &train.Learner[M, B]{
		Name: r.name, TrainStep: job.step, Epochs: c.Epochs, Metrics: job.metrics, Dir: dir, Config: c, Resume: r.flags.resume,
		TrainMetrics: []metric.Metric{metric.LearningRate(), metric.Speed()}, ReadEvery: c.ReadEvery, Accumulate: c.Accumulate,
		Checkpoints: train.Checkpoints{Every: c.Checkpoint, Keep: c.Keep}, Restarts: 3, Listeners: []train.Listener{page, folder},
		Open: func(ctx context.Context) (*train.Parts[M, B], error) { return openParts(ctx, r, job.open) },
	}
	if l.NonFinite = c.NonFinite; c.NonFinite == 0 {
		l.NonFinite = -1
	}
	l.Autocast = precisions[c.Precision]
	if c.Clip > 0 {
		l.Clip = &optim.Clip{Norm: c.Clip}
	}
	if c.Patience > 0 {
		l.Stop = &train.EarlyStop{Patience: c.Patience}
	}
	d := r.display()
	l.Listeners, l.Kill = append(l.Listeners, d), d.kill
	res, err := l.Run(d.ctx)
	ended := d.close()
	if err != nil {
		return errors.Join(fmt.Errorf("train %s: %w", r.name, notFoundIsUsage(err)), folder.failed())
	}
	defer func() { err = errors.Join(err, ended, res.Close()) }()
	out := &outputs{dir: dir, name: r.name}
	if res.Saved != nil {
		out.fail("the last checkpoint", res.Saved)
	}
	stopped := res.Reason == train.Interrupted
	if stopped && res.Saved == nil {
		plain.Fprintf(r.app.err, "stopped after %d of %d epochs, step %d; to resume: %s\n", res.Epochs, c.Epochs, res.Step, r.again(dir))
		return context.Canceled
	}
	ctx := r.ctx
	if stopped { // the trained weights exist only in memory
		ctx = context.WithoutCancel(ctx)
	}
	weights := chosen(ctx, r, l, res, out)
	meta := record.Options{Metadata: map[string]string{"task": r.name}}
	maps.Copy(meta.Metadata, job.about)
	out.export("model.burn", func(dir string) error {
		return record.SaveModule(ctx, filepath.Join(dir, "model.burn"), res.Model, meta)
	})
	nn.Eval(res.Model)
	out.export("model.onnx", func(dir string) error { return job.finish(ctx, res.Model, dir) })
	history := res.History
	if job.test != nil && !stopped {
		rec, err := evaluate(r, l, res, job.test, page)
		if err == nil {
			history = append(history, rec)
		}
		out.try(theTest, err)
	}
	out.try("report.html", writeFile(filepath.Join(dir, "report.html"), func(f *os.File) error { return page.Write(f) }))
	var infos []metric.Info
	for _, m := range append(slices.Clone(job.metrics), l.TrainMetrics...) {
		infos = append(infos, m.Info())
	}
	_, err = fmt.Fprint(r.app.out, plain.Lines(history.Summary(infos...)))
	out.try("the summary", err)
	_, err = plain.Fprintf(r.app.out, "%s after %d epochs; %s: the weights of %s\n", res.Reason, res.Epochs, out.done(), weights)
	out.try("the summary", err)
	for _, line := range out.there() {
		_, err = plain.Fprintf(r.app.out, "%s\n", line)
		out.try("the summary", err)
	}
	if err := out.err(); err != nil && stopped { // an interrupted command prints no error of its own
		fmt.Fprintf(r.app.err, "burn: %s\nstopped after %d of %d epochs, step %d, and this run cannot be resumed from there\n", indented(err), res.Epochs, c.Epochs, res.Step)
		return context.Canceled
	}
	return out.err()
}

// evaluate tests the model on data that training has not seen.
func evaluate[M, B any](r *trainRun, l *train.Learner[M, B], res *train.Result[M, B], test func(*tensor.Device) (train.Loader[B], error), page train.Listener) (train.Record, error) {
	loader, err := test(res.Device)
	if err != nil {
		return train.Record{}, err
	}
	l.Listeners = []train.Listener{page}
	return l.Evaluate(r.ctx, res.Parts, loader)
}

// chosen loads the weights that the settings select into the model, and returns a text that names them. If the best weights cannot be
// loaded, it keeps the final ones and records an error in out.
func chosen[M, B any](ctx context.Context, r *trainRun, l *train.Learner[M, B], res *train.Result[M, B], out *outputs) string {
	last := fmt.Sprintf("epoch %d, the last", res.Epochs)
	if c := r.config; c.Export == "last" || c.Export == "auto" && c.Patience == 0 {
		return last
	}
	best, err := l.LoadBest(ctx, res.Parts)
	if err != nil {
		out.fail("the best weights", err)
		return last + ", because the best could not be loaded"
	}
	return fmt.Sprintf("epoch %d, the best by %s loss (%s)", best.Epoch+1, best.Split, train.Format(float64(best.Values["loss"]), ""))
}

// display shows a run: on a terminal with the dashboard, whose keys can end it, else with lines.
type display struct {
	train.Listener
	ctx, kill context.Context // end the run after the current step, and at once
	close     func() error
}

func (r *trainRun) display() *display {
	ctx, interrupt := context.WithCancel(r.ctx)
	kill, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	d := &display{ctx: ctx, kill: kill}
	f, ok := r.app.err.(*os.File)
	if r.flags.plain || !ok || !dashboard.Usable(f) {
		d.Listener, d.close = train.NewPlain(r.app.err, train.PlainOptions{}), func() error {
			interrupt()
			cancel()
			return nil
		}
		return d
	}
	screen := dashboard.Start(dashboard.Options{Output: f, Interrupt: interrupt, Kill: cancel})
	d.Listener, d.close = screen, func() error {
		defer cancel()
		defer interrupt()
		return screen.Close()
	}
	return d
}

// openParts opens the device and creates the parts on it.
func openParts[M, B any](ctx context.Context, r *trainRun, open func(dev *tensor.Device) (*train.Parts[M, B], error)) (*train.Parts[M, B], error) {
	inner, err := r.app.openDevice(ctx, false) // the learner continues from a checkpoint
	if err != nil {
		return nil, err
	}
	inner = r.app.decorated(inner)
	keep, err := r.config.checkpointing()
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	dev, err := tensor.Own(ctx, autodiff.Device(inner, autodiff.WithCheckpointing(keep)))
	if err != nil {
		return nil, err
	}
	dev.Seed(r.config.Seed)
	p, err := open(dev)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	p.Device = dev
	p.Optimizer = optim.NewAdamW(optim.AdamWConfig{WeightDecay: r.config.WeightDecay})
	steps := (p.Train.Len() + r.config.Accumulate - 1) / r.config.Accumulate
	p.Rate, err = r.config.rates(steps * r.config.Epochs)
	return p, err
}

// again returns the command that continues the run, for a shell. The settings of the run are in its folder; the settings of burn follow
// from the flags and the file of this command.
func (r *trainRun) again(dir string) string {
	var parts []string
	if file := r.app.env("BURN_CONFIG"); file != "" && runtime.GOOS != "windows" { // its shells have no variables for one command
		parts = append(parts, "BURN_CONFIG="+quote(file))
	}
	parts = append(parts, "burn train", r.name, "--resume", "--out", quote(dir), "--config", quote(filepath.Join(dir, "config.toml")))
	add := func(flag, value string) { parts = append(parts, flag, quote(value)) }
	if r.flags.data != "" {
		add("--data", r.flags.data)
	}
	if r.flags.plain {
		parts = append(parts, "--plain")
	}
	if r.app.flags.explain {
		parts = append(parts, "--explain")
	}
	c, usual := r.app.config, config.Default()
	file, err := config.Load(r.app.env) // a flag may restore a default that the file changes
	if err != nil {
		file = usual
	}
	if c.Device != usual.Device || c.Device != file.Device {
		add("--device", c.Device)
	}
	if c.Threads != usual.Threads || c.Threads != file.Threads {
		add("--threads", strconv.Itoa(c.Threads))
	}
	for _, p := range r.app.flags.pluginPath {
		if strings.ContainsAny(p, "\",\n") { // the flag reads its value as CSV
			p = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
		add("--plugin-path", p)
	}
	for _, o := range r.app.flags.options {
		add("--option", o)
	}
	if r.app.flags.log != "" {
		add("--log", r.app.flags.log)
	}
	return strings.Join(parts, " ")
}

// settingDocs returns the doc tags of v's fields, by their TOML names.
func settingDocs(v any) map[string]string {
	docs := map[string]string{}
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			docs[prefix+name] = f.Tag.Get("doc")
			if f.Type.Kind() == reflect.Pointer {
				walk(f.Type.Elem(), name+".")
			}
		}
	}
	walk(reflect.TypeOf(v).Elem(), "")
	return docs
}
