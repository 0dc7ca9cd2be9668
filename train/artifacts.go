package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// artifacts writes the folder of an experiment:
//
//	config.json            Learner.Config
//	experiment.log         the events, with times
//	train/epoch-1/loss.log a line "step value" for each batch that was read; one file for each metric
//	valid/epoch-1/...      the same for the batches of the validation
//	summary.json           the history, when the run ended
//	checkpoint/            snapshots
//
// A resumed run appends, after truncating the lines of steps that it repeats. The first write error is reported once, in
// experiment.log if possible, and ends the logging of values.
type artifacts struct {
	dir    string
	log    *os.File
	plain  *Plain
	files  []*bufio.Writer // files of values of the current split, by metric
	open   []*os.File
	failed error
}

func openArtifacts(dir string, config any) (*artifacts, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if config != nil {
		b, err := json.MarshalIndent(config, "", "\t")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "config.json"), append(b, '\n'), 0o666)
		}
		if err != nil {
			return nil, fmt.Errorf("train: write the config: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "experiment.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	a := &artifacts{dir: dir, log: f}
	a.plain = NewPlain(stamped{f}, PlainOptions{Every: -1})
	return a, nil
}

// stamped writes the time before each line. Each Write must contain one line.
type stamped struct{ f *os.File }

func (s stamped) Write(p []byte) (int, error) {
	if _, err := fmt.Fprintf(s.f, "%s %s", time.Now().UTC().Format(time.RFC3339), p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *artifacts) close() {
	a.closeFiles()
	_ = a.log.Close()
}

// Event writes e to the files.
func (a *artifacts) Event(e Event) {
	a.plain.Event(e)
	if a.failed != nil {
		return
	}
	var err error
	switch e := e.(type) {
	case Started:
		err = a.rewind(e.Epoch, e.Step)
	case Stepped:
		if e.Fresh {
			err = a.values(e)
		}
	case EpochEnded:
		err = a.closeFiles()
	case Ended:
		err = errors.Join(a.closeFiles(), a.summary(e))
	}
	if err != nil {
		a.failed = err
		a.plain.Event(Warned{fmt.Sprintf("a log could not be written, logging stops: %v", err)})
	}
}

func (a *artifacts) folder(s Split, epoch int) string {
	return filepath.Join(a.dir, string(s), fmt.Sprintf("epoch-%d", epoch+1))
}

// slug returns a file name for a metric: its name in lower case, without separators and spaces.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ' ' || r == ':' {
			return '-'
		}
		return r
	}, strings.ToLower(name))
}

func (a *artifacts) values(e Stepped) error {
	if a.files == nil {
		dir := a.folder(e.Split, e.Epoch)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		mode := os.O_APPEND
		if e.Split != Train {
			mode = os.O_TRUNC
		}
		for _, r := range e.Readings {
			f, err := os.OpenFile(filepath.Join(dir, slug(r.Name)+".log"), os.O_CREATE|os.O_WRONLY|mode, 0o666)
			if err != nil {
				return err
			}
			a.open = append(a.open, f)
			a.files = append(a.files, bufio.NewWriter(f))
		}
	}
	at := e.Step
	if e.Split != Train {
		at = e.Batch
	}
	for i, r := range e.Readings {
		if _, err := fmt.Fprintf(a.files[i], "%d %v\n", at, r.Last); err != nil {
			return err
		}
	}
	return nil
}

func (a *artifacts) closeFiles() error {
	var errs []error
	for i, f := range a.open {
		errs = append(errs, a.files[i].Flush(), f.Close())
	}
	a.files, a.open = nil, nil
	return errors.Join(errs...)
}

// rewind removes the lines of the training logs for steps after step, in epoch and later epochs.
func (a *artifacts) rewind(epoch, step int) error {
	if err := a.closeFiles(); err != nil {
		return err
	}
	for ; ; epoch++ {
		files, err := filepath.Glob(filepath.Join(escape(a.folder(Train, epoch)), "*.log"))
		if err != nil || len(files) == 0 {
			return err
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			var kept []byte
			for line := range strings.Lines(string(b)) {
				at, _, _ := strings.Cut(line, " ")
				if n, err := strconv.Atoi(at); err == nil && n <= step && strings.HasSuffix(line, "\n") {
					kept = append(kept, line...)
				}
			}
			if err := os.WriteFile(name, kept, 0o666); err != nil {
				return err
			}
		}
	}
}

// escape escapes the special characters of a path for Glob.
func escape(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// summary is the content of summary.json.
type summary struct {
	Reason  Reason  `json:"reason"`
	Error   string  `json:"error,omitempty"`
	Epochs  int     `json:"epochs"`
	Step    int     `json:"step"`
	Seconds float64 `json:"seconds"`
	History History `json:"history"`
}

func (a *artifacts) summary(e Ended) error {
	s := summary{Reason: e.Reason, Epochs: e.Epochs, Step: e.Step, Seconds: e.Took.Seconds(), History: e.History}
	if e.Err != nil {
		s.Error = e.Err.Error()
	}
	b, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a.dir, "summary.json"), append(b, '\n'), 0o666)
}
