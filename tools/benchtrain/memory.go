package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

const (
	waitedSteps = 8  // steps of a memory table with a wait each
	manySteps   = 40 // and without
)

// memories prints the memory that each case takes.
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

// memory prints the device's memory after training steps: the first ones, which run node by node, those that are programs, with and
// without a wait. On the device "builtin:dry" it also prints what the programs need it for.
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
	if err := row(fmt.Sprintf("%d steps with one wait", manySteps)); err != nil || s.device != "builtin:dry" {
		return err
	}
	return planned(out)
}

// memory returns the memory of the device, and keeps the most that it has taken from the system.
func (t *trainer) memory() (core.Memory, bool) {
	m, ok := t.dev.Memory()
	t.most = max(t.most, m.Reserved)
	return m, ok
}

// planned prints what the programs of the dry device need memory for.
func planned(out io.Writer) error {
	st, ok := core.Extension[gpu.Statistics](dryDevice)
	needs, also := core.Extension[gpu.Needs](dryDevice)
	if !ok || !also {
		return errors.New("the dry device has no statistics")
	}
	p := st.Stats().Pool
	var b strings.Builder
	fmt.Fprintf(&b, "\n%.0f MiB were reserved at most, %.0f in use by tensors\n", mib(p.Most), mib(p.Peak))
	for _, n := range needs.Needs() {
		fmt.Fprintf(&b, "\nprogram %s: %d steps, inputs %.0f MiB, outputs %.0f MiB (%.0f in the place of inputs), scratch %.0f MiB, %.0f MiB live at step %d\n", n.Name, n.Steps,
			mib(n.Inputs), mib(n.Outputs), mib(n.Reused), mib(n.Scratch), mib(n.Live), n.Peak)
		for _, x := range n.Tensors {
			if whole := mib(int64(x.Count) * x.Bytes); whole >= 1 {
				fmt.Fprintf(&b, "%8.1f MiB %4d x %7.1f  steps %d to %d (%s)  %s\n", whole, x.Count, mib(x.Bytes), x.First, x.Last, x.Read, x.Made)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
