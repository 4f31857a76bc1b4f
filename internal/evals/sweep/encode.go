package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// MarshalJSON encodes NaN as null, and numbers with six digits.
func (c Column) MarshalJSON() ([]byte, error) {
	list := make([]*float64, len(c))
	for i, v := range c {
		if !math.IsNaN(v) {
			v = round(v, 6)
			list[i] = &v
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON decodes null as NaN.
func (c *Column) UnmarshalJSON(b []byte) error {
	var list []*float64
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*c = make(Column, len(list))
	for i, v := range list {
		(*c)[i] = math.NaN()
		if v != nil {
			(*c)[i] = *v
		}
	}
	return nil
}

// MarshalJSON encodes the values as separate fields, in a fixed order.
func (s Score) MarshalJSON() ([]byte, error) {
	b := fields{}
	for _, m := range measures {
		if v, ok := s.Values[m.Name]; ok {
			b.add(m.Name, round(v, 6))
		}
	}
	for _, name := range plain {
		if v, ok := s.Values[name]; ok {
			b.add(name, round(v, 3))
		}
	}
	ci := fields{}
	for _, m := range measures {
		if v, ok := s.CI[m.Name]; ok {
			ci.add(m.Name, [2]float64{round(v[0], 6), round(v[1], 6)})
		}
	}
	b.add("ci", json.RawMessage(ci.object()))
	if len(s.Settings) > 0 {
		b.add("settings", s.Settings)
	}
	if s.Degraded != "" {
		b.add("degraded", s.Degraded)
	}
	return b.object(), nil
}

// plain lists the values that are not measures.
var plain = []string{"queries", "no_answer", "block_chars", "timed", "p50_ms", "p99_ms"}

// UnmarshalJSON decodes what MarshalJSON encodes, and ignores unknown fields.
func (s *Score) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*s = Score{Values: map[string]float64{}, CI: map[string][2]float64{}}
	for name, raw := range all {
		var err error
		switch name {
		case "ci":
			err = json.Unmarshal(raw, &s.CI)
		case "settings":
			err = json.Unmarshal(raw, &s.Settings)
		case "degraded":
			err = json.Unmarshal(raw, &s.Degraded)
		default:
			var v float64
			if json.Unmarshal(raw, &v) == nil {
				s.Values[name] = v
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// MarshalJSON encodes n and a field for each mode.
func (c Category) MarshalJSON() ([]byte, error) {
	b := fields{}
	b.add("n", c.N)
	for _, name := range sorted(c.Modes) {
		b.add(name, c.Modes[name])
	}
	return b.object(), nil
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (c *Category) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	c.Modes = map[string]Score{}
	for name, raw := range all {
		if name == "n" {
			if err := json.Unmarshal(raw, &c.N); err != nil {
				return fmt.Errorf("n: %w", err)
			}
			continue
		}
		var s Score
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.Modes[name] = s
	}
	return nil
}

// fields builds a JSON object whose fields keep their order.
type fields struct{ b bytes.Buffer }

func (f *fields) add(name string, v any) {
	if f.b.Len() > 0 {
		f.b.WriteByte(',')
	}
	key, _ := json.Marshal(name) // a string can always be encoded
	val, _ := json.Marshal(v)    // json.Marshal finds fault with the object if this fails
	f.b.Write(key)
	f.b.WriteByte(':')
	f.b.Write(val)
}

func (f *fields) object() []byte { return append(append([]byte{'{'}, f.b.Bytes()...), '}') }

func sorted[V any](m map[string]V) []string {
	names := slices.AppendSeq([]string{}, maps.Keys(m))
	slices.Sort(names)
	return names
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}

// interval matches a pair of numbers that is spread over four lines.
var interval = lazyregexp.New(`\[\s+(-?[0-9.e-]+),\s+(-?[0-9.e-]+)\s+\]`)

// Write writes the report as indented JSON. Each column of PerQuery, which comes last,
// is on one line.
func (r *Report) Write(w io.Writer) error {
	head := *r
	head.PerQuery = nil
	b, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	b = interval.ReplaceAll(b, []byte("[$1, $2]"))
	if r.PerQuery != nil {
		b = append(bytes.TrimSuffix(b, []byte("\n}")), ",\n  \"per_query\": "...)
		columns, err := r.PerQuery.lines()
		if err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
		b = append(append(b, columns...), "\n}"...)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (p *PerQuery) lines() ([]byte, error) {
	var b bytes.Buffer
	var failed error
	put := func(indent, name string, v any) {
		val, err := json.Marshal(v)
		if err != nil {
			failed = err
		}
		key, _ := json.Marshal(name) // a string can always be encoded
		fmt.Fprintf(&b, "%s%s: %s", indent, key, val)
	}
	b.WriteString("{\n")
	put("    ", "ids", p.IDs)
	b.WriteString(",\n")
	put("    ", "categories", p.Categories)
	b.WriteString(",\n    \"modes\": {")
	for i, mode := range sorted(p.Modes) {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(mode) // a string can always be encoded
		fmt.Fprintf(&b, "\n      %s: {", key)
		for j, name := range sorted(p.Modes[mode]) {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			put("        ", name, p.Modes[mode][name])
		}
		b.WriteString("\n      }")
	}
	b.WriteString("\n    }\n  }")
	return b.Bytes(), failed
}

// ReadAll reads one report, or a list of those of several sets. Anything else is ErrInvalid.
func ReadAll(rd io.Reader) ([]*Report, error) {
	var all json.RawMessage
	if err := json.NewDecoder(rd).Decode(&all); err != nil {
		return nil, notReport(err)
	}
	list := []json.RawMessage{all}
	if all[0] == '[' {
		if err := json.Unmarshal(all, &list); err != nil || len(list) == 0 {
			return nil, notReport(err)
		}
	}
	var out []*Report
	for _, raw := range list {
		r, err := Read(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func notReport(err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: "not a report of ken eval sweep --json", Err: err, Try: "Write one with ken eval sweep --json."}
}

// Read reads a report that Write wrote. Anything else is ErrInvalid.
func Read(rd io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(rd).Decode(&r); err != nil {
		return nil, notReport(err)
	}
	if len(r.Modes) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "modes", Msg: "not a report of ken eval sweep --json", Try: "Write one with ken eval sweep --json."}
	}
	if r.PerQuery == nil {
		return &r, nil
	}
	for mode, columns := range r.PerQuery.Modes {
		for name, c := range columns {
			if n := len(r.PerQuery.IDs); len(c) != n {
				return nil, &ken.Error{Code: ken.CodeInvalid, Field: "per_query.modes." + mode + "." + name,
					Msg: fmt.Sprintf("%d values for %d questions", len(c), n), Try: "Use the report as it was written."}
			}
		}
	}
	return &r, nil
}

// KeptDir is the folder of the reports that a project keeps, inside its state folder.
// Each is a file NAME.json, as Report.Write writes it.
const KeptDir = "sweeps"

// MaxKeptName is the maximum length of a kept report's name, in bytes.
const MaxKeptName = 80

// KeptPath returns the path of a kept report in a project's state folder. A name
// consists of letters, digits, dots, dashes and underscores, and starts with a letter or
// digit; any other is ErrInvalid.
func KeptPath(state, name string) (string, error) {
	if !keptName.MatchString(name) {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "keep", Msg: fmt.Sprintf("%q is no name for a report", name),
			Try: fmt.Sprintf("Use letters, digits, dots and dashes, such as before-floor, %d at most.", MaxKeptName)}
	}
	return filepath.Join(state, KeptDir, name+".json"), nil
}

// KeptName derives the name of a kept report from any text, such as a data set's name.
func KeptName(text string) string {
	name := strings.TrimLeft(notKept.ReplaceAllString(text, "-"), "._-")
	return name[:min(len(name), MaxKeptName)]
}

var (
	keptName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`) // of at most MaxKeptName bytes
	notKept  = lazyregexp.New(`[^A-Za-z0-9._-]`)
)
