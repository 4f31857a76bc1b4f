package console

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/ledger"
)

// stretch is how far back the charts look, and in which steps.
type stretch struct {
	Name, Title string
	Span, Step  time.Duration // a zero Span is all that is kept
}

// stretches are those that can be chosen; the second is what a page begins with.
var stretches = []stretch{
	{"hour", "the last hour", time.Hour, 2 * time.Minute},
	{"day", "the last day", 24 * time.Hour, 30 * time.Minute},
	{"week", "the last week", 7 * 24 * time.Hour, 4 * time.Hour},
	{"all", "all that is kept", 0, 0},
}

// bucketSteps are the widths of a bucket where the stretch is as long as what is kept.
var bucketSteps = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	7 * 24 * time.Hour, 28 * 24 * time.Hour}

const (
	mostBuckets = 48   // of a chart
	mostCauses  = 6    // that are listed
	mostAsked   = 2000 // turns that are asked for their cause, the newest
	mostStages  = 6    // that have a line
)

// stretchOf is the one that an address asks for.
func stretchOf(name string) stretch {
	for _, s := range stretches {
		if s.Name == name {
			return s
		}
	}
	return stretches[1]
}

// lately is what turns of a stretch of time come to.
type lately struct {
	stretch
	Series []ledger.Bucket
	Whole  ledger.Bucket
	Causes []causeCount
	Asked  int // turns that Causes were counted among
	Failed int // of these, turns of which a stage failed or was left out
	Unread []string

	latest string // the newest turn
	to     time.Time
}

// causeCount is why turns ran with less than was configured.
type causeCount struct {
	Cause string
	Mode  ken.Mode
	Turns int
	Last  time.Time
	Path  string // of these turns
}

// latelyLasts is after how long it is looked whether there are new turns.
const latelyLasts = time.Second

// latelyKey is whose turns, and of which stretch.
type latelyKey struct{ owner, stretch string }

// lately is what the visitor's owner's turns come to; nil while that is found out for
// the first time.
func (v *visit) lately(s stretch) *lately {
	owner := v.owner()
	return v.con.health.lately.get(v, latelyKey{owner, s.Name}, newerThan[lately](v.con, latelyLasts), func(ctx context.Context, before *lately) *lately {
		return v.con.sum(ctx, owner, s, before)
	})
}

// sum brings the ledger up to date and sums it up. Where nothing has changed it is what
// it was before.
func (c *Console) sum(ctx context.Context, owner string, s stretch, before *lately) *lately {
	out := &lately{stretch: s}
	if err := c.turns.Catch(ctx, owner, c.l.Receipts(owner)); err != nil {
		if ctx.Err() != nil {
			return before
		}
		out.Unread = append(out.Unread, err.Error())
		if !errors.Is(err, ken.ErrCorrupt) {
			return out
		}
	}
	now := c.o.Now()
	from := now.Add(-s.Span)
	if s.Span == 0 {
		oldest, ok := c.turns.Oldest(owner)
		if !ok {
			oldest = now
		}
		from = oldest
		out.Step = stepFor(now.Sub(from))
	}
	// Buckets begin at round times, so that a turn stays in the one that it was in.
	from, out.to = from.Truncate(out.Step), now.Truncate(out.Step).Add(out.Step)
	if s.Span > 0 {
		from = from.Add(out.Step)
	}
	out.latest, _, _ = c.turns.Latest(owner)
	if before != nil && before.latest == out.latest && before.to.Equal(out.to) && len(before.Unread) == 0 && len(out.Unread) == 0 {
		return before
	}
	out.Series = c.turns.Series(owner, from, out.to, int(out.to.Sub(from)/out.Step))
	for _, whole := range c.turns.Series(owner, from, out.to, 1) {
		out.Whole = whole
	}
	out.causes(c.turns.Turns(owner, from, mostAsked, ledger.Match{}))
	return out
}

// stepFor is the least of bucketSteps that divides a time into few enough buckets.
func stepFor(span time.Duration) time.Duration {
	for _, step := range bucketSteps {
		if span/step < mostBuckets {
			return step
		}
	}
	return span/(mostBuckets-1) + 1
}

// causes counts why turns ran with less than was configured. A message that asks for
// nothing is no fault.
func (w *lately) causes(turns []ledger.Turn, _ int) {
	type key struct {
		cause string
		mode  ken.Mode
	}
	at := map[key]int{}
	w.Asked = len(turns)
	for i := range turns {
		t := &turns[i]
		if t.Degraded > 0 {
			w.Failed++
		}
		if t.Cause == "" || t.Mode == ken.ModeNone {
			continue
		}
		k := key{t.Cause, t.Mode}
		j, ok := at[k]
		if !ok {
			j = len(w.Causes)
			at[k], w.Causes = j, append(w.Causes, causeCount{Cause: t.Cause, Mode: t.Mode, Path: Prefix + "turns?mode=" + url.QueryEscape(string(t.Mode))})
		}
		w.Causes[j].Turns++
		if t.At.After(w.Causes[j].Last) {
			w.Causes[j].Last = t.At
		}
	}
	slices.SortStableFunc(w.Causes, func(a, b causeCount) int { return cmp.Compare(b.Turns, a.Turns) })
	w.Causes = w.Causes[:min(len(w.Causes), mostCauses)]
}

// latencies are the percentiles of the whole turn.
func (w *lately) latencies() chart.LinesData {
	return w.lines("How long turns took before the model was called", "ms", true, []string{"p50", "p95", "p99"}, func(b *ledger.Bucket, i int) float64 {
		return []float64{b.P50, b.P95, b.P99}[i]
	})
}

// stages are the medians of the stages that take longest.
func (w *lately) stages() chart.LinesData {
	longest := slices.Clone(w.Whole.Stages)
	slices.SortStableFunc(longest, func(a, b ledger.Stage) int { return cmp.Compare(b.MS, a.MS) })
	longest = longest[:min(len(longest), mostStages)]
	names := make([]string, len(longest))
	for i, s := range longest {
		names[i] = s.Name
	}
	return w.lines("Where the time went: the longest stages, by their medians", "ms", true, names, func(b *ledger.Bucket, i int) float64 {
		for _, s := range b.Stages {
			if s.Name == names[i] {
				return s.MS
			}
		}
		return math.NaN()
	})
}

// chars is what turns were given.
func (w *lately) chars() chart.LinesData {
	return w.lines("Characters given to a turn: the median", "characters", false, []string{"characters"}, func(b *ledger.Bucket, _ int) float64 { return float64(b.Chars) })
}

// lines draws a value of each bucket in which there was a turn: where there was none
// the line goes on to the next. The axis is that of all buckets.
func (w *lately) lines(title, unit string, log bool, names []string, value func(*ledger.Bucket, int) float64) chart.LinesData {
	d := chart.LinesData{Title: title, Unit: unit, Log: log, Series: make([]chart.Series, len(names))}
	for i := range w.Series {
		b := &w.Series[i]
		if b.Turns == 0 && i > 0 && i < len(w.Series)-1 {
			continue
		}
		d.Times = append(d.Times, b.From)
		for j, name := range names {
			x := math.NaN()
			if b.Turns > 0 {
				x = value(b, j)
			}
			d.Series[j].Name, d.Series[j].Values = name, append(d.Series[j].Values, x)
		}
	}
	return d
}

// cached is how much of the prompts the model's server had read before.
func (w *lately) cached() chart.SharesData {
	d := chart.SharesData{Title: "Bytes of requests: as in the one before, and new", Unit: "bytes", Names: []string{"cached", "new"},
		Tones: []chart.Tone{chart.OK, ""}, Width: w.Step}
	for i := range w.Series {
		b := &w.Series[i]
		d.Buckets = append(d.Buckets, chart.Bucket{At: b.From, Counts: []float64{float64(b.CachedBytes), float64(b.NewBytes)}})
	}
	return d
}
