// Package child calls a vendor's libraries in child processes of a plugin, because a library may end its process: Probe finds out which
// libraries work before the plugin itself loads anything, and Compilers are child processes that have loaded a compiler. A program that is
// to be a child calls Main.
//
// The package knows no vendor, no device and no kernel; its results about libraries are rows of package vendor.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Flag is the first argument of a program that runs as a child. The program calls Main with the arguments that follow.
const Flag = "-child"

// Libraries describes how children find and load the libraries of a vendor.
type Libraries struct {
	// Places say where they are installed.
	Places vendor.Places
	// Find looks for all of them.
	Find func(s vendor.Search) vendor.Report
	// Load loads the compiler of a file. The function that it returns compiles a text with options, and returns the code and the log of the
	// compiler.
	Load func(file string) (func(text string, options []string) (code []byte, log string, err error), error)
}

// Main is the main function of a child. It returns the exit status. out is a file to which libraries do not write.
func (l *Libraries) Main(args []string, in io.Reader, out io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == "probe":
		return l.probe(in, out)
	case len(args) == 2 && args[0] == "compile":
		return l.compile(args[1], in, out)
	}
	return 2
}

// Program returns a path by which this process's program can be started as a child. On Linux the path works even after the file was deleted.
func Program() string {
	program := "/proc/self/exe"
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if program, err := os.Executable(); err == nil {
		return program
	}
	return os.Args[0]
}

const (
	probeTime    = 30 * time.Second
	probeCrashes = 8
	stderrBytes  = 64 << 10
	saidBytes    = 1 << 10
)

// Question is the input of a child that probes.
type Question struct {
	Only string            // as in vendor.Search
	Root string            // as in vendor.Search; if it is set, the loader is not asked
	Skip map[string]string // candidates not to try, and why
}

// line is a line of the output of a child that probes: a candidate before it is tried, and in the end all rows.
type line struct {
	Trying string   `json:",omitempty"`
	Rows   []answer `json:",omitempty"`
}

// answer is a vendor.Row with its error as text.
type answer struct {
	vendor.Row
	Err string
}

func (l *Libraries) probe(in io.Reader, out io.Writer) int {
	enc := json.NewEncoder(out)
	var q Question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return 1
	}
	s := vendor.DefaultSearch(l.Places)
	s.Only, s.Root, s.Closed = q.Only, q.Root, q.Root != ""
	s.Trying = func(candidate string) string {
		_ = enc.Encode(line{Trying: candidate}) // a parent that has ended needs no answer, here and below
		return q.Skip[candidate]
	}
	var all []answer
	for _, row := range l.Find(s) {
		a := answer{Row: row}
		if row.Err != nil {
			a.Err, a.Row.Err = row.Err.Error(), nil
		}
		all = append(all, a)
	}
	_ = enc.Encode(line{Rows: all})
	return 0
}

// Probe starts a child to find out which libraries work, and another child after each library that ends the previous one. It returns what
// Libraries.Find returned in the last child.
func Probe(program string, q Question) (vendor.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	if q.Skip == nil {
		q.Skip = map[string]string{}
	}
	for range probeCrashes {
		rows, last, err := ask(ctx, program, q)
		if err == nil || last == "" || q.Skip[last] != "" {
			return rows, err
		}
		q.Skip[last] = fmt.Sprintf("it ended the process that tried it: %v", err)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s did not answer within %v", last, probeTime)
		}
	}
	return nil, fmt.Errorf("%d libraries ended the process that tried them", probeCrashes)
}

// ask runs one child. last names the candidate that the child was trying when it ended.
func ask(ctx context.Context, program string, q Question) (rows vendor.Report, last string, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, program, Flag, "probe")
	cmd.Stdin = strings.NewReader(string(text))
	var said tail
	cmd.Stderr = &said
	out, err := cmd.Output()
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l line
		if dec.Decode(&l) != nil {
			break
		}
		if l.Trying != "" {
			last = l.Trying
		}
		for _, a := range l.Rows {
			if a.Err != "" {
				a.Row.Err = errors.New(a.Err)
			}
			rows = append(rows, a.Row)
		}
	}
	if rows != nil {
		return rows, last, nil
	}
	if err == nil {
		err = errors.New("the child ended without an answer")
	}
	return nil, last, said.with(err)
}
