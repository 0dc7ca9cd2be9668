package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
	"github.com/spf13/cobra"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON, verbose bool
	var dims []string
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Describe a model, and how a device would run it",
		Long: `Print a model's inputs, outputs, opset, producer, parameters, metadata, and its operators with counts. For each operator the command
reports whether the device runs it natively, by decomposition into other ops, or not at all. It runs the model on zeros to find
out; open dimensions are 1 unless --dim sets them.`,
		Example: `  burn inspect model.onnx
  burn inspect model.onnx --dim N=8 --dim tokens.1=128 --device process:cpu`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			sizes, err := parseDims(dims)
			if err != nil {
				return err
			}
			return a.inspect(cmd.Context(), args[0], sizes, asJSON, verbose)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&dims, "dim", nil, "`NAME=N`: size of a symbolic dimension, or of dimension 0 of an input as INPUT.0=N;\nmay be repeated")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	fl.BoolVarP(&verbose, "verbose", "v", false, "list the ops that the device executes, and inputs that have a default")
	a.deviceFlags(cmd)
	return cmd
}

func parseDims(args []string) (map[string]int, error) {
	sizes := map[string]int{}
	for _, arg := range args {
		i := strings.LastIndex(arg, "=")
		if i < 1 {
			return nil, usage("--dim: want NAME=N, got %q", arg)
		}
		n, err := strconv.Atoi(arg[i+1:])
		if err != nil || n < 0 {
			return nil, usage("--dim: want NAME=N with N from 0, got %q", arg)
		}
		sizes[arg[:i]] = n
	}
	return sizes, nil
}

// inspection is the output of --json.
type inspection struct {
	Model      string         `json:"model"`
	Graph      string         `json:"graph,omitempty"`
	Producer   string         `json:"producer,omitempty"`
	IRVersion  int64          `json:"ir_version"`
	Opsets     map[string]int `json:"opsets"`
	Parameters int64          `json:"parameters"`
	Bytes      int64          `json:"parameter_bytes"`
	Metadata   []property     `json:"metadata,omitempty"`
	Nodes      int            `json:"nodes"`
	Dead       int            `json:"dead_nodes,omitempty"`
	Inputs     []valueInfo    `json:"inputs"`
	Outputs    []valueInfo    `json:"outputs"`
	Device     string         `json:"device"`
	Assumed    []string       `json:"assumed_inputs"`
	Operators  []operatorInfo `json:"operators"`
	Ops        []opInfo       `json:"ops,omitempty"`
	Partial    string         `json:"partial,omitempty"`

	open []string // dimensions that the model leaves open and no flag sets
}

type valueInfo struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default bool   `json:"has_default,omitempty"`
	Doc     string `json:"doc,omitempty"`
}

type operatorInfo struct {
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Support string `json:"support"`
}

type opInfo struct {
	Op      string `json:"op"`
	DType   string `json:"dtype"`
	Count   int    `json:"count"`
	Support string `json:"support"`
}

func valueInfos(vs []onnx.ValueInfo) []valueInfo {
	out := []valueInfo{}
	for _, v := range vs {
		out = append(out, valueInfo{v.Name, v.Type(), v.Default, v.Doc})
	}
	return out
}

func (a *app) inspect(ctx context.Context, path string, dims map[string]int, asJSON, verbose bool) error {
	m, err := loadModel(path, onnx.Options{})
	if err != nil {
		return err
	}
	if err := checkDims(m, dims); err != nil {
		return err
	}
	i := m.Info()
	x := inspection{Model: path, Graph: i.Name, Producer: strings.TrimSpace(i.ProducerName + " " + i.ProducerVersion),
		IRVersion: i.IRVersion, Opsets: map[string]int{}, Parameters: i.Parameters, Bytes: i.ParameterBytes, Nodes: i.Nodes,
		Dead: i.Dead, Metadata: properties(i.Metadata), Inputs: valueInfos(m.Inputs()), Outputs: valueInfos(m.Outputs())}
	for _, o := range i.Opsets {
		x.Opsets[o.Domain] = o.Version
	}
	x.open = slices.DeleteFunc(openDims(m), func(name string) bool { _, given := dims[name]; return given })
	r, err := a.explain(ctx, path, m, dims, &x)
	if err != nil {
		return err
	}
	x.operators(i, r)
	if r != nil {
		x.Assumed = r.Inputs
		for _, o := range r.Ops {
			x.Ops = append(x.Ops, opInfo{o.Op.String(), o.DType.String(), o.Count, o.Support.String()})
		}
		if r.Partial != nil {
			x.Partial = r.Partial.Error()
		}
	}
	if asJSON {
		return a.json(x)
	}
	return a.printInspection(x, verbose)
}

// openDims lists the dimensions that the model leaves open, by symbol or as INPUT.0.
func openDims(m *onnx.Model) []string {
	var names []string
	for _, in := range m.Inputs() {
		for k, d := range in.Shape {
			name := d.Symbol
			if name == "" {
				name = fmt.Sprintf("%s.%d", in.Name, k)
			}
			if d.Size < 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// checkDims returns an error for names that the model does not have, as they would have no effect.
func checkDims(m *onnx.Model, dims map[string]int) error {
	open := openDims(m)
	known := slices.Clone(open)
	for _, in := range m.Inputs() {
		for k := range in.Shape {
			known = append(known, fmt.Sprintf("%s.%d", in.Name, k))
		}
	}
	for name := range dims {
		if slices.Contains(known, name) {
			continue
		}
		if len(open) == 0 {
			return usage("--dim: the model leaves no dimension open, got %q", name)
		}
		return usage("--dim: the model has no dimension %q, it leaves open %s", name, strings.Join(open, ", "))
	}
	return nil
}

// explain traces the model on the device. A model that burn cannot run has no report.
func (a *app) explain(ctx context.Context, path string, m *onnx.Model, dims map[string]int, x *inspection) (r *onnx.Report, err error) {
	d, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := d.Close(); err == nil {
			err = cerr
		}
	}()
	x.Device = d.Spec
	if m.Unsupported() != nil {
		x.Partial = "the model has operators that burn does not know"
		x.open = nil // without effect
		return nil, nil
	}
	dev, err := tensor.On(ctx, d)
	if err != nil {
		return nil, lost(d, err)
	}
	defer dev.Close()
	s, err := m.Open(dev)
	if err != nil {
		return nil, lost(d, modelFault(path, err))
	}
	defer s.Close()
	r, err = s.Explain(ctx, dims)
	if errors.Is(err, core.ErrUnsupported) || errors.Is(err, onnx.ErrLimit) {
		x.Partial = err.Error()
		return nil, nil
	}
	return r, lost(d, err)
}

// operators combines the counts of the file with the support of the device. The support of operators that the trace did not reach, because
// their branch was not taken or all that they compute is constant, is "not reached".
func (x *inspection) operators(i onnx.Info, r *onnx.Report) {
	support := map[string]string{}
	if r != nil {
		for _, o := range r.Operators {
			support[domainOp(o.Domain, o.Op)] = o.Support.String()
		}
	}
	for _, o := range i.Operators {
		name := domainOp(o.Domain, o.Op)
		info := operatorInfo{Name: name, Count: o.Count, Support: support[name]}
		switch {
		case !o.Supported:
			info.Support = "not known"
		case r == nil:
			info.Support = "known"
		case info.Support == "":
			info.Support = "not reached"
		case o.Function:
			info.Support += " (function of the model)"
		}
		x.Operators = append(x.Operators, info)
	}
}

func domainOp(domain, name string) string {
	if domain == "" || domain == "ai.onnx" {
		return name
	}
	return domain + "." + name
}

func (a *app) printInspection(x inspection, verbose bool) error {
	t := a.table()
	plain.Fprintf(t, "model\t%s\n", x.Model)
	if x.Graph != "" {
		plain.Fprintf(t, "graph\t%s\n", oneLine(x.Graph))
	}
	if x.Producer != "" {
		plain.Fprintf(t, "producer\t%s\n", oneLine(x.Producer))
	}
	var opsets []string
	for d, v := range x.Opsets {
		opsets = append(opsets, fmt.Sprintf("%s %d", d, v))
	}
	slices.Sort(opsets)
	plain.Fprintf(t, "opset\t%s, IR version %d\n", strings.Join(opsets, ", "), x.IRVersion)
	plain.Fprintf(t, "parameters\t%s, %s\n", thousands(x.Parameters), bytesText(x.Bytes))
	dead := ""
	if x.Dead > 0 {
		dead = fmt.Sprintf(", %d more that no output depends on", x.Dead)
	}
	plain.Fprintf(t, "nodes\t%d%s\n", x.Nodes, dead)
	printMetadata(t, x.Metadata)
	for _, l := range []struct {
		title  string
		values []valueInfo
	}{{"inputs", x.Inputs}, {"outputs", x.Outputs}} {
		plain.Fprintf(t, "\n%s\n", l.title)
		defaults := 0
		for _, v := range l.values {
			if v.Default {
				defaults++
			}
		}
		if verbose || defaults <= maxDefaults {
			defaults = 0
		}
		for _, v := range l.values {
			note := ""
			if v.Default && defaults > 0 {
				continue
			}
			if v.Default {
				note = "\thas a default"
			}
			plain.Fprintf(t, "  %s\t%s%s\n", v.Name, v.Type, note)
		}
		if defaults > 0 {
			plain.Fprintf(t, "  %d more that have a default; -v lists them\n", defaults)
		}
	}
	with := ""
	if len(x.Assumed) > 0 {
		with = " with " + strings.Join(x.Assumed, ", ")
	}
	plain.Fprintf(t, "\noperators on %s%s\n", x.Device, with)
	for _, o := range x.Operators {
		plain.Fprintf(t, "  %s\t%d\t%s\n", o.Name, o.Count, o.Support)
	}
	if verbose && len(x.Ops) > 0 {
		plain.Fprintf(t, "\nops executed\n")
		for _, o := range x.Ops {
			plain.Fprintf(t, "  %s %s\t%d\t%s\n", o.Op, o.DType, o.Count, o.Support)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if x.Partial != "" {
		plain.Fprintf(a.out, "\nnot traced to the end: %s\n", x.Partial)
		if len(x.open) > 0 {
			plain.Fprintf(a.out, "other sizes may do: --dim %s=N\n", strings.Join(x.open, "=N --dim "))
		}
	}
	return nil
}

// thousands formats 25034 as "25,034".
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
