package metric

import (
	"encoding/json"
	"math"
	"strconv"
)

// Number is a float64 that can be encoded in JSON even if it is not finite, as "NaN", "+Inf" or "-Inf".
type Number float64

// MarshalJSON writes a number or a string.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(v, 'g', -1, 64)), nil
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads a number or a string.
func (n *Number) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		v, err := strconv.ParseFloat(s, 64)
		*n = Number(v)
		return err
	}
	return json.Unmarshal(b, (*float64)(n))
}
