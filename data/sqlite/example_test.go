package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/sqlite"
)

func Example() {
	type item struct {
		Name string `db:"name"`
		Size int    `db:"size"`
	}
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "items.db")
	if err := sqlite.Store(context.Background(), path, "items", data.Memory[item]{{"ant", 1}, {"bee", 2}}); err != nil {
		fmt.Println(err)
		return
	}
	table, err := sqlite.Open[item](path, "items")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()
	bee, err := table.Get(1)
	fmt.Println(table.Len(), bee, err)
	// Output: 2 {bee 2} <nil>
}
