// Package cli is the burn command. It receives its arguments and writers from the caller and never exits, so that tests can call
// Main. It parses command lines, calls the packages that do the work (host, host/store, model/onnx, train, conformance) and prints
// results. It must not contain algorithms that another program could use.
//
// # Files
//
//   - main.go (exit codes and errors), root.go (the app and its global flags), device.go and device_router.go (opening the device that
//     flags and configuration name), explain.go, verify.go and shadow.go (decorators that flags put around it).
//   - One file for each subcommand: run.go, inspect.go, bench.go, profile.go, generate.go, train.go, devices.go, doctor.go,
//     conformance.go, plugin.go, docs.go, version.go; subcommands of subcommands follow, such as plugin_install.go.
//   - burn run: model.go (loading), input.go, image.go and run_numbers.go (inputs), run_source.go, run_item.go and run_many.go (many
//     inputs), summary.go, top.go and run_format.go (outputs).
//   - burn train: train_config.go, train_run.go, train_folder.go and train_outputs.go, and a file for each task.
//   - Shared: containment.go, file.go, memory.go, metadata.go, progress.go, sampler.go, suggest.go, write.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx/pb"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailure  = 1   // failures at run time: a lost backend, no memory, a failed conformance case
	exitUsage    = 2   // errors in the command line, the configuration or an input file
	exitModel    = 3   // the model cannot be read, or needs what burn does not support
	exitCanceled = 130 // interrupted
)

const exitHelp = `Exit codes:
  0    success
  1    failure at run time: a lost backend, no memory, a failed conformance case
  2    an unusable command line, configuration or input file
  3    a model that cannot be read or is not supported
  130  interrupted`

// Main runs the command with args, without its name, and returns the exit code. Results go to stdout, everything else to stderr.
// An interrupt cancels the work; a second one ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Getenv, args, stdin, stdout, stderr)
}

func run(ctx context.Context, env func(string) string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, in: stdin, out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := a.code(ctx, err)
	if code == exitCanceled {
		fmt.Fprintln(stderr, "burn: interrupted")
		return code
	}
	if text := a.errorText(err); text != "" {
		if !a.started {
			text += suggestion(cmd, err)
		}
		fmt.Fprintf(stderr, "burn: %s\n", text)
	}
	if !a.started {
		fmt.Fprintf(stderr, "see: %s --help\n", cmd.CommandPath())
	}
	return code
}

// errorText formats an error. It may quote text of a plugin, model or mirror: lines after a line break that the command did not
// insert are indented, so that they cannot be mistaken for lines of the command.
func (a *app) errorText(err error) string {
	var own *lined
	switch {
	case errors.As(err, &own):
		return plain.Lines(err.Error())
	case !a.started: // cobra's errors quote only the command line
		return strings.ReplaceAll(plain.Lines(err.Error()), `\t`, "\t")
	}
	return indented(err)
}

func indented(err error) string {
	return strings.ReplaceAll(plain.Lines(err.Error()), "\n", "\n    ")
}

// lined is an error whose text has several lines, all written by the command and safe to print.
type lined struct {
	error
	text string
}

func (l *lined) Error() string { return l.text }
func (l *lined) Unwrap() error { return l.error }

// withLine adds a line to an error.
func withLine(err error, line string) error { return &lined{err, indented(err) + "\n" + line} }

// exitError wraps an error with an exit code other than exitFailure.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// badModel wraps an error that prevents a model from being loaded or run at all.
func badModel(err error) error {
	var f *pb.FormatError
	if errors.As(err, &f) {
		err = fmt.Errorf("%w: no ONNX model, or a damaged one", err)
	}
	return &exitError{exitModel, err}
}

func (a *app) code(ctx context.Context, err error) int {
	var e *exitError
	switch {
	case ctx.Err() != nil || errors.Is(err, core.ErrCanceled) || errors.Is(err, context.Canceled):
		return exitCanceled
	case !a.started: // cobra's own errors
		return exitUsage
	case errors.As(err, &e):
		return e.code
	}
	return exitFailure
}
