package protocol_test

import (
	"fmt"

	"github.com/goburn/burn/conformance/protocol"
)

// Each rule quotes the sentence of PROTOCOL.md that it checks.
func ExampleRules() {
	for _, r := range protocol.Rules() {
		if r.ID == "frames/empty" || r.ID == "poison/free-unknown" {
			fmt.Printf("%s, section %d: %s\n", r.ID, r.Section, r.Text)
		}
	}
	// Output:
	// frames/empty, section 4: an empty frame breaks the protocol
	// poison/free-unknown, section 4: Freeing an unknown id is an error (9) at the next AWAIT.
}
