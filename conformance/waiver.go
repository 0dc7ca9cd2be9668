package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Waiver excuses one case that must be passed, for a limited time.
type Waiver struct {
	Case    string `json:"case"`    // id
	Issue   string `json:"issue"`   // address of the report of the fault
	Owner   string `json:"owner"`   // who repairs it
	Expires string `json:"expires"` // YYYY-MM-DD, the last day
	Reason  string `json:"reason"`
}

// longestWaiver bounds the time until a waiver expires.
const longestWaiver = 180 * 24 * time.Hour

// ParseWaivers reads a JSON list of waivers. All fields are required. None may expire more than 180 days after now.
func ParseWaivers(data []byte, now time.Time) ([]Waiver, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var l []Waiver
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("conformance: waivers: %w", err)
	}
	seen := map[string]bool{}
	for i, w := range l {
		fault := ""
		until, err := time.Parse(time.DateOnly, w.Expires)
		switch {
		case w.Case == "" || w.Owner == "" || w.Reason == "":
			fault = "want case, owner and reason"
		case !strings.HasPrefix(w.Issue, "https://"):
			fault = fmt.Sprintf("issue %q, want an address with https://", w.Issue)
		case err != nil:
			fault = fmt.Sprintf("expires %q, want YYYY-MM-DD", w.Expires)
		case until.After(now.Add(longestWaiver)):
			fault = fmt.Sprintf("it expires on %s, more than 180 days ahead", w.Expires)
		case seen[w.Case]:
			fault = "the case is listed twice"
		}
		if fault != "" {
			return nil, fmt.Errorf("conformance: waiver %d of %q: %s", i+1, w.Case, fault)
		}
		seen[w.Case] = true
	}
	return l, nil
}

// expired reports whether the last day of w is over, in UTC.
func (w *Waiver) expired(now time.Time) bool { return now.UTC().Format(time.DateOnly) > w.Expires }
