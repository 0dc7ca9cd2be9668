package conformance

import (
	"context"
	"fmt"
)

// ProtocolParts returns the parts of the plugin protocol with which Options.Protocol is called.
func ProtocolParts() []string {
	return []string{"start", "end", "tls", "services", "frames", "data", "events", "checks", "poison", "nodes", "programs", "errors", "debug", "plane"}
}

// rulesOfPart is the approximate number of rules in a part of the protocol. It determines the time limit of a case.
const rulesOfPart = 10

// protocolCases check that a plugin follows the protocol. Each case checks one part.
func protocolCases() (cases []testCase) {
	for _, part := range ProtocolParts() {
		rule := "a plugin process keeps the part " + part + " of the plugin protocol"
		c := ruled("protocol/"+part, rule, func(ctx context.Context, q *queue) error {
			if q.options.Protocol == nil {
				return skip{"the backend is not a plugin in a separate process"}
			}
			n, err := q.options.Protocol(ctx, part)
			switch {
			case err != nil:
				return err
			case n == 0:
				return skip{fmt.Sprintf("the plugin declares nothing that the part %s of the protocol is about", part)}
			}
			return nil
		})
		c.checks = rulesOfPart
		cases = append(cases, c)
	}
	return cases
}
