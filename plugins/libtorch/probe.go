package libtorch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// The probe loads torch in a child process and runs each kernel once. The backend does not claim ops whose kernels fail or crash the child.
// A torch that crashes when it is loaded does not end the plugin.

// ProbeFlag is the first argument of the child, which then calls ProbeMain.
const ProbeFlag = "-probe"

const (
	probeTime    = 90 * time.Second
	probeCrashes = 16
)

// line is a line of the child's output, as JSON.
type line struct {
	Trying  *trial `json:",omitempty"` // a trial begins
	Refused *trial `json:",omitempty"` // a trial failed
	Why     string `json:",omitempty"` // the error of the trial
	Failed  string `json:",omitempty"` // why torch cannot be used
	Done    bool   `json:",omitempty"`
}

// question is the input of the child.
type question struct {
	Folder string
	By     string
	Hide   []string
	Skip   []trial
}

// ProbeMain is the main function of the child: it reads a question from in and writes lines to out. It returns the exit status. torch must
// not write to out (see KeepStdout).
func ProbeMain(in io.Reader, out io.Writer) int {
	enc := json.NewEncoder(out)
	var q question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		_ = enc.Encode(line{Failed: err.Error()}) // if the parent has ended, nobody reads the answer, here and below
		return 1
	}
	lib, err := torch.Load(q.Folder, torch.Options{Threads: 1, Hide: q.Hide})
	if err != nil {
		_ = enc.Encode(line{Failed: err.Error()})
		return 1
	}
	skip := map[trial]bool{}
	for _, t := range q.Skip {
		skip[t] = true
	}
	d := newDriver(lib, torch.Place{Folder: q.Folder, By: q.By}, nil, true)
	d.selfTest(0, skip, func(t trial) { _ = enc.Encode(line{Trying: &t}) }, func(t trial, err error) {
		if err != nil {
			_ = enc.Encode(line{Refused: &t, Why: err.Error()})
		}
	})
	_ = enc.Encode(line{Done: true})
	return 0
}

// refusals contains, by name of the op, the types that are not claimed, and the reason for the first of them.
type refusals map[string]*refusal

type refusal struct {
	Types dtype.Set
	Why   string
}

func (r refusals) add(t trial, why string) {
	if r[t.Op] == nil {
		r[t.Op] = &refusal{Why: why}
	}
	r[t.Op].Types |= dtype.SetOf(t.Type)
}

// probe runs program with ProbeFlag as a child, and a new child after each crash. It returns the kernels that failed or crashed.
func probe(program string, place torch.Place, hide []string) (refusals, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	found, q := refusals{}, question{Folder: place.Folder, By: place.By, Hide: hide}
	for range probeCrashes {
		last, done, err := ask(ctx, program, &q, found)
		if done || err != nil && last == nil {
			return found, err
		}
		if ctx.Err() != nil {
			return found, fmt.Errorf("the self-test took more than %v, at %s of %v", probeTime, last.Op, last.Type)
		}
		q.Skip = append(q.Skip, *last)
		found.add(*last, fmt.Sprintf("it ended the process that tried it: %v", err))
	}
	return found, fmt.Errorf("%d kernels ended the process that tried them", probeCrashes)
}

// ask runs one child. It adds the failed trials to found and to the trials that q skips. If the child crashes while a trial runs, last is
// that trial.
func ask(ctx context.Context, program string, q *question, found refusals) (last *trial, done bool, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, false, err
	}
	cmd := exec.CommandContext(ctx, program, ProbeFlag)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)), nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	var failed string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		switch {
		case l.Trying != nil:
			last = l.Trying
		case l.Refused != nil:
			found.add(*l.Refused, l.Why)
			q.Skip = append(q.Skip, *l.Refused)
		case l.Failed != "":
			failed = l.Failed
		case l.Done:
			done = true
		}
	}
	err = cmd.Wait()
	if failed != "" {
		return nil, false, errors.New(failed)
	}
	if done {
		return nil, true, nil
	}
	if err == nil {
		err = errors.New("the child ended without an answer")
	}
	return last, false, err
}

// Opener returns an opener like New, for a program whose main function calls ProbeMain if its first argument is ProbeFlag. The opener probes
// torch in a child before it loads torch. The findings are kept in the user's cache folder until torch or the plugin changes.
func Opener(program string) core.Opener {
	return func(c core.Config) (core.Backend, error) {
		s, err := options(c)
		if err != nil {
			return nil, err
		}
		place, err := s.find()
		if err != nil {
			return nil, err
		}
		broken, err := remembered(program, place, s.hide)
		if err != nil {
			return nil, fmt.Errorf("libtorch: %w: torch in %s (%s): %w", core.ErrNotFound, place.Folder, place.By, err)
		}
		lib, place, err := load(s, c.Threads)
		if err != nil {
			return nil, err
		}
		return engine.New(newDriver(lib, place, broken, s.check)), nil
	}
}

// remembered returns the findings of an earlier run of probe, or runs it.
func remembered(program string, place torch.Place, hide []string) (refusals, error) {
	file := memory(program, place, hide)
	if text, err := os.ReadFile(file); err == nil {
		var found refusals
		if json.Unmarshal(text, &found) == nil && found.known() {
			return found, nil
		}
	}
	found, err := probe(program, place, hide)
	if err != nil || file == "" {
		return found, err
	}
	if text, err := json.Marshal(found); err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = writeWhole(file, text) // without the file, the next start probes again
	}
	return found, nil
}

// known reports whether all names are names of ops and no entry is nil.
func (r refusals) known() bool {
	for name, x := range r {
		if _, ok := op.ByName(name); !ok || x == nil {
			return false
		}
	}
	return true
}

// memory returns the path of the file in which findings are kept, or "" if the path cannot be determined. The name contains a hash of
// everything that the findings depend on.
func memory(program string, place torch.Place, hide []string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	h := sha256.New()
	f, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	fmt.Fprintln(h, place.Folder, hide)
	for _, path := range []string{filepath.Join(place.Folder, "libtorch_cpu.so"), filepath.Join(place.Folder, "libtorch_cuda.so"), torch.Shim(place.Folder)} {
		if i, err := os.Stat(path); err == nil {
			fmt.Fprintln(h, path, i.Size(), i.ModTime().UnixNano())
		}
	}
	return filepath.Join(dir, "burn", Name, hex.EncodeToString(h.Sum(nil)[:16])+".json")
}

// writeWhole writes a file atomically: other processes never read a part of it.
func writeWhole(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".probe")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the earlier error is reported
	}
	return err
}
