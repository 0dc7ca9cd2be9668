package client

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client/contain"
)

// confinement confines a process: rules that the kernel enforces, and ways to find all processes that it starts.
type confinement struct {
	rules  *contain.Rules // nil: none
	strict bool
	mark   string
	report contain.Report
	group  *contain.Group
	gone   chan struct{} // closed when the process was reaped
}

// spawn starts the process. dir is its folder, whose name is unique to it.
func (c *confinement) spawn(cmd *exec.Cmd, dir string, l Limits) (err error) {
	c.gone = make(chan struct{})
	defer func() {
		if err != nil {
			close(c.gone)
			c.remove()
		}
	}()
	why := errors.New("no controller is delegated to this program")
	if !noGroups && (c.rules == nil || contain.Bounding()) { // with rules no process leaves the process group, so a control group only adds limits
		c.group, why = contain.NewGroup(c.mark, l.Memory)
	}
	groupDir := ""
	if c.group != nil {
		groupDir = c.group.Dir()
	}
	if err := record(dir, c.mark, groupDir); err != nil {
		return err
	}
	if c.report, err = spawn(cmd, c); err != nil {
		return err
	}
	if why == nil && c.group == nil {
		why, groupDir = errors.New("this program may not put processes into its control groups"), ""
	}
	watched(cmd.Process.Pid, c.mark, groupDir)
	c.report = append(c.report, c.children(why), c.bounds(l, why))
	return nil
}

// noGroups disables control groups, for tests.
var noGroups bool

// check returns an error if all rules are required and a rule is not in force.
func (c *confinement) check(r contain.Report) error {
	if !c.strict {
		return nil
	}
	var texts []string
	for _, m := range r.Missing() {
		texts = append(texts, m.Name+": "+m.Detail)
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("strict containment is asked for and not in force: %s: %w", strings.Join(texts, "; "), core.ErrUnsupported)
}

// kept reports whether processes that the plugin starts are prevented from leaving its process group.
func (c *confinement) kept() bool {
	for _, m := range c.report {
		if m.Name == contain.SystemCalls {
			return m.InForce
		}
	}
	return false
}

func (c *confinement) children(why error) contain.Measure {
	switch {
	case c.group != nil && c.rules == nil:
		return contain.Measure{Name: contain.Children, InForce: true, Detail: "end with it: the control group " + filepath.Base(c.group.Dir())}
	case c.kept():
		return contain.Measure{Name: contain.Children, InForce: true, Detail: "end with it: they cannot leave its process group"}
	case needsExecBit:
		return contain.Measure{Name: contain.Children, Detail: fmt.Sprintf("ended with it unless they leave its process group and clear their environment: %v", why)}
	}
	return contain.Measure{Name: contain.Children, Detail: why.Error()}
}

func (c *confinement) bounds(l Limits, why error) contain.Measure {
	var texts []string
	if l.Memory > 0 && hasLimits {
		texts = append(texts, fmt.Sprintf("%d bytes of private memory for each process", l.Memory))
	}
	if l.Files > 0 && hasLimits {
		texts = append(texts, fmt.Sprintf("%d open files", l.Files))
	}
	if c.group != nil && c.group.Bounds != "" {
		texts = append(texts, c.group.Bounds)
	}
	if len(texts) > 0 {
		return contain.Measure{Name: contain.Bounds, InForce: true, Detail: strings.Join(texts, ", ")}
	}
	text := "none are set (plugin_memory, plugin_files)"
	if why != nil {
		text += "; " + why.Error()
	}
	return contain.Measure{Name: contain.Bounds, Detail: text}
}

// reap waits for the end of the process and ends the rest of its process group. It reaps the process last, because until then the group's
// number cannot be reused.
func (c *confinement) reap(cmd *exec.Cmd) {
	await(cmd)
	killGroup(cmd.Process.Pid)
	if c.group != nil {
		_ = c.group.Kill()
	}
	unwatched(cmd.Process.Pid)
	_ = cmd.Wait()
	close(c.gone)
}

// clear ends other processes that the plugin has started. It is called after reap.
func (c *confinement) clear() {
	if c.group == nil && !c.kept() {
		killMarked(c.mark)
	}
	c.remove()
}

func (c *confinement) remove() {
	if c.group != nil {
		_ = c.group.Remove()
		c.group = nil
	}
}

// Containment returns which rules are in force for the plugin process. It is nil for an attached plugin.
func (b *Backend) Containment() contain.Report { return b.proc.confined.report }

// refusals are texts that programs print when a rule denied them something.
var refusals = []string{"permission denied", "operation not permitted", "permissionerror", "eacces", "eperm"}

// explain adds to the error of a failed start that a rule may be the cause, if the output suggests it.
func (c *confinement) explain(e *StartError) {
	if c.rules == nil || e.Cause == CauseTimeout || e.Cause == CauseProtocol || e.Cause == CauseOpen {
		return
	}
	text := strings.ToLower(e.Detail + " " + e.Stderr)
	if slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(text, s) }) {
		e.remedy = "the plugin is confined (docs/SECURITY.md): if the rules block something that it needs, declare that in [needs] of its manifest, or set plugin_containment = \"on except " +
			e.Plugin + "\"; else " + e.Remedy()
	}
}
