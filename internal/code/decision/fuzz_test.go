package decision

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks every file: no panic, problems have existing lines, and an edit of the status succeeds or is
// refused.
func FuzzParse(f *testing.F) {
	f.Add("docs/adr/0042-x.md", []byte(madr4))
	f.Add("doc/adr/0001-x.md", []byte(one1))
	for _, form := range statusForms {
		f.Add("adr/0001-a.md", []byte(form[0]+body))
		f.Add("adr/1.md", []byte(strings.ReplaceAll(form[0]+body, "\n", "\r\n")))
	}
	f.Add("a/archive/x.md", []byte("# 1. X\n\n## Options\n\n| Option | Pros | Cons |\n|---|---|---|\n| a | b | c |\n\n- **x** — y\n  - Pros:\n  - z\n"))
	f.Fuzz(func(t *testing.T, path string, src []byte) {
		d := parse(path, src)
		most := len(d.lines) + 1
		line := func(what string, n int) {
			if n < 0 || n > most {
				t.Errorf("%s is on line %d of %d", what, n, len(d.lines))
			}
		}
		for _, v := range []Value{d.ID, d.Title, d.StatusText, d.DateText, d.Preamble, d.Context, d.Decision, d.Consequences, d.Confirmation, d.More} {
			line(v.Text, v.Line)
		}
		for _, list := range [][]Value{d.Deciders, d.Tags, d.Governs, d.Drivers} {
			for _, v := range list {
				line(v.Text, v.Line)
				if v.Line == 0 || v.Text == "" {
					t.Errorf("%+v", v)
				}
			}
		}
		at := 0
		for _, s := range d.Sections {
			if line(s.Title, s.Line); s.Line < at || s.End > most || s.Level < 1 || s.Level > 6 {
				t.Errorf("%+v after line %d", s, at)
			}
			at = s.Line
		}
		for _, p := range d.problems {
			if line(p.Text, p.Line); p.Text == "" || p.Try == "" {
				t.Errorf("%+v", p)
			}
		}
		for _, target := range Targets(d.Record) {
			line(target.Name, target.Line)
		}
		if c, err := Claim(d.Record); err == nil && !utf8.ValidString(c.Text) {
			t.Errorf("%q", c.Text)
		}
		for _, to := range Statuses() {
			var by *pointer
			if to == Superseded {
				by = &pointer{"ADR-0999", "[ADR-0999](0999-z.md)"}
			}
			c, err := d.statusChange(to, by)
			if err != nil {
				continue
			}
			if after := parse(path, c.Now); after.Status != to || bytes.Equal(c.Now, src) && d.Status != to {
				t.Errorf("%s: %q became %q", to, src, c.Now)
			}
		}
		if edits, err := d.listEdits(meansSupersedes, "Supersedes", pointer{"ADR-0999", "[ADR-0999](0999-z.md)"}); err == nil {
			applyEdits(src, edits)
		}
		relink(d, func(string) string { return "elsewhere.md" })
	})
}

// FuzzParseExchange checks that parsed JSON can be written as a record, or is refused with an error.
func FuzzParseExchange(f *testing.F) {
	f.Add([]byte(`{"id":"ADR-0042","title":"x","status":"Accepted","decision":"y","alternatives":["a",{"title":"b"}],"consequences":["c"],"governs":"d"}`))
	f.Add([]byte(`{"Title":"x","Context":null,"SupersededBy":[1]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		x, err := ParseExchange(src)
		if err != nil {
			return
		}
		d := Draft{Title: x.Title, Status: Accepted, Date: today(), Context: x.Context, Decision: x.Decision, Consequences: x.Consequences, Tags: x.Tags, Governs: x.Governs, Options: x.Alternatives}
		if d.validate() != nil {
			return
		}
		got := parse("adr/0001-x.md", d.render("ADR-0001"))
		if got.ID.Text != "ADR-0001" || got.Status != Accepted {
			t.Errorf("%q", d.render("ADR-0001"))
		}
	})
}
