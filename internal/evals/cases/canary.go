package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// canaries searches for texts that must not occur anywhere: in what the model gets, in
// the receipt, in what any leg finds for the question or for the canary itself, in the
// owner's export. Each place is reported once.
func (e *examiner) canaries(ctx context.Context) {
	if len(e.c.Want.Canaries) == 0 {
		return
	}
	receipts := make([][]byte, 0, len(e.out.earlier)+1)
	for _, r := range append(slices.Clone(e.out.earlier), e.out.receipt) {
		raw, err := json.Marshal(r)
		e.keep(err)
		receipts = append(receipts, raw)
	}
	e.keep(e.export(ctx))
	asked := e.search(ctx, e.s, e.c.Messages[lastUser(e.c.Messages)].Text, e.out.signals())
	for _, canary := range e.c.Want.Canaries {
		m := Matcher{Text: canary}
		var have []string
		if where := m.where(e.out.text); where != "" {
			have = append(have, where)
		}
		for i, r := range receipts {
			if path := m.path(r); path != "" {
				have = append(have, fmt.Sprintf("in the receipt of request %d: %s", i+1, path))
				break
			}
		}
		direct := e.search(ctx, e.s, canary, nil)
		have = append(have, m.hits("for the question", asked)...)
		have = append(have, m.hits("for the canary itself", direct)...)
		if path := e.f.exported[e.owner+"\x00"+canary]; path != "" {
			have = append(have, "in the export: "+path)
		}
		if len(have) == 0 {
			continue
		}
		try := "Forget the claim that has it (ken forget), or the file of the repository."
		for _, msg := range e.c.Messages {
			if m.in(msg.Text) {
				try = "The conversation itself has it; ask without it, if that is all."
			}
		}
		e.fail("canaries", fmt.Sprintf("%q nowhere", canary), try, have...)
	}
}

// export searches for the canaries in the owner's claims and their histories as ken
// export writes them, once for all cases of the fixture.
func (e *examiner) export(ctx context.Context) error {
	var fresh []string
	for _, canary := range e.c.Want.Canaries {
		key := e.owner + "\x00" + canary
		if _, done := e.f.exported[key]; !done {
			e.f.exported[key] = ""
			fresh = append(fresh, canary)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	for c, err := range e.s.Claims(ctx) {
		if err != nil {
			return err
		}
		history, err := e.s.History(ctx, c.ID)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := jsonl.Write(&b, c, history); err != nil {
			return err
		}
		for _, canary := range fresh {
			m, key := Matcher{Text: canary}, e.owner+"\x00"+canary
			if e.f.exported[key] == "" {
				if path := m.path(b.Bytes()); path != "" {
					e.f.exported[key] = fmt.Sprintf("%s of %s", path, shortID(c.ID))
				}
			}
		}
	}
	return nil
}

// hits returns the legs that found a claim with the text.
func (m *Matcher) hits(what string, found map[string][]ken.Claim) (have []string) {
	for _, leg := range slices.Sorted(maps.Keys(found)) {
		for i := range found[leg] {
			raw, err := json.Marshal(&found[leg][i])
			if err == nil && m.path(raw) != "" {
				c := &found[leg][i]
				have = append(have, fmt.Sprintf("%s, the %s leg finds %s, in its %s", what, leg, name(c.ID, ""), m.path(raw)))
				break
			}
		}
	}
	return have
}

// path returns the path of the first string in a JSON value that contains the text, and
// "" when none does. Strings are compared decoded. The field names inside a body are
// searched too.
func (m *Matcher) path(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return ""
	}
	path, _ := m.walk(nil, v)
	return strings.Join(path, ".")
}

func (m *Matcher) walk(path []string, v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return path, m.in(v)
	case []any:
		for i, x := range v {
			if p, ok := m.walk(append(slices.Clone(path), fmt.Sprint(i)), x); ok {
				return p, true
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			p := append(slices.Clone(path), k)
			if slices.Contains(path, "body") && m.in(k) { // other names are not data
				return p, true
			}
			if p, ok := m.walk(p, v[k]); ok {
				return p, true
			}
		}
	}
	return nil, false
}

// The JUnit format as CI systems read it, with a suite for each file.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []*junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     string   `xml:"time,attr"`
		Cases    []junitCase

		elapsed time.Duration
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"` // seconds
		Failure *junitFailure // a case has at most one
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		XMLName xml.Name `xml:"failure"`
		Message string   `xml:"message,attr"`
		Type    string   `xml:"type,attr"` // the first expectation that was not met
		Text    string   `xml:",cdata"`
	}
)

// WriteJUnit writes the results as JUnit XML, for CI systems.
func WriteJUnit(w io.Writer, results []Result) error {
	all := junitSuites{}
	suites := map[string]*junitSuite{}
	var total time.Duration
	for i := range results {
		r := &results[i]
		s := suites[r.Case.File]
		if s == nil {
			s = &junitSuite{Name: r.Case.File}
			suites[r.Case.File] = s
			all.Suites = append(all.Suites, s)
		}
		c := junitCase{Name: r.Case.Name, Class: r.Case.File, File: r.Case.File, Line: r.Case.Line, Time: seconds(r.Elapsed),
			Out: strings.Join(r.Notes, "\n")}
		if !r.OK() {
			f := r.Failures[0]
			c.Failure = &junitFailure{Message: f.Check + ": want " + f.Want, Type: f.Check, Text: "\n" + r.Explain("")}
			s.Failures++
			all.Failures++
		}
		s.Cases = append(s.Cases, c)
		s.elapsed += r.Elapsed
		s.Tests++
		all.Tests++
		total += r.Elapsed
		s.Time = seconds(s.elapsed)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
