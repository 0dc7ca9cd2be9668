package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/decorators/autodiff"
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

// dir is the folder of the run.
func (r *trainRun) dir() string { return cmp.Or(r.flags.out, filepath.Join("runs", r.name)) }

// found gives the error of a data set that is missing the exit code of an input.
func found(err error) error {
	if errors.Is(err, source.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &exitError{exitUsage, err}
	}
	return err
}

// trainJob is what a task adds to a run.
type trainJob[M, B any] struct {
	// open makes model and loaders on a device.
	open    func(dev *tensor.Device) (*train.Parts[M, B], error)
	step    train.Step[M, B]
	metrics []metric.Metric
	test    func(dev *tensor.Device) (train.Loader[B], error) // nil for none
	// finish writes what the task makes of the model beside its record, into the folder.
	finish func(ctx context.Context, m M, dir string) error
}

// execute trains, evaluates, exports and reports.
func execute[M, B any](r *trainRun, job trainJob[M, B]) (err error) {
	dir := r.dir()
	if err := r.prepare(dir); err != nil {
		return err
	}
	c, page := r.config, report.New("")
	l := &train.Learner[M, B]{
		Name: r.name, TrainStep: job.step, Epochs: c.Epochs, Metrics: job.metrics, Dir: dir, Config: c, Resume: r.flags.resume,
		TrainMetrics: []metric.Metric{metric.LearningRate(), metric.Speed()}, ReadEvery: c.ReadEvery, Accumulate: c.Accumulate,
		Checkpoints: train.Checkpoints{Every: c.Checkpoint, Keep: c.Keep}, Restarts: 3, Listeners: []train.Listener{page},
		Open: func(ctx context.Context) (*train.Parts[M, B], error) { return openParts(ctx, r, job.open) },
	}
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
		return fmt.Errorf("train %s: %w", r.name, found(err))
	}
	defer func() { err = errors.Join(err, ended, res.Close()) }()
	if res.Saved != nil {
		return fmt.Errorf("train %s: the checkpoint was not written: %w", r.name, res.Saved)
	}
	if res.Reason == train.Interrupted {
		fmt.Fprintf(r.app.err, "stopped after %d of %d epochs, step %d; to go on: %s\n", res.Epochs, c.Epochs, res.Step, r.again(dir))
		return context.Canceled
	}
	history := res.History
	if job.test != nil {
		loader, err := job.test(res.Device)
		if err != nil {
			return fmt.Errorf("train %s: test: %w", r.name, err)
		}
		l.Listeners = []train.Listener{page}
		rec, err := l.Evaluate(r.ctx, res.Parts, loader)
		if err != nil {
			return fmt.Errorf("train %s: test: %w", r.name, err)
		}
		history = append(history, rec)
	}
	meta := record.Options{Metadata: map[string]string{"task": r.name}}
	if err := record.SaveModule(r.ctx, filepath.Join(dir, "model.burn"), res.Model, meta); err != nil {
		return fmt.Errorf("train %s: %w", r.name, err)
	}
	nn.Eval(res.Model)
	if err := job.finish(r.ctx, res.Model, dir); err != nil {
		return fmt.Errorf("train %s: %w", r.name, err)
	}
	if err := writeFile(filepath.Join(dir, "report.html"), func(f *os.File) error { return page.Write(f) }); err != nil {
		return err
	}
	var infos []metric.Info
	for _, m := range append(slices.Clone(job.metrics), l.TrainMetrics...) {
		infos = append(infos, m.Info())
	}
	_, err = fmt.Fprintf(r.app.out, "%s%s after %d epochs; model.burn, model.onnx and report.html are in %s\n", history.Summary(infos...), res.Reason, res.Epochs, dir)
	return err
}

// display draws a run: on a terminal with the dashboard, whose keys can end it, else with lines.
type display struct {
	train.Listener
	ctx, kill context.Context // end the run after the step, and at once
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

// prepare makes the folder and writes the settings.
func (r *trainRun) prepare(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err == nil && !r.flags.resume {
		return usage("%s holds an earlier run: go on with --resume, name another folder with --out, or remove it", dir)
	} else if err != nil && r.flags.resume {
		return usage("%s holds no run to go on from: leave --resume out, or name the folder with --out", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), r.config.text(), 0o666)
}

// openParts opens the device and what is on it.
func openParts[M, B any](ctx context.Context, r *trainRun, open func(dev *tensor.Device) (*train.Parts[M, B], error)) (*train.Parts[M, B], error) {
	inner, err := r.app.openDevice(ctx, false) // the learner goes on from a checkpoint
	if err != nil {
		return nil, err
	}
	keep, err := r.config.checkpointing()
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	dev, err := tensor.On(ctx, autodiff.Device(inner, autodiff.WithCheckpointing(keep)))
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	closing := func() error { return errors.Join(dev.Close(), inner.Close()) }
	dev.Seed(r.config.Seed)
	p, err := open(dev)
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	p.Device, p.Close = dev, closing
	p.Optimizer = optim.NewAdamW(optim.AdamWConfig{WeightDecay: r.config.WeightDecay})
	steps := (p.Train.Len() + r.config.Accumulate - 1) / r.config.Accumulate
	p.Rate, err = r.config.rates(steps * r.config.Epochs)
	return p, err
}

// again is the command that goes on.
func (r *trainRun) again(dir string) string {
	parts := []string{"burn train", r.name, "--resume", "--out", dir, "--config", filepath.Join(dir, "config.toml")}
	if r.flags.data != "" {
		parts = append(parts, "--data", r.flags.data)
	}
	if d := r.app.config.Device; d != "cpu" {
		parts = append(parts, "--device", d)
	}
	return strings.Join(parts, " ")
}

// settingDocs are the doc tags of v's fields, by their names in TOML.
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
