package store_test

import (
	"fmt"

	"github.com/goburn/burn/host/store"
)

func ExampleParseConstraint() {
	c, err := store.ParseConstraint("^1.2")
	if err != nil {
		fmt.Println(err)
		return
	}
	newest, ok := c.Newest([]string{"1.1.9", "1.4.0", "1.10.2", "2.0.0"})
	fmt.Println(newest, ok, c.Allows("2.0.0"))
	// Output: 1.10.2 true false
}
