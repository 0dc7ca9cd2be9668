package docblocks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Session runs the blocks of one page, in order.
type Session struct {
	Dir string   // initial working folder
	Env []string // environment of the commands
	// Scratch is a folder for temporary files of the session.
	Scratch string
}

// Result is the result of a command.
type Result struct {
	Where  string
	Text   string
	Output string // standard output and error
	Code   int
	// Problem describes the difference from the document; empty if there is none.
	Problem string
}

// mark is the prefix of the lines that the session prints between commands.
const mark = "\x01docblocks"

// Run runs the console blocks, and the Go blocks that are written to a file or run, in one shell. A command that fails ends the
// page, since later ones build on it. The error is one of the session, not of a command.
func (s Session) Run(ctx context.Context, blocks []Block) ([]Result, error) {
	var script strings.Builder
	var all []step
	for i, b := range blocks {
		steps, setup, err := s.steps(i, b, blocks[i+1:])
		if err != nil {
			return nil, err
		}
		if setup != "" {
			steps = append([]step{{where: b.Where(), text: "set -e\n" + setup + "set +e\n", setup: true}}, steps...)
		}
		for _, st := range steps {
			// The command is passed to eval as a whole, so that a syntax error fails only the command; standard input is empty.
			fmt.Fprintf(&script, "eval %s </dev/null\ncode=$?\nprintf '\\n%s %d %%d\\n' $code\n[ $code = %d ] || exit\n",
				quote(st.text), mark, len(all), st.exit)
			all = append(all, st)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	path := filepath.Join(s.Scratch, "page.sh")
	if err := os.WriteFile(path, []byte(script.String()), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", path)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the marks contain the exit codes
	var results []Result
	rest := out.String()
	for i, st := range all {
		output, after, found := strings.Cut(rest, fmt.Sprintf("\n%s %d ", mark, i))
		r := Result{Where: st.where, Text: st.text, Output: output}
		if !found {
			r.Problem = "it did not come to an end"
			return append(results, r), ctx.Err()
		}
		code, after, _ := strings.Cut(after, "\n")
		if _, err := fmt.Sscan(code, &r.Code); err != nil {
			return nil, err
		}
		rest = after
		switch {
		case r.Code != st.exit:
			r.Problem = fmt.Sprintf("exit code %d, want %d", r.Code, st.exit)
		case st.output != "" && !Matches(st.output, output):
			r.Problem = "the document shows\n" + st.output
		}
		if st.setup && r.Problem == "" {
			continue
		}
		if results = append(results, r); r.Code != st.exit {
			break
		}
	}
	return results, nil
}

// step is a command of a session.
type step struct {
	where, text, output string
	exit                int
	setup               bool
}

// steps returns the commands of a block, and the setup before them. next holds the blocks after it; the first of them may show
// its output.
func (s Session) steps(i int, b Block, next []Block) (steps []step, setup string, err error) {
	switch {
	case b.Skip != "" || b.Quote:
	case b.Lang == "console":
		commands, err := b.Commands()
		if err != nil {
			return nil, "", err
		}
		for _, c := range commands {
			steps = append(steps, step{where: fmt.Sprintf("%s:%d", b.File, c.Line), text: c.Text, output: c.Output})
		}
		steps[len(steps)-1].exit = b.Exit
		return steps, b.Setup, nil
	case b.Write != "" || b.Run:
		kept := filepath.Join(s.Scratch, fmt.Sprintf("block%d", i))
		if err := os.WriteFile(kept, []byte(b.Text), 0o644); err != nil {
			return nil, "", err
		}
		to := b.Write
		if b.Run && to == "" {
			to = fmt.Sprintf("zblock%d/main.go", i)
		}
		place := fmt.Sprintf("mkdir -p %s && cp %s %s", quote(filepath.Dir(to)), quote(kept), quote(to))
		steps = append(steps, step{where: b.Where(), text: place, setup: true})
		if b.Run {
			run := step{where: b.Where(), text: "go run ./" + filepath.ToSlash(filepath.Dir(to))}
			if len(next) > 0 && next[0].Lang == "text" {
				run.output = next[0].Text
			}
			steps = append(steps, run)
		}
	}
	return steps, "", nil
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
