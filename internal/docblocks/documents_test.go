package docblocks_test

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/docblocks"
)

const root = "../.."

// setups holds the declarations that Go blocks in doc comments use, by file. Markdown files have them in hidden comments.
var setups = map[string]string{
	"data/image/augment.go":    "var pictures data.Dataset[*image.Image]\nvar seed uint64\n",
	"model/onnx/export/doc.go": "type Net struct{}\nfunc (*Net) Forward(*tensor.Tensor) *tensor.Tensor\nvar net *Net\n",
	"model/record/doc.go":      "var m nn.Module\n",
	"optim/doc.go":             "type Model struct{}\nfunc (*Model) Loss([]float32) *tensor.Tensor\nvar model *Model\nvar batches [][]float32\n",
	"train/doc.go": "type Model struct{}\nfunc NewModel(*tensor.Device) *Model\nfunc (*Model) Forward(*tensor.Tensor) *tensor.Tensor\n" +
		"type Batch struct{ Images, Labels *tensor.Tensor }\nfunc openDevice(context.Context) (*tensor.Device, error)\n" +
		"func newLoader(*tensor.Device) (*data.Loader[[]float32, Batch], error)\n",
	"tensor/transaction.go": "var loss, label *tensor.Tensor\n",
}

// texts holds the beginnings of code blocks in doc comments that are neither Go nor commands, by file.
var texts = map[string]string{
	"model/record/doc.go":          "8 bytes   89",
	"train/checkpoint/snapshot.go": "step-000000120/",
	"train/artifacts.go":           "config.json ",
	"sdk/serve/main.go":            "--version ",
}

// fileMap matches the first line of a code block that lists the files of a package.
var fileMap = regexp.MustCompile(`^[\w*]+\.go[ ,]`)

// documents returns the Markdown files of the repository, without test data and templates.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
	})
	require.Contains(t, files, "README.md")
	require.Contains(t, files, "docs/BACKENDS.md")
	return files
}

// walk calls f for the files of the repository, without test data, templates and build results.
func walk(t *testing.T, f func(path string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{"testdata", "templates", "node_modules"}, d.Name()) || rel != "." && strings.HasPrefix(d.Name(), ".") ||
				slices.Contains([]string{"bin", "dist", "runs", "burn_plugins", "shared", "public"}, rel) {
				return fs.SkipDir
			}
			return nil
		}
		f(rel)
		return nil
	}))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// blocks lists the console and Go blocks of documents and doc comments.
func blocks(t *testing.T) []docblocks.Block {
	t.Helper()
	var all []docblocks.Block
	for _, file := range documents(t) {
		bs, err := docblocks.Markdown(file, read(t, file))
		require.NoError(t, err)
		all = append(all, bs...)
	}
	used := map[string]bool{}
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/docblocks/") || strings.Contains(path, "/internal/") {
			return
		}
		bs, err := docblocks.Comments(path, []byte(read(t, path)))
		require.NoError(t, err)
		for _, b := range bs {
			if start := texts[path]; start != "" && strings.HasPrefix(b.Text, start) {
				used[path] = true
				continue
			}
			if fileMap.MatchString(b.Text) {
				continue
			}
			b.Setup = setups[path]
			used[path] = true
			all = append(all, b)
		}
	})
	for path := range maps.Keys(setups) {
		require.True(t, used[path], "%s has no block for its setup", path)
	}
	for path := range maps.Keys(texts) {
		require.True(t, used[path], "%s has no block of text", path)
	}
	return slices.DeleteFunc(all, func(b docblocks.Block) bool { return b.Lang != "go" && b.Lang != "console" })
}

// packages maps the package names in blocks to import paths.
func packages(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "log": "log", "os": "os", "time": "time"}
	cmd := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}}", ".", "./core/...", "./tensor", "./nn/...", "./optim/...", "./train/...", "./data/...",
		"./model/...", "./decorators/...", "./sdk/...", "./host/...", "./conformance", "./plugins/cpu")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(path, "/internal/") {
			names[name] = path
		}
	}
	return names
}

// TestGoBlocksCompile type-checks each Go block together with the packages that it names.
func TestGoBlocksCompile(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not in PATH")
	}
	names := packages(t)
	type unit struct {
		block docblocks.Block
		files []string
	}
	var units []unit
	need := map[string]bool{}
	skipped, quoted := 0, 0
	for _, b := range blocks(t) {
		switch {
		case b.Lang != "go":
			continue
		case b.Quote:
			quoted++
			continue
		case b.Skip != "":
			skipped++
			t.Logf("%s: not compiled: %s", b.Where(), b.Skip)
			continue
		}
		files, imports, err := b.Source(names)
		if err != nil {
			t.Error(err)
			continue
		}
		units = append(units, unit{b, files})
		for _, path := range imports {
			need[path] = true
		}
	}
	exports := exportData(t, slices.Sorted(maps.Keys(need)))
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, u := range units {
		var parsed []*ast.File
		for _, text := range u.files {
			f, err := parser.ParseFile(fset, u.block.Where(), text, 0)
			require.NoError(t, err, "%s\n%s", u.block.Where(), text)
			parsed = append(parsed, f)
		}
		config := types.Config{Importer: imports, Error: func(err error) {
			if e, ok := err.(types.Error); ok && !e.Soft { // soft errors are names that the block does not use
				lines := strings.Split(u.files[0], "\n")
				t.Errorf("%s: %s, in: %s", u.block.Where(), e.Msg, lines[min(fset.Position(e.Pos).Line, len(lines))-1])
			}
		}}
		_, _ = config.Check("snippet", fset, parsed, nil) // the errors were passed to config.Error
	}
	t.Logf("%d Go blocks compile, %d are quotes, %d are exempt", len(units), quoted, skipped)
	require.Greater(t, len(units), 20)
}

// exportData compiles packages and returns their export data files.
func exportData(t *testing.T, paths []string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}, paths...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files
}

// TestConsoleBlocksParse checks that a console block consists of commands and their output. TestConsoleBlocksRun runs them.
func TestConsoleBlocksParse(t *testing.T) {
	commands := 0
	for _, b := range blocks(t) {
		if b.Lang == "console" {
			cs, err := b.Commands()
			require.NoError(t, err)
			require.NotEmpty(t, cs, b.Where())
			commands += len(cs)
		}
	}
	require.Greater(t, commands, 20)
}

// TestLinks checks that the targets of links within the repository exist, including headings.
func TestLinks(t *testing.T) {
	anchors := map[string]map[string]bool{}
	n := 0
	for _, file := range documents(t) {
		text := read(t, file)
		for _, l := range docblocks.Links(text) {
			if strings.Contains(l.Target, "://") || strings.HasPrefix(l.Target, "mailto:") {
				continue
			}
			n++
			path, anchor, _ := strings.Cut(l.Target, "#")
			to := file
			if path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(file), path))
			}
			if strings.HasPrefix(to, "../") {
				t.Errorf("%s:%d: %s leads out of the repository", file, l.Line, l.Target)
				continue
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s:%d: %s leads nowhere", file, l.Line, l.Target)
				continue
			}
			if anchor == "" || !strings.HasSuffix(to, ".md") {
				continue
			}
			if anchors[to] == nil {
				anchors[to] = docblocks.Anchors(read(t, to))
			}
			if !anchors[to][anchor] {
				t.Errorf("%s:%d: %s has no heading #%s", file, l.Line, to, anchor)
			}
		}
	}
	t.Logf("%d links within the repository", n)
	require.Greater(t, n, 50)
}

// TestIndexes checks that docs/README.md links to every page of docs, and docs/EXAMPLES.md to every example.
func TestIndexes(t *testing.T) {
	listed := func(page string) map[string]bool {
		to := map[string]bool{}
		for _, l := range docblocks.Links(read(t, page)) {
			path, _, _ := strings.Cut(l.Target, "#")
			to[filepath.ToSlash(filepath.Join(filepath.Dir(page), path))] = true
		}
		return to
	}
	start := listed("docs/README.md")
	for _, page := range documents(t) {
		if filepath.Dir(page) == "docs" && page != "docs/README.md" {
			require.True(t, start[page], "docs/README.md does not link to %s", page)
		}
	}
	index := ""
	for path := range listed("docs/EXAMPLES.md") {
		index += path + "\n"
	}
	for _, pattern := range []string{"examples/*", "examples/backends/*"} {
		dirs, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, dir := range dirs {
			info, err := os.Stat(dir)
			require.NoError(t, err)
			if rel, _ := filepath.Rel(root, dir); info.IsDir() {
				require.Contains(t, index, filepath.ToSlash(rel)+"/", "docs/EXAMPLES.md lacks it")
			}
		}
	}
}

// Every document is in a menu of the site; otherwise the build of the site fails.
func TestMenus(t *testing.T) {
	menus, err := os.ReadFile(root + "/tools/site/hugo.toml")
	require.NoError(t, err)
	documents, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	for _, d := range documents {
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(d), ".md"))
		require.Contains(t, string(menus), "pageRef = \"/"+name+"\"\n", "tools/site/hugo.toml")
	}
}
