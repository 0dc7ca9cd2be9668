package streams_test

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/streams"
)

// Arguments of a launch are words whose addresses the driver is given.
func ExampleArgs() {
	a := streams.NewArgs(2)
	a.SetPtr(0, 0x7000)
	a.SetInt(1, -1)
	words, plain := a.Words()
	fmt.Println(len(words), plain, *(*streams.Ptr)(words[0]), *(*int32)(words[1]))
	// Output: 2 true 28672 -1
}
