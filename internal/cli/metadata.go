package cli

import (
	"fmt"
	"io"

	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
)

// property is an entry of a model's metadata in JSON output.
type property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func properties(list []onnx.Property) []property {
	var out []property
	for _, p := range list {
		out = append(out, property{p.Key, p.Value})
	}
	return out
}

// printMetadata prints one line per entry, with long values cut.
func printMetadata(w io.Writer, list []property) {
	const most = 200
	for i, p := range list {
		if i == 0 {
			plain.Fprintf(w, "\nmetadata\n")
		}
		value := []rune(oneLine(p.Value))
		rest := ""
		if len(value) > most {
			value, rest = value[:most], fmt.Sprintf("... (%d characters; --json has all)", len(value))
		}
		plain.Fprintf(w, "  %s\t%s%s\n", oneLine(p.Key), string(value), rest)
	}
}
