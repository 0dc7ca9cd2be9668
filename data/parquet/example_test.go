package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"

	pq "github.com/parquet-go/parquet-go"

	"github.com/goburn/burn/data/parquet"
)

func ExampleLoad() {
	type row struct {
		Name string  `parquet:"name"`
		Size float64 `parquet:"size"`
	}
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rows.parquet")
	if err := pq.WriteFile(path, []row{{"ant", 0.01}, {"bee", 0.02}}); err != nil {
		fmt.Println(err)
		return
	}
	rows, err := parquet.Load[row](path)
	fmt.Println(rows, err)
	// Output: [{ant 0.01} {bee 0.02}] <nil>
}
