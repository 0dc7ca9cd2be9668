// Package docblocks reads the code blocks of documents, so that tests can run them. Only tests import it, and it must not change a
// document. Its tests check README.md, docs and package comments: Go blocks compile, console blocks run, and links have a target.
//
// The info string of a block, after the language, may have attributes:
//
//	skip="needs a GPU"    not checked, for this reason
//	quote                 a part of a source file; another test compares them
//	run                   a program of Go: it is run, and a text block after it is its output
//	file=hello/main.go    the text is written to this file, in the folder where the commands of the page are
//	exit=2                the exit code of the last command
//
// Commands of a page are run in one shell, from the root of the repository. An HTML comment before a block that begins with the word setup
// contains the commands that a console block needs first, or the declarations that a Go block uses.
package docblocks

import (
	"fmt"
	"strconv"
	"strings"
)

// Block is a fenced block of a Markdown document, or a code block of a Go doc comment.
type Block struct {
	File  string // as passed to Markdown or Comments
	Line  int    // line number of the first line of Text, from 1
	Lang  string // the first word of the info string
	Text  string // ends with a line feed
	Setup string // text of the setup comment before the block
	// Skip is the reason why the block is not checked; empty if it is.
	Skip  string
	Quote bool
	Run   bool
	Write string // the file that Text is written to
	Exit  int
}

// Where returns the position of the block, for messages.
func (b Block) Where() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Markdown returns the fenced blocks of a document, in order. An unclosed fence, an unknown attribute and a setup without a block
// after it are errors.
func Markdown(file, text string) ([]Block, error) {
	var blocks []Block
	lines := strings.Split(text, "\n")
	setup, setupLine := "", 0
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "<!-- setup":
			setupLine = i + 1
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "-->"; i++ {
				setup += lines[i] + "\n"
			}
			if i == len(lines) {
				return nil, fmt.Errorf("%s:%d: a setup without an end", file, setupLine)
			}
		case strings.HasPrefix(line, "```"):
			fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			b := Block{File: file, Line: i + 2, Setup: setup}
			if err := b.info(strings.TrimPrefix(line, fence)); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != fence; i++ {
				b.Text += lines[i] + "\n"
			}
			if i == len(lines) {
				return nil, fmt.Errorf("%s:%d: a fence without an end", file, b.Line-1)
			}
			blocks = append(blocks, b)
			setup = ""
		case line != "" && setup != "":
			return nil, fmt.Errorf("%s:%d: no block follows this setup", file, setupLine)
		}
	}
	return blocks, nil
}

// info parses an info string.
func (b *Block) info(text string) error {
	words, err := fields(text)
	if err != nil || len(words) == 0 {
		return err
	}
	b.Lang = words[0]
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "skip":
			if b.Skip = strings.Trim(value, `"`); b.Skip == "" {
				return fmt.Errorf("skip: want a reason")
			}
		case "exit":
			if b.Exit, err = strconv.Atoi(value); err != nil {
				return fmt.Errorf("exit: %w", err)
			}
		case "quote":
			b.Quote = true
		case "run":
			b.Run = true
		case "file":
			b.Write = value
		default:
			return fmt.Errorf("attribute %q, want skip, quote, run, file or exit", name)
		}
	}
	return nil
}

// fields splits at spaces outside of double quotes.
func fields(text string) ([]string, error) {
	inside := false
	words := strings.FieldsFunc(text, func(r rune) bool {
		inside = inside != (r == '"')
		return r == ' ' && !inside
	})
	if inside {
		return nil, fmt.Errorf("info string %q: a quote without an end", text)
	}
	return words, nil
}

// Command is a command of a console block.
type Command struct {
	Line   int    // line number in the file
	Text   string // text for a shell; may have several lines
	Output string // expected output; empty if none is shown
}

// Commands splits a console block: a command begins with "$ " and continues while lines end with a backslash; the lines up to the
// next command are its output.
func (b Block) Commands() ([]Command, error) {
	var cs []Command
	open := false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		command, starts := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			cs[len(cs)-1].Text += "\n" + line
			open = strings.HasSuffix(line, `\`)
		case starts:
			cs = append(cs, Command{Line: b.Line + i, Text: command})
			open = strings.HasSuffix(line, `\`)
		case len(cs) == 0:
			return nil, fmt.Errorf("%s:%d: want a command, which begins with $, got %q", b.File, b.Line+i, line)
		default:
			cs[len(cs)-1].Output += line + "\n"
		}
	}
	return cs, nil
}
