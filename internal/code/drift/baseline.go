package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// DefaultBaseline is the path of the baseline, from the project's root.
const DefaultBaseline = ".ken/architecture.baseline.json"

// baselineVersion increases if an older program would misread the file.
const baselineVersion = 1

// Entry is a violation in a baseline. All fields except the fingerprint are only for people.
type Entry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        Rule   `json:"rule"`
	File        string `json:"file"`
	Import      string `json:"import,omitempty"`
	Layer       string `json:"layer,omitempty"`
	ImportLayer string `json:"import_layer,omitempty"`
}

// describeFixed describes the violation that no longer exists.
func (e *Entry) describeFixed() string {
	if e.Rule == RuleUnassigned {
		return e.File + " is no longer without a layer"
	}
	return e.File + " no longer imports " + importName(e.Import)
}

// target describes the violation as the target of a check.
func (e *Entry) target() string { return target(e.Rule, e.File, e.Import) }

// Baseline lists the violations that a team has accepted.
type Baseline struct {
	Entries []Entry // by file, import and rule
	known   map[string]bool
}

func (b *Baseline) has(fingerprint string) bool { return b != nil && b.known[fingerprint] }

// NewBaseline makes a baseline of all violations in a report, new and known ones. Fixed ones are left out.
func NewBaseline(r *Report) *Baseline {
	b := &Baseline{Entries: []Entry{}, known: map[string]bool{}}
	for _, v := range slices.Concat(r.Violations, r.Known) {
		b.add(Entry{v.Fingerprint, v.Rule, v.File, v.Import, v.Layer, v.ImportLayer})
	}
	slices.SortFunc(b.Entries, func(x, y Entry) int {
		return strings.Compare(x.File+"\x00"+x.Import+"\x00"+string(x.Rule), y.File+"\x00"+y.Import+"\x00"+string(y.Rule))
	})
	return b
}

func (b *Baseline) add(e Entry) {
	if !b.known[e.Fingerprint] {
		b.known[e.Fingerprint] = true
		b.Entries = append(b.Entries, e)
	}
}

// ParseBaseline parses the output of JSON. path appears in errors, which are ken.ErrInvalid.
func ParseBaseline(path string, text []byte) (*Baseline, error) {
	broken := func(msg string, cause error) error {
		return &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: msg, Err: cause, Try: "Restore the file, or remove it and run ken drift --update-baseline."}
	}
	if strings.Contains(string(text), "\n<<<<<<< ") {
		return nil, broken("has an unresolved merge conflict", nil)
	}
	var doc struct {
		Version    int     `json:"version"`
		Violations []Entry `json:"violations"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, broken("is not a baseline", err)
	}
	if doc.Version != baselineVersion {
		return nil, broken(fmt.Sprintf("has version %d; this program reads version %d", doc.Version, baselineVersion), nil)
	}
	b := &Baseline{known: map[string]bool{}}
	for i, e := range doc.Violations {
		if e.Fingerprint == "" {
			return nil, broken(fmt.Sprintf("has no fingerprint in entry %d", i+1), nil)
		}
		b.add(e)
	}
	return b, nil
}

// JSON returns the baseline with one line per violation, so a change of one violation changes one line.
func (b *Baseline) JSON() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "{\n  \"version\": %d,\n  \"violations\": [", baselineVersion)
	for i, e := range b.Entries {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    " + compactJSON(e))
	}
	if len(b.Entries) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	return []byte(out.String())
}

// compactJSON returns JSON on one line, without escapes for HTML.
func compactJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // strings and numbers can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
