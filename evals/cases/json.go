package cases

import "encoding/json"

// MarshalJSON writes what a program needs of a result: where the case stands, and
// what is wrong with it.
func (r Result) MarshalJSON() ([]byte, error) {
	failures, notes := r.Failures, r.Notes
	if failures == nil {
		failures = []Failure{}
	}
	if notes == nil {
		notes = []string{}
	}
	return json.Marshal(struct {
		File     string    `json:"file"`
		Line     int       `json:"line"`
		Name     string    `json:"name"`
		OK       bool      `json:"ok"`
		Mode     string    `json:"mode"`
		Chars    int       `json:"chars"` // of the turn's block
		Failures []Failure `json:"failures"`
		Notes    []string  `json:"notes"`
	}{r.Case.File, r.Case.Line, r.Case.Name, r.OK(), string(r.Receipt.Mode), r.Receipt.Chars, failures, notes})
}
