package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTicksAreRoundAndCoverTheRange(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{0, 1, []float64{0, .25, .5, .75, 1}}, {0, 87, []float64{0, 25, 50, 75, 100}}, {0, 0, []float64{0, .25, .5, .75, 1}}, {-3, 9, []float64{-5, 0, 5, 10}},
	} {
		if diff := cmp.Diff(c.want, ticks(c.low, c.high, 4)); diff != "" {
			t.Errorf("%g to %g: %s", c.low, c.high, diff)
		}
	}
	for _, high := range []float64{1e-9, .3, 7, 1e6, math.MaxFloat64, math.Inf(1)} {
		got := ticks(0, high, 4)
		if len(got) < 2 || len(got) > 8 || got[len(got)-1] < bounded(high)*.999 || !slices.IsSorted(got) {
			t.Errorf("to %g: %v", high, got)
		}
	}
}

func TestDecades(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{5, 138, []float64{5, 10, 20, 50, 100, 200}}, {1, 1, []float64{1, 2}}, {3, 4, []float64{2, 5}}, {1, 1e6, []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}},
	} {
		if diff := cmp.Diff(c.want, decades(c.low, c.high)); diff != "" {
			t.Errorf("%g to %g: %s", c.low, c.high, diff)
		}
	}
}

func TestTimeTicksAreRoundWhereTheReaderIs(t *testing.T) {
	// Half an hour off UTC, as some places are.
	place := time.FixedZone("half", 5*3600+1800)
	for _, c := range []struct {
		name string
		span time.Duration
		loc  *time.Location
		want string
	}{
		{"minutes", 20 * time.Minute, time.UTC, "8 Mar 12:00|12:05|12:10|12:15|12:20"},
		{"hours", 5 * time.Hour, time.UTC, "8 Mar 12:00|13:00|14:00|15:00|16:00|17:00"},
		{"elsewhere", 5 * time.Hour, place, "8 Mar 18:00|19:00|20:00|21:00|22:00"},
		{"a day", 30 * time.Hour, time.UTC, "8 Mar 12:00|18:00|9 Mar|06:00|12:00|18:00"},
		{"days", 4 * 24 * time.Hour, time.UTC, "9 Mar|10 Mar|11 Mar|12 Mar"},
		{"months", 150 * 24 * time.Hour, time.UTC, "Apr 2031|May 2031|Jun 2031|Jul 2031|Aug 2031"},
		{"years", 5 * 366 * 24 * time.Hour, time.UTC, "Jan 2032|Jan 2033|Jan 2034|Jan 2035|Jan 2036"},
		{"nothing", 0, time.UTC, "8 Mar 12:00"},
	} {
		var got []string
		for _, tick := range timeTicks(noon.In(c.loc), noon.Add(c.span), 5) {
			got = append(got, tick.label)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

func TestLabelsAreSpreadInTheirOrder(t *testing.T) {
	places := []float64{10, 11, 12, 95, 99}
	spread(places, 14, 0, 100)
	if diff := cmp.Diff([]float64{10, 24, 38, 86, 100}, places); diff != "" {
		t.Error(diff)
	}
}
