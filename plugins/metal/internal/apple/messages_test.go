package apple

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

var update = flag.Bool("update", false, "write the table of docs/METAL.md")

// conversions maps the type of an argument to the function that converts it where a message is sent.
var conversions = map[string]string{
	"NSUInteger": "unsigned", "uint64_t": "unsigned", "MTLGPUFamily": "enumeration", "MTLResourceOptions": "enumeration", "MTLMathMode": "enumeration", "BOOL": "boolean",
	"SEL": "selector", "NSString *": "object", "MTLCompileOptions *": "object", "id<MTLFunction>": "object", "id<MTLEvent>": "object", "id<MTLBuffer>": "object",
	"id<MTLComputePipelineState>": "object", "NSError **": "address", "const void *": "address", "const char *": "address", "MTLSize": "size",
	"id<MTLDevice>": "object", "id<MTLCommandBuffer>": "object", "MPSMatrix *": "object", "MPSMatrixDescriptor *": "object", "MPSDataType": "enumeration", "double": "double",
}

// TestMessages checks that each row of the table has as many types as its selector has colons, and a header of the framework that declares it.
func TestMessages(t *testing.T) {
	seen := map[string]bool{}
	for i, m := range messages {
		require.NotEmpty(t, m.selector, "message %d", i)
		require.Len(t, m.arguments(), strings.Count(m.selector, ":"), m.selector)
		require.False(t, seen[m.on+m.selector], m.selector)
		seen[m.on+m.selector] = true
		for _, a := range m.arguments() {
			require.NotEmpty(t, conversions[a], "%s: %s", m.selector, a)
		}
		require.Equal(t, strings.HasPrefix(m.on, "MTL"), strings.HasPrefix(m.header, "Metal/MTL"), m.selector)
	}
}

// names returns the constants of the table, in order.
func names(t *testing.T) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "messages.go", nil, 0)
	require.NoError(t, err)
	var out []string
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST && len(out) == 0 {
			for _, s := range g.Specs {
				out = append(out, s.(*ast.ValueSpec).Names[0].Name)
			}
		}
	}
	require.Len(t, out, messageCount+1)
	return out[:messageCount]
}

// called returns the name of the called function, without its package or receiver.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// TestCallSites checks that every message is sent as in the table: the number and kind of the arguments, and the kind of the result. Every
// message of the table is sent, and no other.
func TestCallSites(t *testing.T) {
	number := map[string]int{}
	for i, n := range names(t) {
		number[n] = i
	}
	sent := map[string]int{}
	files, err := filepath.Glob("*_darwin.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		require.NoError(t, err)
		var stack []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "objc" || x.Name == "purego") {
					require.Equal(t, "send_darwin.go", file, "%s.%s", x.Name, s.Sel.Name)
					require.Contains(t, []string{"RegisterName", "GetClass", "Dlopen", "Dlsym", "RegisterFunc", "SyscallN", "RTLD_NOW", "RTLD_GLOBAL"}, s.Sel.Name)
				}
			}
			c, ok := n.(*ast.CallExpr)
			if !ok || file == "send_darwin.go" || !strings.HasPrefix(called(c), "message") {
				return true
			}
			at := set.Position(c.Pos())
			id, ok := c.Args[0].(*ast.Ident)
			require.True(t, ok, "%v: a message that is not named", at)
			i, ok := number[id.Name]
			require.True(t, ok, "%v: %s is not in the table", at, id.Name)
			m := messages[i]
			sent[id.Name]++
			require.Len(t, c.Args, 2+len(m.arguments()), "%v: %s", at, m.selector)
			how := "message"
			for k, a := range m.arguments() {
				arg, ok := c.Args[2+k].(*ast.CallExpr)
				require.True(t, ok && called(arg) == conversions[a], "%v: argument %d of %s is a %s", at, k, m.selector, a)
				if a == "MTLSize" {
					how = "messageSizes"
				}
			}
			if slices.Contains(m.arguments(), "double") {
				how = "messageProduct"
			}
			if m.gives == "CFTimeInterval" {
				how = "messageDouble"
			}
			require.Equal(t, how, called(c), "%v: %s", at, m.selector)
			parent, ok := stack[len(stack)-2].(*ast.CallExpr)
			require.Equal(t, m.gives == "BOOL", ok && called(parent) == "truth", "%v: %s", at, m.selector)
			_, alone := stack[len(stack)-2].(*ast.ExprStmt)
			require.Equal(t, m.gives == "void" || m.selector == "release", alone, "%v: %s gives %s", at, m.selector, m.gives)
			return true
		})
	}
	for n := range number {
		require.Positive(t, sent[n], "%s is never sent", n)
	}
}

// document returns the table of docs/METAL.md.
func document() string {
	var w strings.Builder
	w.WriteString("| declared by | message | header | macOS |\n|---|---|---|---|\n")
	for _, m := range messages {
		since := m.since
		if since == "" {
			since = "any"
		}
		fmt.Fprintf(&w, "| `%s` | `%s` | `%s` | %s |\n", m.on, m.declaration(), m.header, since)
	}
	for _, f := range functions {
		fmt.Fprintf(&w, "| C | `%s` | `%s` | any |\n", f.declaration, f.header)
	}
	return w.String()
}

// TestDocument checks that docs/METAL.md lists the messages and functions of the package.
func TestDocument(t *testing.T) {
	const begin, end = "<!-- messages -->\n", "<!-- end of messages -->"
	file := filepath.Join("..", "..", "..", "..", "docs", "METAL.md")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+document()+end+after), 0o644))
		return
	}
	require.Equal(t, document(), table, "run go test ./internal/apple -update in plugins/metal")
}

// Errors of command buffers wrap errors of package core: ErrBackendLost, unless the kernel or the memory is at fault.
func TestFault(t *testing.T) {
	for code, want := range map[int]error{1: core.ErrBackendLost, 2: core.ErrBackendLost, 3: core.ErrKernel, 8: core.ErrOutOfMemory, 11: core.ErrBackendLost, 12: core.ErrKernel, 99: core.ErrBackendLost} {
		err := fault(code, "why")
		require.ErrorIs(t, err, want, "%d", code)
		require.ErrorContains(t, err, "why")
		require.Equal(t, want == core.ErrBackendLost, errors.Is(err, core.ErrBackendLost))
	}
}

func TestNewest(t *testing.T) {
	require.Equal(t, []string{"Apple8", "Mac2", "Metal3"}, newest([]string{"Apple5", "Apple7", "Apple8", "Mac2", "Metal3"}))
	require.Empty(t, newest(nil))
}
