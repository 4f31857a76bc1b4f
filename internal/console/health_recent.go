package console

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// timeRange is a period of the charts, and the width of its buckets.
type timeRange struct {
	Name, Title string
	Span, Step  time.Duration // a zero Span means all stored turns
}

// timeRanges lists the periods that can be chosen; the second is the default.
var timeRanges = []timeRange{
	{"hour", "the last hour", time.Hour, 2 * time.Minute},
	{"day", "the last day", 24 * time.Hour, 30 * time.Minute},
	{"week", "the last week", 7 * 24 * time.Hour, 4 * time.Hour},
	{"month", "the last month", 30 * 24 * time.Hour, 24 * time.Hour},
	{"all", "all that is kept", 0, 0},
}

// bucketSteps lists the possible widths of a bucket for a period without a fixed one.
var bucketSteps = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	7 * 24 * time.Hour, 28 * 24 * time.Hour}

const (
	maxBuckets = 48   // in a chart
	maxCauses  = 6    // listed
	maxAsked   = 2000 // newest turns whose cause is counted
	maxStages  = 6    // lines in the chart
)

// timeRangeNamed returns the period that the address asks for.
func timeRangeNamed(name string) timeRange {
	for _, s := range timeRanges {
		if s.Name == name {
			return s
		}
	}
	return timeRanges[1]
}

type recentTurns struct {
	timeRange
	Series    []ledger.Bucket
	Whole     ledger.Bucket
	Causes    []causeCount
	Asked     int    // turns counted for Causes
	Empty     int    // of these, turns without a block
	EmptyPath string // link to these turns
	Failed    int    // of these, turns with a failed or skipped stage
	Unread    []string

	latest string // id of the newest turn
	to     time.Time
}

// causeCount counts the turns with one reason for less than the configured mode.
type causeCount struct {
	Cause string
	Mode  ken.Mode
	Turns int
	Last  time.Time
	Path  string // link to these turns
}

// recentTurnsMaxAge is the age at which a summary is checked for new turns.
const recentTurnsMaxAge = time.Second

// recentTurnsKey identifies a summary: its owner and its period.
type recentTurnsKey struct{ owner, period string }

// recentTurns returns the summary of the visitor's owner's turns; nil while it is computed for
// the first time.
func (v *visit) recentTurns(s timeRange) *recentTurns {
	owner := v.owner()
	return v.con.health.recent.get(v, recentTurnsKey{owner, s.Name}, newerThan[recentTurns](v.con, recentTurnsMaxAge), func(ctx context.Context, before *recentTurns) *recentTurns {
		return v.con.sumTurns(ctx, owner, s, before)
	})
}

// sumTurns updates the ledger and returns a summary. It returns before if nothing has changed.
func (c *Console) sumTurns(ctx context.Context, owner string, s timeRange, before *recentTurns) *recentTurns {
	out := &recentTurns{timeRange: s}
	if err := c.turns.Catch(ctx, owner, c.layer.Operator().Receipts(owner)); err != nil {
		if ctx.Err() != nil {
			return before
		}
		out.Unread = append(out.Unread, err.Error())
		if !errors.Is(err, ken.ErrCorrupt) {
			return out
		}
	}
	now := c.opts.Now()
	from := now.Add(-s.Span)
	if s.Span == 0 {
		oldest, ok := c.turns.Oldest(owner)
		if !ok {
			oldest = now
		}
		from = oldest
		out.Step = stepFor(now.Sub(from))
	}
	// Buckets begin at round times, so that a turn stays in its bucket.
	from, out.to = from.Truncate(out.Step), now.Truncate(out.Step).Add(out.Step)
	if s.Span > 0 {
		from = from.Add(out.Step)
	}
	out.latest, _, _ = c.turns.Latest(owner)
	if before != nil && before.latest == out.latest && before.to.Equal(out.to) && len(before.Unread) == 0 && len(out.Unread) == 0 {
		return before
	}
	c.sumBetween(owner, out, from)
	return out
}

// sumBetween sums the turns from from to the end of w, by its step.
func (c *Console) sumBetween(owner string, w *recentTurns, from time.Time) {
	w.Series = c.turns.Series(owner, from, w.to, max(1, int(w.to.Sub(from)/w.Step)))
	for _, whole := range c.turns.Series(owner, from, w.to, 1) {
		w.Whole = whole
	}
	turns, _ := c.turns.Turns(owner, from, maxAsked, ledger.Match{Until: w.to})
	w.causes(turns)
	w.EmptyPath = Prefix + "turns?block=none&from=" + from.UTC().Format(minuteLayout) + "&to=" + w.to.UTC().Format(minuteLayout)
}

// turnsBetween sums the turns between two times; a zero to means now. The result is not
// cached, because any two times are possible.
func (v *visit) turnsBetween(from, to time.Time) (*recentTurns, error) {
	if to.IsZero() || to.After(v.now()) {
		to = v.now()
	}
	if from.IsZero() {
		from, _ = v.con.turns.Oldest(v.owner())
	}
	if !from.Before(to) {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "from", Msg: "not before the end of the time", Try: "Choose an earlier moment, or a later end."}
	}
	unread, err := v.catchUpTurns()
	if err != nil {
		return nil, err
	}
	w := &recentTurns{timeRange: timeRange{Name: "between", Step: stepFor(to.Sub(from))}, Unread: unread, to: to}
	v.con.sumBetween(v.owner(), w, from)
	return w, nil
}

// stepFor returns the smallest of bucketSteps that gives at most maxBuckets.
func stepFor(span time.Duration) time.Duration {
	for _, step := range bucketSteps {
		if span/step < maxBuckets {
			return step
		}
	}
	return span/(maxBuckets-1) + 1
}

// causes counts the reasons for less than the configured mode. A message without a query is no
// problem and is not counted.
func (w *recentTurns) causes(turns []ledger.Turn) {
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
		if t.Chars == 0 {
			w.Empty++
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
	w.Causes = w.Causes[:min(len(w.Causes), maxCauses)]
}

// latencies charts the percentiles of the total time of a turn.
func (w *recentTurns) latencies() chart.LinesData {
	return w.lines("How long turns took before the model was called", "ms", true, []string{"p50", "p95", "p99"}, func(b *ledger.Bucket, i int) float64 {
		return []float64{b.P50, b.P95, b.P99}[i]
	})
}

// stages charts the medians of the slowest stages.
func (w *recentTurns) stages() chart.LinesData {
	longest := slices.Clone(w.Whole.Stages)
	slices.SortStableFunc(longest, func(a, b ledger.Stage) int { return cmp.Compare(b.MS, a.MS) })
	longest = longest[:min(len(longest), maxStages)]
	names := mapped(longest, func(s *ledger.Stage) string { return s.Name })
	return w.lines("Where the time went: the longest stages, by their medians", "ms", true, names, func(b *ledger.Bucket, i int) float64 {
		for _, s := range b.Stages {
			if s.Name == names[i] {
				return s.MS
			}
		}
		return math.NaN()
	})
}

func (w *recentTurns) chars() chart.LinesData {
	return w.lines("Characters given to a turn: the median", "characters", false, []string{"characters"}, func(b *ledger.Bucket, _ int) float64 { return float64(b.Chars) })
}

// lines charts a value of each bucket that has turns. The line skips buckets without turns,
// but the axis has all of them.
func (w *recentTurns) lines(title, unit string, log bool, names []string, value func(*ledger.Bucket, int) float64) chart.LinesData {
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

// cached charts how much of the prompts the provider's cache served.
func (w *recentTurns) cached() chart.SharesData {
	d := chart.SharesData{Title: "Bytes of requests: as in the one before, and new", Unit: "bytes", Names: []string{"cached", "new"},
		Tones: []chart.Tone{chart.OK, ""}, Width: w.Step}
	d.Buckets = mapped(w.Series, func(b *ledger.Bucket) chart.Bucket {
		return chart.Bucket{At: b.From, Counts: []float64{float64(b.CachedBytes), float64(b.NewBytes)}}
	})
	return d
}

// ownerStats counts the sessions, jobs and files of an owner.
type ownerStats struct {
	Sessions map[session.State]int
	Jobs     map[jobs.State]int
	Files    []fileSize // files in the owner's folder, by name
	Bytes    int64      // total size
	Unread   []string   // what could not be read
}

// fileSize is the size of a file, or of a folder with its content.
type fileSize struct {
	Name  string
	Bytes int64
}

// ownerStatsMaxAge is the age at which the counts are renewed.
const ownerStatsMaxAge = 3 * time.Second

// ownerStats returns the counts of the visitor's owner; nil while they are computed for the
// first time.
func (v *visit) ownerStats() *ownerStats {
	owner := v.owner()
	return v.con.health.stats.get(v, owner, newerThan[ownerStats](v.con, ownerStatsMaxAge), func(ctx context.Context, _ *ownerStats) *ownerStats { return v.con.countOwner(ctx, owner) })
}

// countOwner counts an owner's sessions, jobs and files. It lists what can't be read in
// Unread.
func (c *Console) countOwner(ctx context.Context, owner string) *ownerStats {
	out := &ownerStats{Sessions: map[session.State]int{}, Jobs: map[jobs.State]int{}}
	unread := func(err error) {
		if err != nil && ctx.Err() == nil {
			out.Unread = append(out.Unread, err.Error())
		}
	}
	infos, err := c.layer.Operator().Journal(owner).List(ctx)
	unread(err)
	for i := range infos {
		out.Sessions[infos[i].State]++
	}
	list, err := c.layer.Operator().Jobs(owner).List(ctx)
	unread(err)
	for i := range list {
		out.Jobs[list[i].State]++
	}
	cfg := c.layer.Config()
	out.Files, out.Bytes, err = folderSizes(filepath.Join(cfg.State(c.layer.Root()), bolt.FolderName(owner)))
	unread(err)
	return out
}

// folderSizes returns the entries of a folder with their sizes, by name. A file that
// disappears meanwhile, such as an index file, counts as empty.
func folderSizes(dir string) (list []fileSize, total int64, err error) {
	at := map[string]int{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name], list = i, append(list, fileSize{Name: name})
		}
		list[i].Bytes += info.Size()
		total += info.Size()
		return nil
	})
	return list, total, err
}
