// Package scaffold generates a new plugin that builds, starts, lists a device and passes the parts of the conformance suite that it claims.
// burn plugin new calls it. It must not overwrite existing files.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

// Languages lists the languages with templates.
func Languages() []string { return []string{"go", "python", "c"} }

// Plugin describes the plugin to generate.
type Plugin struct {
	Name     string // name of the backend: lower-case letters, digits, - and _, starting with a letter
	Language string // one of Languages
	// Source is the source of the burn module for a plugin in Go. The other languages need none.
	Source Source
}

// ErrExists reports that the folder exists and is not empty.
var ErrExists = errors.New("folder is not empty")

// maxName is the greatest length of a name, which becomes part of file names.
const maxName = 64

func (p *Plugin) check() error {
	ok := len(p.Name) > 0 && len(p.Name) <= maxName && p.Name[0] >= 'a' && p.Name[0] <= 'z'
	for _, c := range p.Name {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	if !ok {
		return fmt.Errorf("plugin name %q, want at most %d lower-case letters, digits, - and _, starting with a letter", p.Name, maxName)
	}
	for _, l := range Languages() {
		if l == p.Language {
			return nil
		}
	}
	return fmt.Errorf("language %q, want one of %s", p.Language, strings.Join(Languages(), ", "))
}

// Write writes the plugin into dir, which it creates, and returns the files, relative to dir. The error is ErrExists if dir contains
// files, and ErrNoSource for a plugin in Go without a Source; then nothing is written.
func (p Plugin) Write(dir string) ([]string, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var sums []byte
	if p.Language == "go" {
		switch s := p.Source; {
		case s.Version == "" && s.Dir == "":
			return nil, ErrNoSource
		case s.Dir != "":
			var err error
			if p.Source.Dir, err = Checkout(s.Dir); err != nil {
				return nil, err
			}
			if sums, err = os.ReadFile(filepath.Join(p.Source.Dir, "go.sum")); err != nil {
				return nil, err
			}
		}
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	root := "templates/" + p.Language
	var files []string
	err := fs.WalkDir(templates, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.ReplaceAll(strings.TrimPrefix(path, root+"/"), "NAME", p.Name)
		if plain, isTemplate := strings.CutSuffix(name, ".tmpl"); isTemplate {
			if text, err = p.render(path, text); err != nil {
				return err
			}
			name = plain
		}
		files = append(files, name)
		return write(filepath.Join(dir, filepath.FromSlash(name)), text)
	})
	if err == nil && sums != nil { // the checksums of burn include the dependencies of the plugin
		files = append(files, "go.sum")
		err = write(filepath.Join(dir, "go.sum"), sums)
	}
	return files, err
}

func (p Plugin) render(path string, text []byte) ([]byte, error) {
	t, err := template.New(path).Funcs(template.FuncMap{"quoted": quoted}).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// write writes a file, and makes scripts executable.
func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix(text, []byte("#!")) {
		mode = 0o755
	}
	return os.WriteFile(path, text, mode)
}
