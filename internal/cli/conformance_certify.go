package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

// certifyFlags are the flags of burn conformance run that make a report a certificate.
type certifyFlags struct {
	challenge string
	seeds     int
	key       string
}

func (f *certifyFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.challenge, "challenge", "", "draw values from seeds derived from `NONCE`, a text of the person who requests the certificate, and from the hash of the plugin's content (new: a random nonce)")
	fl.IntVar(&f.seeds, "seeds", 3, "`N` seeds of a challenge; cases with random values run once with each")
	fl.StringVar(&f.key, "key", "", "sign the report with the private key in `FILE`, of burn plugin keygen")
}

// signer reads the private key, or returns nil if none is named.
func (f *certifyFlags) signer(report string) (*store.PrivateKey, error) {
	if f.key == "" {
		return nil, nil
	}
	if f.challenge == "" || report == "" {
		return nil, usage("--key: want --challenge and --report with it: only reports whose values nobody could know before are signed")
	}
	k, err := store.ReadPrivateKey(f.key)
	if err != nil {
		return nil, remedyBelow(&exitError{exitUsage, err})
	}
	return &k, nil
}

// apply sets the challenge of a plugin in o.
func (f *certifyFlags) apply(o *conformance.Options, p *conformance.Plugin, seedGiven bool) error {
	if f.challenge == "" {
		return nil
	}
	if f.key != "" && p.Archive == "" {
		return usage("--key: %s was not installed from an archive, so its files can change: make an archive with `burn plugin pack`, and test the archive", p.Device)
	}
	if seedGiven {
		return usage("--seed, --challenge: use only one of them")
	}
	nonce := f.challenge
	if nonce == "new" {
		nonce = conformance.NewNonce()
	}
	o.Seed, o.Challenge = 0, &conformance.Challenge{Nonce: nonce, Content: p.Content(), Seeds: f.seeds}
	return nil
}

// writeReport writes a report, signed if there is a key.
func writeReport(r *conformance.Report, path string, key *store.PrivateKey) (digest string, err error) {
	if key == nil {
		return r.WritePackage(path)
	}
	return r.WriteSigned(path, func(statement []byte) conformance.Signature {
		return conformance.Signature{Key: key.Public().ID(), Value: key.SignText(statement)}
	})
}

// describePlugin sets the package, if there is an archive, and the files of a plugin.
func describePlugin(p *conformance.Plugin, c *host.Contents) {
	if c.Archive != "" {
		p.Package, p.Version, p.Platform, p.Archive = c.ID.Address.String(), c.ID.Version, c.ID.Platform, c.Archive
	}
	p.Files = nil
	for _, f := range c.Files {
		p.Files = append(p.Files, conformance.PluginFile{Path: f.Path, Digest: f.Digest, Executable: f.Executable})
	}
	p.Tree = conformance.TreeOf(p.Files)
}

// isPluginArchive reports whether path names an archive, by its extension.
func isPluginArchive(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".zip")
}

// testedArchive returns the plugin in an archive. It is installed in a temporary store and started from there like every
// installed plugin.
func (a *app) testedArchive(ctx context.Context, path string) (_ *tested, err error) {
	dir, err := os.MkdirTemp("", "burn-archive-")
	if err != nil {
		return nil, err
	}
	done := func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			done()
		}
	}()
	archive, err := (&store.Fetcher{}).File(path)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	defer archive.Close()
	archive.Signature = nil // only the signature of the report matters here
	s := &store.Store{Dir: dir, LockFile: filepath.Join(dir, store.LockName), Trust: &store.Trust{}}
	r, err := s.Install(ctx, archive, store.InstallOptions{Unsigned: true})
	if err != nil {
		return nil, remedyBelow(&exitError{exitUsage, err})
	}
	id, kind := r.Package.ID, r.Package.Manifest.Kind
	o := a.hostOptions()
	o.Dirs, o.LockFile, o.Development = append([]string{dir}, o.Dirs...), s.LockFile, nil
	spec := kind + ":" + id.Name
	t := &tested{plugin: conformance.Plugin{Device: spec, File: r.Package.Executable, SHA256: r.Package.Manifest.SHA256}, close: done}
	describePlugin(&t.plugin, &host.Contents{ID: id, Archive: r.Package.Archive, Files: r.Package.Files})
	if kind == host.Process {
		t.kill, t.protocol = kill, a.protocolOf(filepath.Join(r.Dir, filepath.FromSlash(r.Package.Executable)), id.Name)
	}
	t.open = func() (core.Backend, error) {
		d, err := host.Open(ctx, spec, o)
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}
	return t, nil
}

// verifyFlags are the flags of burn conformance verify.
type verifyFlags struct {
	store         storeFlags
	allowUnsigned bool
	key           string
	plugin        string
	rerun         int
	nonce         string
	timeout       time.Duration
	release       releaseFlags
}

func (a *app) conformanceVerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify PACKAGE",
		Short: "Check a report package",
		Long: `Check a report package of "burn conformance run --report", a directory or an archive. No byte may have
changed, its files must agree with each other, its seeds must be those of its challenge, and every case of its suite and
profile must have a result.

Somebody can edit a package and hash it again. Only the signature shows its author. The key must be the one of
--key, or one that burn plugin trust has for the namespace of the plugin. A package without signature is refused without
--allow-unsigned.

The maker of a backend can sign false results. --rerun N runs N cases of the report again on the plugin of --plugin, with the
seeds of the report and with fresh ones, and compares the results. The plugin is an archive, whose hash must be that of the report, or the
name of a device. Cases that need features of the report's machine that this machine lacks differ too.

The exit code is 1 if the package was changed, is incomplete, is not signed as required, or if a rerun
does not confirm its results.`,
		Example: `  burn conformance verify report.tar.gz --key acme.pub
  burn conformance verify report.tar.gz --rerun 500 --plugin linux_amd64.tar.gz
  burn conformance verify report.tar.gz --allow-unsigned`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.rerun < 0 || f.timeout <= 0 {
				return usage("want --rerun from 0 and a positive --timeout")
			}
			if f.release.waivers != "" && f.release.date == "" {
				return usage("--waivers: want --release with it")
			}
			if f.rerun > 0 && f.plugin == "" {
				return usage("--rerun: want --plugin with it, an archive or a device")
			}
			return a.conformanceVerify(cmd.Context(), args[0], &f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.key, "key", "", "public key `FILE` of the maker, who must have signed the report")
	fl.StringVar(&f.store.trustFile, "trust-file", "", "`FILE` with trusted keys (default: trust.toml of the user's configuration)")
	fl.BoolVar(&f.allowUnsigned, "allow-unsigned", false, "accept a report without signature")
	f.release.register(cmd)
	fl.StringVar(&f.plugin, "plugin", "", "`ARCHIVE` of the plugin of the report, or its device")
	fl.IntVar(&f.rerun, "rerun", 0, "run `N` cases again and compare")
	fl.StringVar(&f.nonce, "nonce", "", "`TEXT` from which the sample and the fresh seeds are derived (default: a random one)")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "time limit `TIME` of one case")
	return cmd
}

func (a *app) conformanceVerify(ctx context.Context, path string, f *verifyFlags) error {
	m, err := conformance.Verify(path)
	if errors.Is(err, os.ErrNotExist) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	a.printManifest(m)
	signer, err := a.checkSigner(m, f)
	if err != nil {
		return err
	}
	if f.release.date != "" {
		if err := a.standings(m, &f.release); err != nil {
			return err
		}
	}
	if f.plugin != "" {
		if err := a.rerun(ctx, m, f); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.out, signer)
	fmt.Fprintln(a.out, "the package is unchanged and complete")
	return nil
}

func (a *app) printManifest(m *conformance.Manifest) {
	suite := "another suite than this program's"
	if m.Suite.Hash == conformance.Current().Hash {
		suite = "the suite of this program"
	}
	plain.Fprintf(a.out, "%s %s on %s, %s, %s\nsuite %s (%s)\n", m.Backend.Name, m.Backend.Version, m.Plugin.Device,
		m.Environment.Platform, m.Started.Format(time.RFC3339), m.Suite.Hash, suite)
	if m.Plugin.Archive != "" {
		plain.Fprintf(a.out, "plugin %s %s %s, %s\n", m.Plugin.Package, m.Plugin.Version, m.Plugin.Platform, m.Plugin.Archive)
	} else if m.Plugin.SHA256 != "" {
		what := m.Plugin.File
		if what == "" {
			what = "the program"
		}
		plain.Fprintf(a.out, "sha256 %s of %s\n", m.Plugin.SHA256, what)
	}
	if n := len(m.Plugin.Files); n > 0 {
		plain.Fprintf(a.out, "files  %d, tree %s\n", n, m.Plugin.Tree)
	}
	if c := m.Challenge; c != nil {
		plain.Fprintf(a.out, "seeds  %d of the challenge %q\n", len(m.Seeds), c.Nonce)
	} else {
		plain.Fprintf(a.out, "seed   %d, chosen by the person who ran the suite: a stored table of results would pass\n", m.Seed)
	}
	for _, p := range m.Profiles {
		if m.Profile == conformance.Timed {
			break // it has no cases
		}
		plain.Fprintf(a.out, "profile %-13s %-13s %d passed, %d failed, %d skipped\n", p.Profile, p.Verdict, p.Passed, p.Failed+p.Expected, p.Skipped)
		for _, h := range m.Disclosure.Holes {
			if h.Profile == p.Profile {
				plain.Fprintf(a.out, "    %d not tested: %s\n", h.Cases, h.Reason)
			}
		}
	}
}

// checkSigner checks the signature of a report, and returns a line about the signer.
func (a *app) checkSigner(m *conformance.Manifest, f *verifyFlags) (line string, err error) {
	if m.Signature == nil && f.allowUnsigned && f.key == "" {
		return "not signed: whoever had it may have written it", nil
	}
	err = m.CheckSignature(func(key string, statement, signature []byte) error {
		k, owner, err := a.signerKey(m, f, key)
		if err != nil {
			return err
		}
		line = fmt.Sprintf("signed with key %s%s", key, owner)
		return k.VerifyText(statement, signature)
	})
	switch {
	case errors.Is(err, conformance.ErrUnsigned):
		return "", withLine(err, "ask its maker for one that is signed (burn conformance run --challenge NONCE --key FILE), or take it with --allow-unsigned")
	case err != nil:
		return "", remedyBelow(err)
	}
	return line, nil
}

// signerKey returns the public key with the given id, if it may sign the report.
func (a *app) signerKey(m *conformance.Manifest, f *verifyFlags, id string) (k store.PublicKey, owner string, err error) {
	if f.key != "" {
		if k, err = store.ReadPublicKey(f.key); err == nil && k.ID() != id {
			err = fmt.Errorf("it is of key %s, want %s of %s", id, k.ID(), f.key)
		}
		return k, "", err
	}
	address, err := store.ParseAddress(m.Plugin.Package)
	if err != nil {
		return k, "", fmt.Errorf("the report is of no package: name the key with --key: %w", err)
	}
	t, err := a.trust(&f.store)
	if err != nil {
		return k, "", err
	}
	k, err = t.Key(id, address, "the report of "+m.Plugin.Package, time.Now())
	if known := t.Find(id); err == nil && known.Owner != "" {
		owner = " of " + known.Owner
	}
	return k, owner, err
}

// rerun runs a sample of the report on the plugin of the flags.
func (a *app) rerun(ctx context.Context, m *conformance.Manifest, f *verifyFlags) error {
	t, err := a.tested(ctx, f.plugin)
	if err != nil {
		return err
	}
	defer t.done()
	if got, want := t.plugin.Content(), m.Plugin.Content(); got != want {
		return fmt.Errorf("%s has %s, the report is of %s", f.plugin, got, want)
	}
	plain.Fprintf(a.out, "%s is the plugin of the report\n", f.plugin)
	if f.rerun == 0 {
		return nil
	}
	nonce := f.nonce
	if nonce == "" {
		nonce = conformance.NewNonce()
	}
	again, err := m.Rerun(ctx, t.open, f.rerun, nonce, conformance.Options{Device: t.index, Timeout: f.timeout, Kill: t.kill, Protocol: t.protocol})
	if err != nil {
		return err
	}
	for _, d := range again.Differences {
		seeds := "the seeds of the report"
		if d.Fresh {
			seeds = "fresh seeds"
		}
		plain.Fprintf(a.out, "DIFFERS  %s  %s in the report, %s with %s%s\n", d.ID, d.Reported, d.Got, seeds, note(strings.ReplaceAll(d.Reason, "\n", " ")))
	}
	plain.Fprintf(a.out, "rerun of %d cases, nonce %s: %d results differ\n", again.Cases, again.Nonce, len(again.Differences))
	if len(again.Differences) > 0 {
		return errors.New("the plugin does not do what the report says")
	}
	return nil
}
