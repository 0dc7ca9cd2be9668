package jsonl_test

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/data/jsonl"
)

func ExampleRead() {
	type talk struct{ Text string }
	f, err := jsonl.Read[talk](strings.NewReader(`{"text": "hello"}` + "\n" + `{"text": "bye"}` + "\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	last, err := f.Get(f.Len() - 1)
	fmt.Println(f.Len(), last.Text, err)
	// Output: 2 bye <nil>
}
