package contain_test

import (
	"fmt"

	"github.com/goburn/burn/sdk/client/contain"
)

// What a plugin asks for is checked before it is installed.
func ExampleNeeds_Check() {
	gpu := contain.Needs{Devices: []string{"/dev/nvidia*"}}
	greedy := contain.Needs{Devices: []string{"/etc/shadow"}}
	fmt.Println(gpu.Check())
	fmt.Println(greedy.Check())
	// Output:
	// <nil>
	// contain: needs.devices: want a path below /dev, got "/etc/shadow"
}
