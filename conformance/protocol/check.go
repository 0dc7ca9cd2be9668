package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// Version is the version of the protocol that the rules check.
const Version = 2

// Options select the plugin and the rules to check.
type Options struct {
	// Command is the plugin: the path of its program, and arguments.
	Command []string
	// Env is the environment of the plugin; nil: the environment of this process.
	Env []string
	// Debug means that the program supports the flags of section 8. A program that carries a shared object does not.
	Debug bool
	// Config is handed to the backend with Hello.
	Config map[string]string
	// Run, if set, selects rules by their IDs.
	Run *regexp.Regexp
	// StartTimeout bounds a start, and Patience any answer; 0: 30 and 10 seconds. Slack is added to the time limits of the protocol, for
	// busy machines; 0: 3 seconds.
	StartTimeout, Patience, Slack time.Duration
	// Progress, if set, is called with every result, in the order of the rules, by the goroutine of Check.
	Progress func(Result)
}

// checker runs checks one after the other. They share a plugin process until one of them breaks it. A certification has one checker for
// most rules, and a separate one for each rule that has alone set.
type checker struct {
	Options
	ctx     context.Context
	dir     string // shared by all processes of the certification
	prefix  string // prefix of their folders
	starts  int
	shared  *plugin
	unseen  *plugin  // a process that has not received Hello
	info    *welcome // of the first Hello
	noises  []string // output on standard output
	stderr  string   // standard error at the last failure
	handles uint64
	streams uint64
}

// Check runs the rules that o selects. It returns an error only if they could not be run; findings are in the report. When ctx ends, Check
// returns its cause together with a report of the rules that were checked.
func Check(ctx context.Context, o Options) (*Report, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("protocol: Options need a Command")
	}
	path, err := filepath.Abs(o.Command[0])
	if err != nil {
		return nil, fmt.Errorf("protocol: %w", err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("protocol: %s: want the file of a program: %w", path, errors.Join(err, os.ErrInvalid))
	}
	o.Command = append([]string{path}, o.Command[1:]...)
	o.StartTimeout, o.Patience, o.Slack = or(o.StartTimeout, 30*time.Second), or(o.Patience, 10*time.Second), or(o.Slack, 3*time.Second)
	c := &checker{Options: o, ctx: ctx}
	if c.dir, err = os.MkdirTemp("", "burnp"); err != nil {
		return nil, fmt.Errorf("protocol: %w", err)
	}
	defer os.RemoveAll(c.dir)
	defer c.drop()
	var rules []Rule
	for _, rule := range Rules() {
		if o.Run == nil || o.Run.MatchString(rule.ID) {
			rules = append(rules, rule)
		}
	}
	beside, wait := c.beside(rules)
	defer wait()
	r := &Report{Protocol: Version, Started: time.Now().UTC()}
	for i := range rules {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		var x Result
		if b := beside[i]; b != nil {
			select {
			case x = <-b.result:
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
			c.join(b.checker)
		} else {
			x = c.result(&rules[i])
		}
		r.add(x)
		if o.Progress != nil {
			o.Progress(x)
		}
	}
	if c.info != nil {
		r.Plugin, r.Version = c.info.name, c.info.version
	}
	r.Stderr, r.Seconds = c.stderr, time.Since(r.Started).Seconds()
	return r, nil
}

// maxAlone is the greatest number of rules that are checked in parallel with the others.
const maxAlone = 4

// alone is a check in parallel with the others. Its checker may be read after the result has been received.
type alone struct {
	*checker
	result chan Result
}

// beside starts the checks of the rules that have alone set, and returns them by their index in rules. The function that it returns waits for
// them.
func (c *checker) beside(rules []Rule) (map[int]*alone, func()) {
	all, turn := map[int]*alone{}, make(chan struct{}, maxAlone)
	var ends sync.WaitGroup
	for i := range rules {
		if !rules[i].alone {
			continue
		}
		a := &alone{&checker{Options: c.Options, ctx: c.ctx, dir: c.dir, prefix: strconv.Itoa(i) + "."}, make(chan Result, 1)}
		all[i] = a
		ends.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if c.ctx.Err() != nil {
				return
			}
			a.result <- a.checker.result(&rules[i])
		})
	}
	return all, ends.Wait
}

// join adds the starts, the output and the info that another checker has recorded.
func (c *checker) join(other *checker) {
	c.starts += other.starts
	c.noises = append(c.noises, other.noises...)
	c.stderr = cmp.Or(other.stderr, c.stderr)
	if c.info == nil {
		c.info = other.info
	}
}

// result checks one rule.
func (c *checker) result(rule *Rule) Result {
	start := time.Now()
	x := Result{ID: rule.ID, Section: rule.Section, Rule: rule.Text}
	x.Status, x.Reason = c.judge(rule)
	x.Seconds = time.Since(start).Seconds()
	return x
}

func or(d, usual time.Duration) time.Duration {
	if d == 0 {
		return usual
	}
	return d
}

// judge runs one check. If it fails, the process is not used again.
func (c *checker) judge(rule *Rule) (status Status, reason string) {
	if why := rule.applies(); why != "" {
		return Skipped, why
	}
	t := &test{checker: c, rule: rule}
	defer func() {
		p := recover()
		for _, f := range t.cleanup {
			f()
		}
		switch p := p.(type) {
		case nil:
			status = Passed
		case skipped:
			status, reason = Skipped, p.reason
		case failure:
			status, reason = Failed, p.reason
			if c.shared != nil {
				c.stderr = c.shared.last()
			}
			c.drop()
		default:
			panic(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	rule.check(t)
	return Passed, ""
}

// drop ends the shared process and the one that has not received Hello.
func (c *checker) drop() {
	if c.shared != nil {
		c.shared.stop()
		c.shared = nil
	}
	if c.unseen != nil {
		c.unseen.stop()
		c.unseen = nil
	}
}

// plugin returns the shared process. It starts one if there is none.
func (t *test) plugin() *plugin {
	if t.shared != nil && t.shared.ended() {
		how := t.shared.how()
		t.drop()
		t.fail("the plugin ended by itself: %s", how)
	}
	if t.shared == nil {
		p := t.start(how{})
		p.connect(t)
		t.shared = p
	}
	return t.shared
}
