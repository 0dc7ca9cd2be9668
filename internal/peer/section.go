package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Section is the part of a Markdown file that a command generates, between two comments that name it.
type Section string

// Begin returns the line before the part.
func (s Section) Begin() string { return "<!-- " + string(s) + ": begin -->\n" }

// End returns the line after the part.
func (s Section) End() string { return "<!-- " + string(s) + ": end -->\n" }

// Replace replaces the part by text. A file without the two lines in this order is an error and is not changed.
func (s Section) Replace(path, text string) error {
	path = filepath.Clean(path)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), s.Begin())
	_, tail, closed := strings.Cut(rest, s.End())
	if !ok || !closed {
		return fmt.Errorf("%s: want the lines %q and %q", path, strings.TrimSpace(s.Begin()), strings.TrimSpace(s.End()))
	}
	return os.WriteFile(path, []byte(head+s.Begin()+"\n"+strings.TrimSpace(text)+"\n\n"+s.End()+tail), 0o644)
}
