package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goburn/burn/core"
)

const (
	waitedSteps = 8  // steps of a memory table, with a wait after each
	manySteps   = 40 // steps without a wait between them
)

// memories prints the memory that each case uses.
func memories(ctx context.Context, o flags) error {
	o.settings.threads = o.threads[0]
	for _, name := range o.names {
		c, err := find(name)
		if err == nil {
			err = memory(ctx, os.Stdout, c, o.settings)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// memory prints the device's memory after training steps: after the first steps, which run node by node, and after steps that run
// as programs, with and without a wait. The test TestMemoryOfTraining of sdk/gpu/emulated lists, without a GPU, the uses of the
// memory by the programs of a GPU.
func memory(ctx context.Context, out io.Writer, c contest, s settings) (err error) {
	t, err := newTrainer(ctx, c, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	fmt.Fprintf(out, "%s\n\n| after | in use, MiB | reserved, MiB | reserved at most, MiB |\n|---|---:|---:|---:|\n", c.text)
	row := func(what string) error {
		m, ok := t.memory()
		if !ok {
			return fmt.Errorf("%s does not report its memory", s.device)
		}
		_, err := fmt.Fprintf(out, "| %s | %.0f | %.0f | %.0f |\n", what, mib(m.InUse), mib(m.Reserved), mib(t.most))
		return err
	}
	for i := range waitedSteps {
		if _, err := t.step(ctx); err != nil {
			return err
		}
		if err := row(fmt.Sprintf("step %d", i+1)); err != nil {
			return err
		}
	}
	if _, err := t.many(ctx, manySteps); err != nil {
		return err
	}
	return row(fmt.Sprintf("%d steps with one wait", manySteps))
}

// memory returns the memory of the device, and updates t.most.
func (t *trainer) memory() (core.Memory, bool) {
	m, ok := t.dev.Memory()
	t.most = max(t.most, m.Reserved)
	return m, ok
}
