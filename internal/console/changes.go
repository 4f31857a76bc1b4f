package console

import (
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/store"
)

// changesBody is what changed since a moment: the lens of a stretch of time.
type changesBody struct {
	Now    time.Time
	Since  time.Time
	Spans  []choice
	Days   []changedDay
	Total  int
	Kinds  []facetValue // by status
	Next   string
	Custom string
}

// changedDay is what changed on a day, the latest first.
type changedDay struct {
	Day  string
	Rows []changedRow
}

type changedRow struct {
	row
	Step step // the last thing that happened to it
}

// spans are the stretches of time that can be chosen.
var spans = []struct {
	name string
	long time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}}

func changesPage(v *visit) error {
	b := changesBody{Now: v.now()}
	chosen := v.text("span")
	if at, err := time.Parse(time.DateOnly, v.text("since")); err == nil {
		b.Since, chosen, b.Custom = at, "", v.text("since")
	} else if chosen == "" {
		chosen = "week"
	}
	for _, s := range spans {
		here := s.name == chosen
		if here {
			b.Since = b.Now.Add(-s.long)
		}
		b.Spans = append(b.Spans, choice{Name: "the last " + s.name, Path: Prefix + "changes?span=" + s.name, Here: here})
	}
	if b.Since.IsZero() {
		return &ken.Error{Code: ken.CodeInvalid, Field: "span", Msg: "there is no such stretch of time", Try: "Use hour, day, week or month, or since with a date such as 2026-03-01."}
	}
	err := v.withStore(func(s store.Engine) error {
		p, err := v.con.claims.Catch(v.ctx(), s)
		if err != nil || !p.Ready {
			return err
		}
		got, err := v.con.claims.Select(s.Owner(), facet.Selection{ChangedSince: b.Since, Order: facet.Updated, Before: v.text("before"), Limit: claimsPerPage, Structural: true})
		if err != nil {
			return err
		}
		b.Total = got.Total
		if got.Next != "" {
			b.Next = with(v.r.URL, "before", got.Next)
		}
		for _, f := range got.Facets {
			if f.Name == facet.Status {
				for _, x := range f.Values {
					b.Kinds = append(b.Kinds, facetValue{Label: x.Value, Count: x.Count})
				}
			}
		}
		return v.changed(s, &b, got.IDs)
	})
	if err != nil {
		return err
	}
	return v.page("changes", page{Title: "What changed", Section: secStore, Tab: "Changes", Live: []string{liveClaims}, Body: b})
}

// changed reads claims with the last thing that happened to each, by day.
func (v *visit) changed(s store.Engine, b *changesBody, ids []string) error {
	rows, err := v.rows(s, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		events, err := s.History(v.ctx(), rows[i].ID)
		if err != nil || len(events) == 0 { // forgotten meanwhile
			continue
		}
		last := steps(events)[0]
		day := last.At.UTC().Format("Monday, 2 January 2006")
		if n := len(b.Days); n == 0 || b.Days[n-1].Day != day {
			b.Days = append(b.Days, changedDay{Day: day})
		}
		d := &b.Days[len(b.Days)-1]
		d.Rows = append(d.Rows, changedRow{rows[i], last})
	}
	return nil
}
