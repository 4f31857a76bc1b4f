package retriever

import (
	"testing"
	"time"

	"github.com/kenlayer/ken/store"
)

func TestPeriods(t *testing.T) {
	now := time.Date(2024, time.March, 14, 15, 0, 0, 0, time.UTC) // a Thursday
	at := func(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 12, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		question string
		at       time.Time
		want     float64
	}{
		{"Where did Joanna travel to in July 2022?", at(2022, 7, 3), 1},
		{"Where did Joanna travel to in July 2022?", at(2023, 7, 3), 0},
		{"What happened in July?", at(2023, 7, 3), 1},
		{"What happened in July?", at(2023, 8, 3), 0},
		{"What movie did she watch on 1 May, 2022?", at(2022, 5, 1), 1},
		{"What movie did she watch on 1 May, 2022?", at(2022, 5, 9), 0.5},
		{"What did she share on October 13th?", at(2023, 10, 13), 1},
		{"the 2nd of June", at(2023, 6, 2), 1},
		{"the meeting on 2024-03-01", at(2024, 3, 1), 1},
		{"What was decided in 2021?", at(2021, 3, 1), 0.3},
		{"What was decided in 2021?", at(2022, 3, 1), 0},
		{"May I deploy it?", at(2023, 5, 1), 0},
		{"It may work", at(2023, 5, 1), 0},
		{"since may", at(2023, 5, 1), 1},
		{"What did I do yesterday?", at(2024, 3, 13), 1},
		{"What did I do yesterday?", at(2024, 3, 14), 0},
		{"what did we decide last week", at(2024, 3, 4), 1},
		{"what did we decide last week", at(2024, 3, 11), 0},
		{"what changed this week", at(2024, 3, 11), 1},
		{"what changed last month", at(2024, 2, 29), 1},
		{"what changed last year", at(2023, 1, 1), 1},
		{"at last", at(2023, 1, 1), 0},
		{"port 8080 or 404", at(2023, 1, 1), 0},
		{"What happened in July?", time.Time{}, 0},
	} {
		best := 0.0
		for _, p := range periods(tt.question, now) {
			best = max(best, p.holds(tt.at))
		}
		if best != tt.want {
			t.Errorf("%s: %v on %s, want %v", tt.question, best, tt.at.Format(time.DateOnly), tt.want)
		}
	}
	if got := periods("yesterday", time.Time{}); got != nil {
		t.Errorf("without a now: %+v", got)
	}
}

// A date in the question does not count against a record without a date.
func TestDatesDoNotLowerTheShare(t *testing.T) {
	res := store.Result{Terms: []string{"travel", "juli", "2022"}, Values: []float32{0.3, 0.3, 0.4},
		Hits: []store.Hit{{Ref: 1, Share: 0.3, Parts: []float32{2, 0, 0}}, {Ref: 2, Share: 0.4, Parts: []float32{0, 0, 3}}}}
	got := withoutDates(res, "Where did she travel to in July 2022?")
	if a, b := got.Hits[0].Share, got.Hits[1].Share; a < 0.99 || b != 0 || got.Values[0] < 0.99 {
		t.Errorf("shares %v and %v of %v", a, b, got.Values)
	}
	if res.Values[1] != 0.3 || res.Hits[0].Share != 0.3 {
		t.Error("the leg's own answer changed")
	}
	if got := withoutDates(res, "Where did she travel?"); got.Hits[0].Share != 0.3 {
		t.Errorf("without a date: %+v", got)
	}
	res.Values = []float32{0.1, 0.4, 0.5}
	if got := withoutDates(res, "travel July 2022"); got.Hits[0].Share != 0.3 {
		t.Errorf("a question of nothing but a date: %+v", got)
	}
}

func FuzzPeriods(f *testing.F) {
	f.Add("on 1 May, 2022 and last week, 2023-01-02")
	f.Fuzz(func(t *testing.T, question string) {
		for _, p := range periods(question, time.Unix(1e9, 0)) {
			if h := p.holds(time.Unix(1e9, 0)); h < 0 || h > 1 {
				t.Errorf("%+v holds %v", p, h)
			}
		}
	})
}
