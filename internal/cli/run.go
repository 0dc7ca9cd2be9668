package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
	"github.com/spf13/cobra"
)

// runFlags are the flags of burn run.
type runFlags struct {
	inputs    []string
	output    string
	top       int
	topOutput string
	labels    string
	softmax   bool
	json      bool
	verbose   bool
	precision string
	verify    string
	shadow    string
	image     imageFlags
	many      manyFlags
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL [FILE...]",
		Short: "Run a model on input files",
		Long: `Run an ONNX model and print its outputs: type, shape, range and elements, or the K best classes.

An input is NAME=FILE; the name may be omitted if the model has one input. Files are
  .npy         a NumPy array with the type and shape of the model's input
  .pb          a TensorProto of ONNX, or a SequenceProto or OptionalProto if the model declares one
  .png, .jpg,  an image: put on a white background, resized, scaled so that black is 0 and white is 1 (--scale), optionally
  .webp        inverted (--invert), less --mean, divided by --std; its channels, size and layout follow the model
  .txt, .csv   numbers, a row on each line, separated by spaces or commas
  .json        numbers in nested lists
  @zeros       no file: zeros; open dimensions are 1; @zeros:1x3x224x224 sets the dimensions

--top prints the best classes of an output [N,C], with the values of the model. If these are scores, --softmax turns them into
probabilities.

Several values for one input are several runs. They are given as several FILEs, as a pattern such as '*.jpg', or as -, which reads standard input.
Each of its lines is a path or JSON: the numbers of the input in lists, or an object of all inputs, each with a path or numbers. With
--batch up to N samples share one run, if the model's first dimension is open. Results are in order, as lines of text, or
as CSV or JSON lines (--format), on stdout or in a file (--out). With --output the arrays of each file are in a folder of their own. An
unusable file is reported and the others are processed; the exit code is then 1. An interrupt ends the command after the finished runs.

--verify finds the node that computes wrong numbers: nodes run one by one, and a second device computes each too. The results are compared within
the op's tolerance. Differences are printed on stderr, and the exit code is then 1.

--shadow audits a device in use: a second device computes a random share of the runs too, after the audited
device has computed them as usual. Differences are printed on stderr, and the exit code is then 1. Results are those of the audited device.

` + exitHelp,
		Example: `  burn run digits.onnx --input image=seven.png --top 3 --labels labels.txt
  burn run resnet.onnx photo.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --softmax --top 5
  burn run model.onnx --input a=a.npy --input b=b.npy --output results --device process:cpu
  burn run resnet.onnx 'photos/*.webp' --batch 16 --softmax --top 1 --out classes.csv
  find photos -name '*.jpg' | burn run resnet.onnx - --top 1 --format jsonl`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.inputs = append(f.inputs, args[1:]...)
			if (cmd.Flags().Changed("top") || f.labels != "" || f.softmax || f.topOutput != "") && f.top < 1 {
				return usage("--top: want the number of classes to print, from 1, got %d", f.top)
			}
			return a.run(cmd.Context(), args[0], f, f.many.asked(cmd), cmd.InOrStdin())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.inputs, "input", "i", nil, "`NAME=FILE` with the value of an input; may be repeated")
	fl.StringVarP(&f.output, "output", "o", "", "`DIR` for the outputs as .npy (bf16 as f32)")
	fl.IntVar(&f.top, "top", 0, "print the `K` best classes instead of the elements")
	fl.StringVar(&f.labels, "labels", "", "`FILE` with the name of each class on a line, for --top")
	fl.BoolVar(&f.softmax, "softmax", false, "turn scores into probabilities, for --top")
	fl.StringVar(&f.topOutput, "top-output", "", "`NAME` of the output for --top (default: the first)")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "report device and times on stderr")
	precisionFlag(cmd, &f.precision)
	verifyFlag(cmd, &f.verify)
	shadowFlag(cmd, &f.shadow)
	a.explainFlag(cmd)
	f.many.add(cmd)
	a.deviceFlags(cmd)
	f.image.add(cmd)
	return cmd
}

// runInfo is the output of --json.
type runInfo struct {
	Model   string       `json:"model"`
	Device  string       `json:"device"`
	Seconds runSeconds   `json:"seconds"`
	Outputs []outputInfo `json:"outputs"`
}

type runSeconds struct {
	Load float64 `json:"load"`
	Open float64 `json:"open"`
	Run  float64 `json:"run"`
}

func (a *app) run(ctx context.Context, path string, f runFlags, many bool, stdin io.Reader) (err error) {
	start := time.Now()
	narrow, err := precision(f.precision)
	if err != nil {
		return err
	}
	m, err := loadModel(path, onnx.Options{Precision: narrow})
	if err != nil {
		return err
	}
	if err := m.Unsupported(); err != nil {
		return badModel(fmt.Errorf("%s: %w", path, err))
	}
	loaded := time.Now()
	files, err := manyOf(m.Inputs(), f.inputs, many)
	if err != nil {
		return err
	}
	if files != nil {
		return a.runMany(ctx, path, m, files, f, stdin)
	}
	feed, err := a.readInputs(path, m, f)
	if err != nil {
		return err
	}
	var labels []string
	if f.labels != "" {
		if labels, err = readLabels(f.labels); err != nil {
			return err
		}
	}
	ranked, err := rankedOutput(m, f)
	if err != nil {
		return err
	}
	opening := time.Now()
	d, err := a.openChecked(ctx, f.verify, f.shadow)
	if err != nil {
		return err
	}
	d = a.decorated(d)
	defer func() {
		if cerr := d.Close(); err == nil {
			err = cerr
		}
	}()
	info := runInfo{Model: path, Device: d.Spec}
	var ran, done time.Time
	results, err := func() (map[string]onnxtest.Value, error) {
		s, dev, err := openSession(ctx, m, d)
		if err != nil {
			return nil, err
		}
		defer dev.Close()
		defer s.Close()
		ran = time.Now()
		r, err := runOnce(ctx, dev, s, feed)
		done = time.Now()
		a.printExplained()
		return r, err
	}()
	if err != nil {
		return lost(d, modelFault(path, err))
	}
	info.Seconds = runSeconds{loaded.Sub(start).Seconds(), ran.Sub(opening).Seconds(), done.Sub(ran).Seconds()}
	if f.verbose {
		plain.Fprintf(a.err, "%s on %s: loaded in %v, opened in %v, ran in %v\n", path, d.Spec, round(loaded.Sub(start)),
			round(ran.Sub(opening)), round(done.Sub(ran)))
	}
	return a.show(m, results, info, f, ranked, labels)
}

func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

// rankedOutput returns the name of the output for --top, empty without it.
func rankedOutput(m *onnx.Model, f runFlags) (string, error) {
	if f.top == 0 {
		return "", nil
	}
	outs := m.Outputs()
	if f.topOutput == "" && len(outs) > 0 {
		return outs[0].Name, nil
	}
	for _, o := range outs {
		if o.Name == f.topOutput {
			return o.Name, nil
		}
	}
	return "", usage("--top-output: the model has no output %q, it has %s", f.topOutput, names(outs))
}

func (a *app) readInputs(path string, m *onnx.Model, f runFlags) (map[string]onnxtest.Value, error) {
	ins := m.Inputs()
	files, err := inputFiles(ins, f.inputs)
	if err != nil {
		return nil, err
	}
	feed, room := map[string]onnxtest.Value{}, newHostRoom()
	for _, in := range ins {
		file, ok := files[in.Name]
		switch {
		case ok:
			if feed[in.Name], err = readInput(in, file, f.image, room); err != nil {
				return nil, err
			}
		case !in.Default && in.Kind != onnx.OptionalKind:
			return nil, a.missing(path, ins, files)
		}
	}
	return feed, nil
}

// show prints the outputs and writes them to files.
func (a *app) show(m *onnx.Model, results map[string]onnxtest.Value, info runInfo, f runFlags, ranked string, labels []string) error {
	var outs []string
	for _, o := range m.Outputs() {
		outs = append(outs, o.Name)
	}
	var rows []topRow
	if ranked != "" {
		var err error
		if rows, err = top(ranked, results[ranked], f.top, f.softmax, labels); err != nil {
			return err
		}
	}
	if f.output != "" {
		if err := os.MkdirAll(f.output, 0o755); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	}
	written := map[string]string{}
	for i, file := range outputFiles(outs) {
		v := results[outs[i]]
		o := infoOf(outs[i], v)
		if f.output != "" {
			if err := save(filepath.Join(f.output, file), v, &o, written); err != nil {
				return err
			}
		}
		if outs[i] == ranked {
			o.Top = rows
		}
		info.Outputs = append(info.Outputs, o)
	}
	if f.json {
		return a.json(info)
	}
	for _, name := range outs {
		if ranked == "" {
			summarize(a.out, name, results[name])
		} else if name == ranked {
			printTop(a.out, name, results[name].Tensor, rows, f.softmax)
		}
	}
	if f.output != "" {
		plain.Fprintf(a.out, "%s written to %s\n", count(len(written), "file"), f.output)
	}
	return nil
}

// save writes the tensors of an output: BASE.npy, for sequences BASE.0.npy and so on; an empty optional has no file.
func save(base string, v onnxtest.Value, o *outputInfo, written map[string]string) error {
	if v.Kind == onnxtest.Tensor {
		o.File = base + ".npy"
		written[o.File] = o.Name
		return writeNpy(o.File, v.Tensor)
	}
	for i, e := range v.Elems {
		at := base
		if v.Kind == onnxtest.Sequence {
			at = fmt.Sprintf("%s.%d", base, i)
		}
		if err := save(at, e, &o.Elems[i], written); err != nil {
			return err
		}
	}
	return nil
}

// openSession opens a model on a device. The caller closes the session and then the tensor device.
func openSession(ctx context.Context, m *onnx.Model, d *core.Place) (*onnx.Session, *tensor.Device, error) {
	dev, err := tensor.On(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	s, err := m.Open(dev)
	if err != nil {
		return nil, nil, errors.Join(err, dev.Close())
	}
	return s, dev, nil
}

// runOnce runs a session on inputs in host memory and reads all outputs back. It leaves no tensors of either on the device.
func runOnce(ctx context.Context, dev *tensor.Device, s *onnx.Session, feed map[string]onnxtest.Value) (map[string]onnxtest.Value, error) {
	in := map[string]onnx.Value{}
	defer release(in)
	for name, v := range feed {
		x, err := onnxtest.Upload(ctx, dev, v)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		in[name] = x
	}
	out, err := s.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	defer release(out)
	results := map[string]onnxtest.Value{}
	for name, v := range out {
		if results[name], err = onnxtest.Download(ctx, v); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
	}
	return results, nil
}

func release(values map[string]onnx.Value) {
	for _, v := range values {
		v.Release()
	}
}

// modelFault wraps errors of loading and running with their exit codes.
func modelFault(path string, err error) error {
	switch {
	case errors.Is(err, onnx.ErrInput):
		return &exitError{exitUsage, err}
	case errors.Is(err, onnx.ErrModel) || errors.Is(err, core.ErrUnsupported):
		return badModel(fmt.Errorf("%s: %w", path, err))
	}
	return fmt.Errorf("%s: %w", path, err)
}
