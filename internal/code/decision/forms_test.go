package decision

import (
	"strings"
	"testing"
	"time"
)

// Forms found in public repositories.
func TestParseForms(t *testing.T) {
	t.Run("fields on one line", func(t *testing.T) {
		r, _ := Parse("operations/018-db.md", []byte("# ADR 018: Database Patterns\n\n**Status:** Proposed | **Date:** 2025-07-28\n\n## Context\n\na\n"))
		if r.Status != Proposed || r.StatusText.Text != "Proposed" || r.Date.Format(time.DateOnly) != "2025-07-28" || r.Title.Text != "Database Patterns" {
			t.Error(r.Status, r.StatusText, r.Date, r.Title)
		}
	})
	t.Run("table with an empty head", func(t *testing.T) {
		r, problems := Parse("adr/ODH-ADR-Operator-0008-x.md", []byte("# Open Data Hub - X\n\n|                |            |\n| -------------- |------------|\n| Date           | 2025-04-05 |\n| Status         | Approved   |\n| Authors        | [Ann](@a)  |\n| Supersedes     | N/A        |\n| Superseded by: | N/A        |\n| Tickets        |            |\n| Other docs:    | none       |\n\n## What\n\na\n\n## Why\n\nb\n"))
		if r.ID.Text != "ODH-ADR-Operator-0008" || r.Number != 8 || r.Status != Accepted || len(r.Deciders) != 1 || len(r.Supersedes)+len(r.SupersededBy) > 0 || r.Decision.Text != "a" || r.Context.Text != "b" || len(problems) > 0 {
			t.Errorf("%+v %v", r, problems)
		}
	})
	t.Run("options as sections of their own", func(t *testing.T) {
		r, _ := Parse("adr/0013-x.md", []byte("---\nparent: Decisions\nnav_order: 13\n---\n# Use YAML\n\n## Considered Options\n\n* Use YAML front matter\n* Use plain Markdown everywhere\n\n## Decision Outcome\n\nChosen option: \"Use YAML front matter\", because comes out best (see below).\n\n## Pros and Cons of the Options\n\n## Use YAML front matter\n\nExample:\n\n* Good, because short\n  and clear\n* Bad, because odd\n\n## Use plain markdown everywhere\n\n* Bad, because mixed\n"))
		if len(r.Options) != 2 || !r.Options[0].Chosen || len(r.Options[0].Pros) != 1 || r.Options[0].Pros[0].Text != "short and clear" || len(r.Options[1].Cons) != 1 || r.Options[0].Text != "Example:" {
			t.Errorf("%+v", r.Options)
		}
	})
	t.Run("successors among the links", func(t *testing.T) {
		r, _ := Parse("docs/adr/20201016-slug.md", []byte("# Use the slug\n\n- Status: superseded by [20201029-superseder](20201029-superseder.md)\n- Date: 2020-10-16\n\n## Decision\n\na\n\n## Links\n\n- Supersedes [20200926-number](20200926-number.md)\n- see ADR-0003\n"))
		if r.ID.Text != "20201016-slug" || len(r.Supersedes) != 1 || r.Supersedes[0].Path != "docs/adr/20200926-number.md" || r.Supersedes[0].Partial || r.SupersededBy[0].ID != "20201029-superseder" {
			t.Errorf("%+v %+v", r.Supersedes, r.SupersededBy)
		}
	})
	t.Run("dates with slashes", func(t *testing.T) {
		for text, want := range map[string]string{"25/12/2016": "2016-12-25", "12/25/2016": "2016-12-25", "07/07/2016": "2016-07-07", "07/11/2016": "0001-01-01"} {
			r, problems := Parse("adr/0001-x.md", []byte("# 1. X\n\nDate: "+text+"\n\n## Status\n\nAccepted\n"))
			if r.Date.Format(time.DateOnly) != want || (len(problems) > 0) != r.Date.IsZero() {
				t.Error(text, r.Date, problems)
			}
		}
	})
	t.Run("backstage", func(t *testing.T) {
		r, _ := Parse("docs/adr001-log.md", []byte("---\nid: adrs-adr001\ntitle: 'ADR001: Use a log'\n---\n\n## Status\n\nAccepted\n\n## Context\n\na\n"))
		if r.ID.Text != "ADR-0001" || r.Title.Text != "Use a log" || r.Status != Accepted || r.Context.Text != "a" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("title in a section", func(t *testing.T) {
		r, _ := Parse("adr/0004-x.md", []byte("# Architecture Decision Record (ADR)\n\n## Title\n\nUse a log\n\n## Status\n\nAccepted\n\n## Date\n\n2024-03-05\n\n## Authors\n\n- Ann\n- Bob\n"))
		if r.Title.Text != "Use a log" || r.Date.Day() != 5 || len(r.Deciders) != 2 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("anchor", func(t *testing.T) {
		r, _ := Parse("adr/0001-x.md", []byte("# ADR 1: Use a log {#adr_0001}\n\n## Status {#s}\n\nAccepted\n"))
		if r.Title.Text != "Use a log" || r.Status != Accepted {
			t.Errorf("%+v", r)
		}
	})
}

func TestComments(t *testing.T) {
	for text, want := range map[string]string{
		"a <!-- b --> c <!-- d --> e":  "a" + strings.Repeat(" ", 12) + "c" + strings.Repeat(" ", 12) + "e",
		"a <!-- b --> c <!-- d":        "a            c <!-- d",
		"a <!-- b\nc\nd --> e":         "a \n\n      e",
		"```\n<!-- a -->\n```":         "```\n<!-- a -->\n```",
		"a <!-- b --> c <!-- d\n--> e": "a            c \n    e",
	} {
		lines, _, _ := split([]byte(text))
		var got []string
		for _, l := range withoutComments(lines) {
			got = append(got, l.text)
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}
