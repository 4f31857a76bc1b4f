package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
)

const madr4 = `---
# comments stay
id: ADR-0042
status: "accepted"   # since May
date: 2026-05-29
decision-makers: [Ann, "Bob (lead)"]
consulted:
  - Eve
informed: everyone
tags: [store, crash]
governs:
  - internal/rules
  - store.Shelf
supersedes: [ADR-0012]
superseded_by:
ticket: X-7
---

# Use an append-only log

<!-- # not a title -->

## Context and Problem Statement

Writes get lost, see [the report](../report.md) and ADR 0007/0008.

## Decision Drivers

* speed
* no cgo,
  on any system

## Considered Options

* bbolt
* SQLite
* A file of our own

## Decision Outcome

Chosen option: "bbolt", because ` + "`store.Shelf`" + ` needs transactions.

### Consequences

* Good, because it is one file
* Bad, because it grows

### Confirmation

A test kills it.

## Pros and Cons of the Options

### bbolt

[Its page](https://example.org).

* Good, because it is pure Go
* Neutral, because it is old
* Bad, because writers wait

### SQLite

**Pros:**

- known

**Cons:**

- cgo

## Schedule

### Phase 1

Soon.

` + "```\n## not a heading\n```" + `

## More Information

See above.
`

func TestParseMADR4(t *testing.T) {
	r, problems := Parse("docs/decisions/0042-log.md", []byte(madr4))
	if len(problems) > 0 {
		t.Error(problems)
	}
	want := Record{
		Path: "docs/decisions/0042-log.md", Hash: r.Hash, Handle: "ADR-0042", ID: Value{"ADR-0042", 3}, Number: 42, Title: Value{"Use an append-only log", 19},
		Status: Accepted, StatusText: Value{"accepted", 4}, Date: time.Date(2026, 5, 29, 0, 0, 0, 0, time.UTC), DateText: Value{"2026-05-29", 5},
		Deciders: []Value{{"Ann", 6}, {"Bob (lead)", 6}}, Consulted: []Value{{"Eve", 8}}, Informed: []Value{{"everyone", 9}},
		Tags: []Value{{"store", 10}, {"crash", 10}}, Governs: []Value{{"internal/rules", 12}, {"store.Shelf", 13}},
		Context: Value{"Writes get lost, see [the report](../report.md) and ADR 0007/0008.", 23},
		Drivers: []Value{{"speed", 29}, {"no cgo, on any system", 30}},
		Options: []Option{
			{Title: Value{"bbolt", 35}, Text: "[Its page](https://example.org).", Pros: []Value{{"it is pure Go", 58}}, Neutral: []Value{{"it is old", 59}}, Cons: []Value{{"writers wait", 60}}, Chosen: true},
			{Title: Value{"SQLite", 36}, Pros: []Value{{"known", 66}}, Cons: []Value{{"cgo", 70}}},
			{Title: Value{"A file of our own", 37}},
		},
		Decision:     Value{"Chosen option: \"bbolt\", because `store.Shelf` needs transactions.", 39},
		Consequences: Value{"* Good, because it is one file\n* Bad, because it grows", 43},
		Confirmation: Value{"A test kills it.", 48}, More: Value{"See above.", 82},
		Supersedes: []Reference{{Text: "ADR-0012", ID: "ADR-0012", Line: 14}},
		Links:      []Link{{Text: "the report", Target: "../report.md", Line: 25}, {Text: "ADR 0007/0008", ID: "ADR-0007", Line: 25}, {Text: "0008", ID: "ADR-0008", Line: 25}, {Text: "Its page", Target: "https://example.org", Line: 56}},
		Extra:      []Entry{{"ticket", Value{"X-7", 16}}},
	}
	sections := r.Sections
	r.Sections = nil
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, s := range sections {
		got = append(got, strings.Repeat("#", s.Level)+" "+s.Title+" "+string(s.Kind)+" "+digits(s.Line)+"-"+digits(s.End))
	}
	wantSections := []string{"## Context and Problem Statement context 23-25", "## Decision Drivers drivers 27-31", "## Considered Options options 33-37",
		"## Decision Outcome decision 39-50", "### Consequences consequences 43-46", "### Confirmation confirmation 48-50", "## Pros and Cons of the Options pros_and_cons 52-70",
		"### bbolt  54-60", "### SQLite  62-70", "## Schedule  72-80", "### Phase 1  74-80", "## More Information more_information 82-84"}
	if diff := cmp.Diff(wantSections, got); diff != "" {
		t.Error(diff)
	}
	if text := sections[10].Text.Text; text != "Soon.\n\n```\n## not a heading\n```" {
		t.Errorf("%q", text)
	}
}

// Fields in the head are read in the forms that people use.
func TestParseHeads(t *testing.T) {
	for name, tt := range map[string]struct {
		path, text string
		want       string // id, title, status, line of the status, date, deciders, superseded by, supersedes
	}{
		"nygard": {"doc/adr/0012-use-x.md", "# 12. Use X\n\nDate: 2016-02-12\n\n## Status\n\nAccepted\n\nSupersedes [9. Use W](0009-use-w.md)\n\n## Context\n\na\n\n## Decision\n\nb\n\n## Consequences\n\nc\n",
			"ADR-0012|Use X|accepted|7|2016-02-12||| ADR-0009"},
		"nygard superseded": {"doc/adr/0012-use-x.md", "# 12. Use X\n\nDate: 2016-02-12\n\n## Status\n\nSuperceded by [13. Use Y](0013-use-y.md)\n\n## Context\n\na\n",
			"ADR-0012|Use X|superseded|7|2016-02-12|| ADR-0013|"},
		"nygard both": {"doc/adr/0012-use-x.md", "# 12. Use X\n\n## Status\n\nAccepted\n\nSuperseded by [13. Use Y](0013-use-y.md)\n\n## Context\n\na\n",
			"ADR-0012|Use X|superseded|7||| ADR-0013|"},
		"bullets": {"adr/0001-x.md", "# ADR 0001 — Be open\n\n- **Status:** Accepted (2026-05-29) — underway,\n  slice by slice\n- **Deciders:** Ann; Bob\n- **Supersedes / Superseded by:** —\n\n## 1. Context\n\na\n",
			"ADR-0001|Be open|accepted|3|2026-05-29|Ann,Bob||"},
		"bold line": {"adr/0002-x.md", "# 0002: X\n\n**Status**: Superseded by [ADR 0025](./0025-y.md) — gone.\n\n## Context\n\na\n",
			"ADR-0002|X|superseded|3||| ADR-0025|"},
		"plain lines": {"adr/0003-x.md", "# 0003 — X\n\nStatus: superseded by 0009\nDate: 2026-11-21\n\n## Decision\n\na\n", "ADR-0003|X|superseded|3|2026-11-21|| ADR-0009|"},
		"partial":     {"adr/0004-x.md", "# ADR-4: X\n\n* Status: Accepted — supersedes the second half of [ADR 0003](0003-x.md). See ADR 0001.\n\n## Decision\n\na\n", "ADR-0004|X|accepted|3||||~ADR-0003"},
		"table":       {"adr/0005-x.md", "# X\n\n| Status | Rejected |\n|---|---|\n| Date | 3 March 2024 |\n| Deciders | Ann, Bob |\n\n## Decision\n\na\n", "ADR-0005|X|rejected|3|2024-03-03|Ann,Bob||"},
		"columns":     {"adr/0006-x.md", "# X\n\n| Status | Date |\n|---|---|\n| draft | 2024-03-01 |\n\n## Decision\n\na\n", "ADR-0006|X|proposed|5|2024-03-01|||"},
		"setext":      {"adr/0007-x.md", "7. X\n====\n\nStatus\n------\n\nDeprecated\n\nContext\n-------\n\na\n", "ADR-0007|X|deprecated|7||||"},
		"front madr3": {"adr/0008-x.md", "---\nstatus: superseded by [ADR-0005](0005-x.md)\ndate: 2023-01-02\ndeciders: Ann, Bob\n---\n# X\n\n## Decision Outcome\n\na\n", "ADR-0008|X|superseded|2|2023-01-02|Ann,Bob| ADR-0005|"},
		"template":    {"adr/0009-x.md", "---\nstatus: {proposed | rejected | accepted}\n---\n# X\n\n## Decision Outcome\n\na\n", "ADR-0009|X||2||||"},
		"choice":      {"adr/0010-x.md", "# X\n\nStatus: proposed | accepted | superseded by 0000\n\n## Decision\n\na\n", "ADR-0010|X||3||||"},
		"dated":       {"adr/20240102-use-x.md", "# Use X\n\n- Status: accepted\n\n## Decision\n\na\n", "20240102-use-x|Use X|accepted|3||||"},
		"id wins":     {"adr/x.md", "---\nid: adr-7\nstatus: accepted\nsupersedes: 3, 0004\n---\n# 12. X\n\n## Decision\n\na\n", "ADR-0007|X|accepted|3|||| ADR-0003 ADR-0004"},
		"crlf":        {"adr/0011-x.md", "---\r\nstatus: accepted\r\n---\r\n\r\n# X\r\n\r\n## Decision\r\n\r\na\r\nb\r\n", "ADR-0011|X|accepted|2||||"},
		"bom":         {"adr/0012-x.md", "\ufeff---\nstatus: accepted\n---\n# X\n\n## Decision\n\na\n", "ADR-0012|X|accepted|2||||"},
		"emoji":       {"adr/0013-x.md", "# X\n\n**Status:** ✅ Accepted\n\n## Decision\n\na\n", "ADR-0013|X|accepted|3||||"},
		"quote":       {"adr/0014-x.md", "# X\n\n> Status: in review\n> Date: 2024-05-06\n\n## Decision\n\na\n", "ADR-0014|X|proposed|3|2024-05-06|||"},
		"nested":      {"adr/0015-x.md", "# X\n\n* Deciders:\n  * Ann\n  * Bob\n* Status: accepted\n\n## Decision\n\na\n", "ADR-0015|X|accepted|6||Ann Bob||"},
		"words":       {"adr/0016-x.md", "# 3 ways to X\n\nStatus quo: it hurts.\n\n## Status\n\nPartially superseded by ADR-0005\n", "ADR-0016|3 ways to X|accepted|7||||"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := Parse(tt.path, []byte(tt.text))
			date := ""
			if !r.Date.IsZero() {
				date = r.Date.Format(time.DateOnly)
			}
			refs := func(list []Reference) (s string) {
				for _, ref := range list {
					s += map[bool]string{false: " ", true: "~"}[ref.Partial] + ref.ID
				}
				return s
			}
			got := strings.Join([]string{r.ID.Text, r.Title.Text, string(r.Status), digits(r.StatusText.Line), date, strings.Join(texts(r.Deciders), ","), refs(r.SupersededBy), refs(r.Supersedes)}, "|")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseBroken(t *testing.T) {
	utf16 := []byte{0xff, 0xfe}
	for _, c := range "# 12. Use X\n\nStatus: accepted\n\n## Decision\n\nb\n" {
		utf16 = append(utf16, byte(c), 0)
	}
	const rest = "# 12. Use X\n\n## Decision\n\nb\n"
	large := race.Pick(5<<20, maxSource)
	for name, tt := range map[string]struct {
		src    string
		line   int
		says   string
		status Status
	}{
		"tabs":            {"---\nstatus: accepted\ntags:\n\t- a\n---\n" + rest, 4, "YAML", Accepted},
		"anchors":         {"---\nstatus: accepted\na: &a [x]\nb: *a\n---\n" + rest, 3, "anchor", Accepted},
		"endless aliases": {"---\nstatus: accepted\na: &a [x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 1) + "---\n" + rest, 3, "anchor", Accepted},
		"unclosed":        {"---\nstatus: accepted\ndate: 2024-01-01\n\n" + rest, 1, "no end", Accepted},
		"colon":           {"---\nstatus: accepted\ntitle: a: b\n---\n" + rest, 3, "YAML", Accepted},
		"twice":           {"---\nstatus: accepted\nstatus: rejected\n---\n" + rest, 3, "already", Accepted},
		"deep":            {"---\nstatus: accepted\nx: " + strings.Repeat("[", 5000) + "\n---\n" + rest, 2, "nested", Accepted},
		"utf-16":          {string(utf16), 1, "UTF-16", Accepted},
		"latin-1":         {"# 12. Use X\n\nStatus: accepted\n\n## Decision\n\nf\xfcr alle\n", 7, "UTF-8", Accepted},
		"old line ends":   {strings.ReplaceAll("# 12. Use X\n\nStatus: accepted\n\n## Decision\n\nb\n", "\n", "\r"), 1, "carriage return", Accepted},
		"zero bytes":      {"# 12. Use X\n\nStatus: accepted\n\x00\n## Decision\n\nb\n", 4, "zero", Accepted},
		"5 MB":            {"# 12. Use X\n\nStatus: accepted\n\n## Decision\n\nb\n\n" + strings.Repeat("x ü y\n", large/7), 0, "bytes", Accepted},
		"one line":        {"# 12. Use X\n\nStatus: accepted\n\n## Decision\n\n" + strings.Repeat("[", large), 0, "bytes", Accepted},
		"unknown status":  {"# 12. Use X\n\nStatus: whatever\n\n## Decision\n\nb\n", 3, "unknown status", Unknown},
		"two numbers":     {"# 13. Use X\n\nStatus: accepted\n\n## Decision\n\nb\n", 1, "number 13", Accepted},
		"two statuses":    {"---\nstatus: accepted\n---\n# 12. Use X\n\nStatus: rejected\n\n## Decision\n\nb\n", 2, "two statuses", Accepted},
		"no status":       {rest, 0, "no status", Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			r, problems := Parse("adr/0012-use-x.md", []byte(tt.src))
			if r.Status != tt.status || r.Title.Text != "Use X" || r.Number != 12 || !r.Decision.Found() {
				t.Errorf("not all was read: %q, %q, %q", r.Status, r.Title.Text, analysis.Clip(r.Decision.Text, 50))
			}
			found := false
			for _, p := range problems {
				if strings.Contains(p.Text, tt.says) && !found {
					found = true
					if tt.line > 0 && p.Line != tt.line || p.Try == "" || p.Path == "" {
						t.Errorf("%+v, want line %d", p, tt.line)
					}
				}
			}
			if !found {
				t.Errorf("no problem says %q: %v", tt.says, problems)
			}
		})
	}
}
