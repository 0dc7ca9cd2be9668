package conformance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goburn/burn/core"
)

// ErrOtherSuite is the error for a report of another suite than the suite of this program or of a release, which lacks its cases.
var ErrOtherSuite = errors.New("report is of another suite")

// Difference is a case whose result in a report differs from its result in a rerun.
type Difference struct {
	ID       string
	Reported Status
	Got      Status
	// Fresh: the rerun used seeds that the author of the report could not know.
	Fresh  bool
	Reason string // reason of Got
}

// Rerun is the result of running cases of a report again.
type Rerun struct {
	Nonce       string // the sample and the fresh seeds are derived from it
	Cases       int
	Differences []Difference
}

// Rerun runs n cases of a report that Verify read again, on the backend that open opens, and compares. The nonce, which the
// examiner chooses after the report was made, decides which cases: three in four were executed and one in four was skipped, if
// there are that many. Each case runs twice, with the seeds of the report and with fresh seeds derived from nonce. A case that passed
// must pass both times, a case that was skipped must be skipped both times, and a case that failed must fail with the seeds of the report.
//
// Rerun uses only the fields Device, Timeout, Kill, Protocol and Progress of o. It returns ErrOtherSuite if the report is of another suite
// than this program's.
func (m *Manifest) Rerun(ctx context.Context, open func() (core.Backend, error), n int, nonce string, o Options) (*Rerun, error) {
	if m.Suite.Hash != Current().Hash {
		return nil, fmt.Errorf("conformance: %w: the suite of the report is %s, the suite of this program is %s", ErrOtherSuite, m.Suite.Hash, Current().Hash)
	}
	fresh := Challenge{Nonce: nonce, Content: cmp.Or(m.Plugin.Content(), "unknown")}
	if err := fresh.check(); err != nil {
		return nil, err
	}
	reported, only := map[string]Status{}, map[string]bool{}
	for _, r := range m.pick(n, nonce) {
		reported[r.ID], only[r.ID] = r.Status, true
	}
	if len(only) == 0 {
		return nil, errors.New("conformance: rerun: the report has no cases, or none are asked for")
	}
	again := &Rerun{Nonce: nonce, Cases: len(only)}
	for i, seeds := range [][]uint64{m.Seeds, fresh.Derive()} {
		isFresh := i == 1
		report, err := Check(ctx, open, Options{Device: o.Device, Timeout: o.Timeout, Kill: o.Kill, Protocol: o.Protocol, Progress: o.Progress, Shrink: -1, only: only, seeds: seeds})
		if err != nil {
			return nil, err
		}
		if name := report.Backend.Name; name != m.Backend.Name || report.Backend.Version != m.Backend.Version {
			return nil, fmt.Errorf("conformance: rerun: the backend is %s %s, the report is of %s %s", name, report.Backend.Version, m.Backend.Name, m.Backend.Version)
		}
		for _, r := range report.Results {
			was := reported[r.ID]
			if was == Expected {
				was = Failed
			}
			if r.Status != was && !(isFresh && was == Failed) {
				again.Differences = append(again.Differences, Difference{r.ID, reported[r.ID], r.Status, isFresh, r.Reason})
			}
		}
	}
	return again, nil
}

// pick draws n rows of the report, or all if there are fewer. Three in four were executed and one in four was skipped, if there are that
// many.
func (m *Manifest) pick(n int, nonce string) []row {
	h := sha256.Sum256([]byte("burn conformance rerun 1\n" + nonce + "\n" + m.Digest + "\n"))
	r := rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
	var executed, skipped []row
	for _, x := range m.rows {
		if x.Status == Skipped {
			skipped = append(skipped, x)
		} else {
			executed = append(executed, x)
		}
	}
	for _, l := range [][]row{executed, skipped} {
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	n = max(0, n)
	few := min(len(skipped), max(n/4, n-len(executed)))
	return slices.Concat(executed[:min(len(executed), n-few)], skipped[:few])
}
