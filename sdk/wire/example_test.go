package wire_test

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// Both sides speak a range of protocol versions, and use the newest that they share.
func ExampleRange_Newest() {
	v, ok := wire.Range{Min: 1, Max: 3}.Newest(wire.Range{Min: 2, Max: 5})
	fmt.Println(v, ok)
	_, ok = wire.Range{Min: 1, Max: 1}.Newest(wire.Range{Min: 2, Max: 2})
	fmt.Println(ok)
	// Output:
	// 3 true
	// false
}

// An error keeps its identity across the wire.
func ExampleDecodeError() {
	err := wire.DecodeError(wire.AppendError(nil, fmt.Errorf("gather: index 7: %w", core.ErrIndex)))
	fmt.Println(errors.Is(err, core.ErrIndex))
	// Output: true
}
