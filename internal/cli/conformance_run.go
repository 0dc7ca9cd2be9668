package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/sdk/wire"
	"github.com/spf13/cobra"
)

// suiteFlags are the flags of burn conformance run.
type suiteFlags struct {
	profile, run, report, expect string
	seed                         uint64
	jobs                         int
	timeout                      time.Duration
	perf, verbose, list, lean    bool
	seeded                       bool // --seed was given
	certify                      certifyFlags
}

func (a *app) conformanceRunCommand() *cobra.Command {
	var f suiteFlags
	var names []string
	for _, p := range conformance.Profiles() {
		names = append(names, string(p))
	}
	cmd := &cobra.Command{
		Use:   "run DEVICE|PLUGIN-FILE|ARCHIVE",
		Short: "Run the conformance suite on a device or on a plugin",
		Long: `Run the conformance suite. It compares every op of the table on every element type with a reference, and tests the contract of streams and
programs and the life cycle of tensors, streams and the backend.

  DEVICE        NAME[:INDEX]; process: or builtin: before it selects the connection
  PLUGIN-FILE   the path of a plugin. It needs no manifest; if there is one beside it, its [needs] apply. A shared object runs in a
                process of its own. --option NAME.OPTION=VALUE configures the plugin in the file burn-backend-NAME
  ARCHIVE       an archive of burn plugin pack. It is installed in a temporary folder and tested from there

The main profiles, from few to all requirements, are inference-f32 (f32, i32 and bool up to rank 5, for NPUs), core, and all (also called full). Cases
of unclaimed features are skipped; the reasons follow the verdict. If a plugin crashes or hangs, the case fails, and the
plugin is started again for the next one. The first failures are reduced to a small node that fails too.

--expect names a file with ids of cases that are known to fail, one a line; # begins a comment. These cases do not fail the run;
one that passes does.

An interrupt (Ctrl-C) ends the run. The results so far are printed, and --report writes them as an incomplete package.

--report writes a report package to a directory or to a file that ends in .tar.gz: report.jsonl, junit.xml,
index.html, and a description of device and machine. "burn conformance verify" checks it.

With --seed values are the same in every run, so a stored table of results would pass: such a report helps a maker, and
proves nothing to others. --challenge draws values from seeds that depend on a nonce and on the plugin's content. --key signs the
report; "burn conformance verify" checks the signature and runs a sample of the cases again.

The last line is "N passed, N failed, N skipped". The exit code is 1 if a case failed, or none ran.`,
		Example: `  burn conformance run cpu
  burn conformance run process:cpu --profile core --report report.tar.gz
  burn conformance run ./burn-backend-mine --run '^(add|matmul)/f32/'
  burn conformance run ./mine.so --profile inference-f32 --option mine.cores=4
  burn conformance run cpu --run '^sum/f32/long/plain$' --seed 7
  burn conformance run ./linux_amd64.tar.gz --challenge 9b1f... --report report.tar.gz --key acme
  burn conformance run cpu --perf --report timings.tar.gz`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSuite,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			return a.conformanceRun(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.profile, "profile", string(conformance.All), "run the cases of one `PROFILE`: "+strings.Join(names, ", "))
	fl.StringVar(&f.run, "run", "", "run the cases whose id is `ID`, or matches it as a regular expression")
	fl.Uint64Var(&f.seed, "seed", 1, "seed `N` of the values")
	f.certify.register(cmd)
	fl.IntVar(&f.jobs, "jobs", 1, "run `N` cases of ops at the same time, each on a backend (or plugin process) of its own")
	fl.StringVar(&f.expect, "expect", "", "`FILE` of cases that are known to fail")
	fl.StringVar(&f.report, "report", "", "write a report package to `DIR` or FILE.tar.gz")
	fl.BoolVar(&f.lean, "lean", false, "write the report without junit.xml and index.html, for packages that are archived")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "time limit `TIME` of one case")
	fl.BoolVar(&f.perf, "perf", false, "time the ops instead of testing cases, and compare the timed results with the reference")
	fl.BoolVar(&f.list, "list", false, "print the ids of the cases and run nothing")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every case")
	fl.IntVar(&a.flags.threads, "threads", 0, "`N` threads for a host backend (default: as many as the process may use)")
	must(cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (a *app) completeSuite(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	specs, _ := a.completeDevices(cmd, args, prefix)
	return specs, cobra.ShellCompDirectiveDefault
}

// profileOf returns the profile called name.
func profileOf(name string) conformance.Profile {
	if name == "full" {
		return conformance.All
	}
	return conformance.Profile(name)
}

// tested describes the backend of a run: how to open it, and how to name it.
type tested struct {
	open   func() (core.Backend, error)
	index  int
	plugin conformance.Plugin
	kill   func(core.Backend) error
	// protocol is conformance.Options.Protocol.
	protocol func(ctx context.Context, part string) (int, error)
	close    func() // nil if there is nothing to release
}

// done releases the resources of the test.
func (t *tested) done() {
	if t.close != nil {
		t.close()
	}
}

// tested returns the backend that arg names. If arg contains a separator or names a file, it is the path of a plugin or of an archive, else
// a device.
func (a *app) tested(ctx context.Context, arg string) (*tested, error) {
	info, err := os.Stat(arg)
	isFile := err == nil && info.Mode().IsRegular()
	if isFile || strings.ContainsAny(arg, `/\`) && !strings.Contains(arg, "://") {
		if !isFile {
			return nil, usage("plugin %s: want a file; see burn devices", arg)
		}
		if isPluginArchive(arg) {
			return a.testedArchive(ctx, arg)
		}
		return a.testedFile(ctx, arg)
	}
	a.config.Device = arg
	t := &tested{open: func() (core.Backend, error) {
		d, err := a.openDevice(ctx, false) // the suite itself tests losses
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}}
	if s, p := a.testedProcess(arg); p != nil {
		t.plugin.Device, t.index, t.kill = s.String(), s.Index, kill
		return t, t.describe(a, p)
	}
	d, err := a.openDevice(ctx, false) // to identify it
	if err != nil {
		return nil, err
	}
	t.plugin.Device, t.index = d.Spec, d.Index
	pid := processOf(d.Backend)
	if err := d.Close(); err != nil {
		return nil, err
	}
	if pid != 0 {
		t.kill = kill
	}
	if d.Transport == host.Builtin || d.Transport == routed {
		file, _ := os.Executable()
		t.plugin.SHA256, err = fileDigest(file)
		return t, err
	}
	s, err := host.ParseSpec(d.Spec)
	if err != nil {
		return nil, err
	}
	winners, _ := host.Find(a.hostOptions())
	for _, p := range winners {
		if p.Name == s.Name {
			return t, t.describe(a, &p)
		}
	}
	return t, nil
}

// testedProcess returns the plugin whose process provides the device arg, or nil if no plugin process does. It does not start the plugin: a
// plugin that is started without a request, or that has to wait after its start, could detect that it is tested.
func (a *app) testedProcess(arg string) (host.Spec, *host.Plugin) {
	s, err := host.ParseSpec(arg)
	if err != nil || s.Transport == "" && slices.Contains(core.Registered(), s.Name) || os.Getenv(wire.EnvReattach) != "" {
		return s, nil
	}
	winners, _ := host.Find(a.hostOptions())
	for i := range winners {
		if p := &winners[i]; p.Name == s.Name && (s.Transport == host.Process || s.Transport == "" && p.Kind != host.Shared) {
			s.Transport = host.Process
			return s, p
		}
	}
	return s, nil
}

// describe sets the description of the tested plugin p in t.
func (t *tested) describe(a *app, p *host.Plugin) error {
	t.plugin.File = filepath.Base(p.Path)
	if t.kill != nil {
		t.protocol = a.protocolOf(p.Path, p.Name)
	}
	c, err := p.Contents()
	if err != nil {
		return err
	}
	describePlugin(&t.plugin, c)
	t.plugin.SHA256, err = fileDigest(p.Path)
	return err
}

// testedFile returns the plugin at path. It is started as a process, also if it is a shared object.
func (a *app) testedFile(ctx context.Context, path string) (*tested, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t := &tested{kill: kill, plugin: conformance.Plugin{Device: filepath.Base(path), File: filepath.Base(path)}}
	if t.plugin.SHA256, err = fileDigest(path); err != nil {
		return nil, err
	}
	c, err := host.ContentsOf(path)
	if err != nil {
		return nil, err
	}
	describePlugin(&t.plugin, c)
	o := a.hostOptions()
	name := fileName(path)
	spec := host.Process + ":" + name // a shared object too, so that its crash is a failed case and does not end the suite
	if _, err := host.ParseSpec(spec); err != nil {
		return nil, usage("plugin %s: %w", path, err)
	}
	o.Development = map[string]string{name: path}
	t.protocol = a.protocolOf(path, name)
	t.open = func() (core.Backend, error) {
		d, err := host.Open(ctx, spec, o)
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}
	return t, nil
}

// fileName returns the name of a backend from the name of its file. Options are addressed to the backend by this name.
func fileName(path string) string {
	base := filepath.Base(path)
	for _, ext := range []string{".exe", ".so", ".dylib", ".dll"} {
		base = strings.TrimSuffix(base, ext)
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.TrimPrefix(base, "burn-backend-"))
}

// processOf returns the id of the process that b runs in, 0 for this process.
func processOf(b core.Backend) int {
	p, ok := b.(interface{ PID() string })
	if !ok {
		return 0
	}
	pid, err := strconv.Atoi(p.PID())
	if err != nil {
		return 0
	}
	return pid
}

// kill kills the process of a backend.
func kill(b core.Backend) error {
	pid := processOf(b)
	if pid == 0 {
		return errors.New("the backend has no process")
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func fileDigest(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// expectations reads a list of case ids, one a line; # begins a comment. An empty path is an empty list.
func expectations(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ids []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		line, _, _ := strings.Cut(s.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			ids = append(ids, line)
		}
	}
	return ids, s.Err()
}

func (a *app) conformanceRun(ctx context.Context, arg string, f suiteFlags) error {
	expect, err := expectations(f.expect)
	if err != nil {
		return usage("--expect: %w", err)
	}
	if f.timeout <= 0 {
		return usage("want a positive --timeout")
	}
	if f.jobs < 1 {
		return usage("--jobs: want 1 or more, got %d", f.jobs)
	}
	o := conformance.Options{Run: f.run, Profile: profileOf(f.profile), Seed: f.seed, Timeout: f.timeout, Expect: expect, Jobs: f.jobs}
	if o.Profile != "" && !slices.Contains(conformance.Profiles(), o.Profile) {
		var names []string
		for _, p := range conformance.Profiles() {
			names = append(names, string(p))
		}
		return usage("--profile: want one of %s, got %q%s", strings.Join(names, ", "), f.profile, nearest.Hint(f.profile, names))
	}
	ids, err := conformance.IDs(o)
	if err != nil {
		return usage("%w", err)
	}
	for _, id := range ids {
		if id == f.run { // a complete id, which may be a prefix of others
			o.Run, ids = "^"+f.run+"$", []string{id}
			break
		}
	}
	if f.list {
		for _, id := range ids {
			fmt.Fprintln(a.out, id)
		}
		return nil
	}
	if len(ids) == 0 {
		return usage("--run %s: no case of profile %s matches", f.run, f.profile)
	}
	key, err := f.certify.signer(f.report)
	if err != nil {
		return err
	}
	t, err := a.tested(ctx, arg)
	if err != nil {
		return err
	}
	defer t.done()
	if err := f.certify.apply(&o, &t.plugin, f.seeded); err != nil {
		return err
	}
	o.Device, o.Kill, o.Protocol = t.index, t.kill, t.protocol
	if f.perf {
		return a.conformancePerf(ctx, t, o, f.report, key)
	}
	bar := newBar(a.err, len(ids))
	o.Progress = func(r conformance.Result, _ int) {
		bar.clear()
		if r.Status == conformance.Failed {
			reason, _, _ := strings.Cut(r.Reason, "\n")
			plain.Fprintf(a.err, "FAIL  %s  %s\n", r.ID, reason)
		}
		if f.verbose {
			plain.Fprintf(a.out, "%-8s  %s  %v%s\n", r.Status, r.ID, r.Duration.Round(time.Millisecond/10), note(strings.ReplaceAll(r.Reason, "\n", " ")))
		}
		bar.step(r.ID, r.Status == conformance.Failed)
	}
	report, err := conformance.Check(ctx, t.open, o)
	bar.clear()
	interrupted := err != nil && ctx.Err() != nil && report != nil
	if err != nil && !interrupted {
		return err
	}
	report.Plugin, report.Lean = t.plugin, f.lean
	addFacts(ctx, report)
	if err := a.writeReport(report, f.report, key); err != nil {
		return err
	}
	if err := report.Write(a.out); err != nil {
		return err
	}
	switch {
	case interrupted:
		plain.Fprintf(a.err, "stopped after %d of %d cases\n", len(report.Results), len(ids))
		return err
	case report.Failed > 0:
		return errors.New("") // the summary line has reported it
	case report.Err() != nil:
		return errors.New("no case was executed")
	}
	return nil
}

// writeReport writes the package of a report to path, signed if there is a key, and prints its digest. An empty path writes
// nothing.
func (a *app) writeReport(r *conformance.Report, path string, key *store.PrivateKey) error {
	if path == "" {
		return nil
	}
	digest, err := writeReport(r, path, key)
	if err != nil {
		return err
	}
	plain.Fprintf(a.err, "report %s, digest %s\n", path, digest)
	return nil
}
