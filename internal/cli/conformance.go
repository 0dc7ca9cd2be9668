package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/spf13/cobra"
)

func (a *app) conformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Test a backend",
		Long:  "Compare the results of a backend with known results, and test its behaviour.",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.conformanceRunCommand(), a.conformanceProtocolCommand(), a.conformanceVerifyCommand(), a.conformanceScoreboardCommand(),
		a.conformanceOnnxCommand())
	return cmd
}

// conformanceFlags are the flags of burn conformance onnx.
type conformanceFlags struct {
	run        string
	json       string
	rtol, atol float64
	timeout    time.Duration
	jobs       int
	verbose    bool
}

func (a *app) conformanceOnnxCommand() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "onnx DIR",
		Short: "Run a tree of cases in the layout of the ONNX backend tests",
		Long: `Run every case below DIR, at any depth. A case is a directory with model.onnx and test_data_set_N/{input,output}_M.pb. Files are
read as tensors, sequences or optionals, as the model declares.

An output passes if it has the expected type and shape, and |got-want| <= atol + rtol*|want| for each
element. The tolerances are rtol 1e-3 and atol 1e-5, for f16 and bf16 1e-2 and 1e-3; --rtol and --atol set them for all
floats. NaN equals NaN. Integers and booleans, quantised ones of 8 bits included, must be equal. For random operators,
whose numbers ONNX does not define, only type and shape are compared.

A case is skipped only if it needs an operator or an element type that burn does not support, or an op
that the device does not support on optional types. A panic or a timeout fails the case. A case without data
sets is only loaded.

The report of --json has a digest of each case's outputs: outputs with equal bits have equal digests.

The last line is "N passed, N failed, N skipped". The exit code is 1 if a case failed, or none ran.`,
		Example: `  burn conformance onnx cases/node
  burn conformance onnx cases/node --run 'test_(add|sub)' -v
  burn conformance onnx models --device process:cpu --rtol 1e-3 --atol 1e-4 --json report.json`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o := onnxtest.Options{Timeout: f.timeout}
			if cmd.Flags().Changed("rtol") || cmd.Flags().Changed("atol") {
				o.Tolerance = &onnxtest.Tolerance{Rel: f.rtol, Abs: f.atol}
			}
			return a.conformanceOnnx(cmd.Context(), args[0], f, o)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	a.deviceFlags(cmd)
	fl.StringVar(&f.run, "run", "", "run only the cases whose name matches `REGEX`")
	fl.StringVar(&f.json, "json", "", "write every result to `FILE` as JSON")
	fl.Float64Var(&f.rtol, "rtol", onnxtest.Default.Rel, "relative `TOLERANCE` of all floats")
	fl.Float64Var(&f.atol, "atol", onnxtest.Default.Abs, "absolute `TOLERANCE` of all floats")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "time limit `TIME` of one case")
	fl.IntVar(&f.jobs, "jobs", 1, "run `N` cases at the same time")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every case, with the reason of every skip")
	return cmd
}

// caseResult is one case in the JSON report.
type caseResult struct {
	Case    string          `json:"case"`
	Status  onnxtest.Status `json:"status"`
	Reason  string          `json:"reason,omitempty"`
	Output  string          `json:"output,omitempty"`
	Index   []int           `json:"index,omitempty"`
	MaxAbs  number          `json:"max_abs,omitempty"`
	Stack   string          `json:"stack,omitempty"`
	Sets    int             `json:"data_sets"`
	Digest  string          `json:"digest,omitempty"` // digest of the outputs, to compare devices bit for bit
	Seconds float64         `json:"seconds"`
}

type conformanceReport struct {
	Device  string       `json:"device"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Cases   []caseResult `json:"cases"`
}

func (a *app) conformanceOnnx(ctx context.Context, dir string, f conformanceFlags, o onnxtest.Options) error {
	if f.jobs < 1 || f.timeout <= 0 || f.rtol < 0 || f.atol < 0 {
		return usage("want --jobs from 1, a positive --timeout, and tolerances from 0")
	}
	match, err := regexp.Compile(f.run)
	if err != nil {
		return usage("--run: %w", err)
	}
	cases, err := onnxtest.Find(dir)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	all := len(cases)
	cases = slices.DeleteFunc(cases, func(c onnxtest.Case) bool { return !match.MatchString(c.Name) })
	if len(cases) == 0 {
		return usage("--run %s: none of %d cases match", f.run, all)
	}
	p := newProgress(a.err, len(cases))
	report := conformanceReport{Cases: []caseResult{}}
	skips := map[string]int{}
	open := func(ctx context.Context) (*core.Place, error) {
		d, err := a.open(ctx)
		if err == nil {
			report.Device = d.Spec
		}
		return d, err
	}
	sum, err := onnxtest.RunAll(ctx, open, cases, o, f.jobs, func(r onnxtest.Result) {
		p.clear()
		reason := strings.ReplaceAll(r.Reason, "\n", " ")
		switch {
		case r.Status == onnxtest.Failed:
			plain.Fprintf(a.out, "FAIL  %s  %s\n", r.Case.Name, reason)
			if f.verbose && r.Stack != "" {
				fmt.Fprintln(a.out, plain.Lines(r.Stack))
			}
		case f.verbose && r.Status == onnxtest.Skipped:
			plain.Fprintf(a.out, "skip  %s  %s\n", r.Case.Name, reason)
		case f.verbose:
			plain.Fprintf(a.out, "pass  %s  %v%s\n", r.Case.Name, r.Duration.Round(time.Millisecond/10), note(reason))
		}
		if r.Status == onnxtest.Skipped {
			skips[r.Group]++
		}
		report.Cases = append(report.Cases, resultOf(r))
		p.step(r.Case.Name)
	})
	p.clear()
	interrupted := err != nil && ctx.Err() != nil
	if err != nil && !interrupted {
		return err
	}
	if !f.verbose {
		a.printSkips(skips)
	}
	if f.json != "" {
		report.Passed, report.Failed, report.Skipped = sum.Passed, sum.Failed, sum.Skipped
		slices.SortFunc(report.Cases, func(x, y caseResult) int { return cmp.Compare(x.Case, y.Case) })
		if err := writeJSON(f.json, report); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.out, sum)
	switch {
	case interrupted:
		plain.Fprintf(a.err, "stopped after %d of %d cases\n", len(report.Cases), len(cases))
		return err
	case sum.Failed > 0:
		return errors.New("") // the summary line has reported it
	case sum.Passed == 0:
		return errors.New("no case was executed")
	}
	return nil
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return "  " + s
}

func resultOf(r onnxtest.Result) caseResult {
	c := caseResult{Case: r.Case.Name, Status: r.Status, Reason: r.Reason, Stack: r.Stack, Sets: r.Sets, Digest: r.Digest, Seconds: r.Duration.Seconds()}
	if r.Mismatch != nil {
		c.Output, c.Index, c.MaxAbs = r.Mismatch.Output, r.Mismatch.Index, number(r.Mismatch.MaxAbs)
	}
	return c
}

// printSkips prints reasons with their counts, the most frequent first.
func (a *app) printSkips(skips map[string]int) {
	reasons := make([]string, 0, len(skips))
	for r := range skips {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(x, y string) int { return cmp.Or(skips[y]-skips[x], cmp.Compare(x, y)) })
	for _, r := range reasons {
		plain.Fprintf(a.out, "skip  %4d  %s\n", skips[r], r)
	}
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, func(f *os.File) error {
		_, err := f.Write(append(b, '\n'))
		return err
	})
}
