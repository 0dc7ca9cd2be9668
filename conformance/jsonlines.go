package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// row is a result in the JSON lines of a report.
type row struct {
	ID       string    `json:"id"`
	Status   Status    `json:"status"`
	Op       string    `json:"op,omitempty"`
	Type     string    `json:"type,omitempty"`
	Profiles []Profile `json:"profiles,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Minimal  *Minimal  `json:"minimal,omitempty"`
	Seconds  float64   `json:"seconds"`
}

// WriteJSON writes one JSON object per case, each on a line.
func (r *Report) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	unit := time.Microsecond
	if r.Lean {
		unit = 10 * time.Millisecond
	}
	for i := range r.Results {
		x := &r.Results[i]
		l := row{ID: x.ID, Status: x.Status, Op: x.Op, Profiles: x.Profiles, Reason: x.Reason, Minimal: x.Minimal,
			Seconds: x.Duration.Round(unit).Seconds()}
		if x.Op != "" {
			l.Type = x.Type.String()
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return b.Flush()
}

// readJSON is the inverse of WriteJSON.
func readJSON(data []byte) ([]row, error) {
	var rows []row
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var l row
		err := d.Decode(&l)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", len(rows)+1, err)
		}
		rows = append(rows, l)
	}
}
