package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/evals/sweep"
)

const (
	maxChosen     = 6  // reports side by side
	maxRuns       = 8  // modes of these reports; there are no colours for more
	maxCategories = 12 // categories in a chart
)

// sweepsBody holds the project's reports of recall sweeps, and a comparison of some.
type sweepsBody struct {
	Now    time.Time
	Files  []sweepRow
	More   int
	Folder string // the folder, relative to the project's root

	Findings    *sweepFindings // nil while they are computed
	Runs        []sweepRun
	LeftOut     int  // runs beyond maxRuns
	Sets        int  // number of data sets among the runs
	Chosen      bool // the visitor chose the reports
	Quality     *drawing
	Latency     *drawing
	Categories  *drawing
	Differences []sweepDifference
	Notes       []string
	Warnings    []string
}

type sweepRow struct {
	*sweepFile
	Here bool
}

type sweepRun struct {
	Label  string
	Mode   string
	report *sweep.Report
	score  sweep.Score
}

func sweepsPage(v *visit) error {
	cfg := v.con.layer.Config()
	dir := filepath.Join(cfg.State(v.con.layer.Root()), sweep.KeptDir)
	b := sweepsBody{Now: v.now(), Folder: filepath.ToSlash(filepath.Join(cfg.Knowledge.DBPath, sweep.KeptDir))}
	x := &v.con.health.sweeps
	files, more, err := x.list(dir)
	if err != nil {
		return err
	}
	names := v.r.URL.Query()["r"]
	b.More, b.Chosen = more, len(names) > 0
	if !b.Chosen {
		names = defaultReports(files)
	}
	var list []openedSweep
	for _, f := range files {
		here := slices.Contains(names, f.Name)
		b.Files = append(b.Files, sweepRow{sweepFile: f, Here: here})
		switch {
		case !here:
		case len(list) == maxChosen:
			b.Warnings = append(b.Warnings, f.Name+": no more than "+strconv.Itoa(maxChosen)+" reports can be compared")
		default:
			r, err := x.open(dir, f)
			if err != nil {
				b.Warnings = append(b.Warnings, f.Name+": "+err.Error())
				continue
			}
			list = append(list, openedSweep{sweepFile: f, report: r})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(files, func(f *sweepFile) bool { return f.Name == name }) {
			b.Warnings = append(b.Warnings, name+": no report is kept under this name")
		}
	}
	slices.Reverse(list) // oldest first: the others are compared with it
	b.runs(list)
	b.Differences = differences(b.Runs)
	if len(list) > 0 {
		b.Findings = v.sweepFindings(list)
	}
	b.draw()
	return v.page("sweeps", page{Title: "Recall sweeps", Section: secHealth, Tab: "Recall sweeps", Body: b})
}

// defaultReports selects the reports to show first: the newest, and those of the same data
// set that add keyword or hybrid search if it lacks one.
func defaultReports(files []*sweepFile) (names []string) {
	dataset := ""
	wanted := map[sweep.Mode]bool{sweep.ModeKeyword: true, sweep.ModeHybrid: true}
	for _, f := range files {
		if f.Head == nil || len(names) > 0 && f.Head.Dataset != dataset {
			continue
		}
		adds := false
		for mode := range wanted {
			if _, ok := f.Head.Modes[string(mode)]; ok {
				delete(wanted, mode)
				adds = true
			}
		}
		if len(names) == 0 || adds {
			names, dataset = append(names, f.Name), f.Head.Dataset
		}
	}
	return names
}

// runs returns the modes of the reports, at most as many as there are colours. It takes them
// from the reports in turn.
func (b *sweepsBody) runs(list []openedSweep) {
	orders, all := make([][]string, len(list)), 0
	for i := range list {
		orders[i] = modesInOrder(list[i].report)
		all += len(orders[i])
	}
	for left, round := min(all, maxRuns), 0; left > 0; round++ {
		for i := range list {
			if left > 0 && round < len(orders[i]) {
				list[i].modes = append(list[i].modes, orders[i][round])
				left--
			}
		}
	}
	sets := map[string]bool{}
	for i := range list {
		o := &list[i]
		sets[o.report.Dataset] = true
		for _, m := range o.modes {
			r := sweepRun{Label: m, Mode: m, report: o.report, score: o.report.Modes[m]}
			if len(list) > 1 && m != o.Name {
				r.Label = o.Name + ": " + m
			}
			b.Runs = append(b.Runs, r)
		}
		for _, n := range o.report.Notes {
			b.Notes = append(b.Notes, o.Name+": "+n)
		}
	}
	b.LeftOut, b.Sets = all-len(b.Runs), len(sets)
}

// modesInOrder returns the modes of a report in the order of the run, by name if that is
// unknown.
func modesInOrder(r *sweep.Report) []string {
	order := slices.DeleteFunc(slices.Clone(r.Order), func(m string) bool { _, ok := r.Modes[m]; return !ok })
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(r.Modes))
	}
	return order
}

// draw draws the charts of the runs.
func (b *sweepsBody) draw() {
	if len(b.Runs) == 0 {
		return
	}
	quality := chart.GroupsData{Title: "How much is found, with 95 % intervals", Max: 1}
	latency := chart.GroupsData{Title: "How long a turn takes", Unit: "ms"}
	for i := range b.Runs {
		quality.Names, latency.Names = append(quality.Names, b.Runs[i].Label), append(latency.Names, b.Runs[i].Label)
	}
	for _, m := range sweepMeasures[:3] {
		quality.Groups = append(quality.Groups, chart.Group{Label: m.title, Values: intervals(b.Runs, m.name, func(r *sweepRun) (sweep.Score, bool) { return r.score, true })})
	}
	for _, p := range []struct{ name, title string }{{"p50_ms", "half of the turns"}, {"p99_ms", "99 of 100"}} {
		g := chart.Group{Label: p.title}
		for i := range b.Runs {
			x := math.NaN()
			if s := b.Runs[i].score; s.Values["timed"] > 0 || s.Values[p.name] > 0 {
				x = s.Values[p.name]
			}
			g.Values = append(g.Values, chart.Interval{Value: x, Low: x, High: x})
		}
		latency.Groups = append(latency.Groups, g)
	}
	b.Quality, b.Latency = draw(quality, chart.Groups), draw(latency, chart.Groups)
	categories := chart.GroupsData{Title: "Recall@10 by kind of question", Max: 1, Names: quality.Names}
	for _, name := range b.categories() {
		categories.Groups = append(categories.Groups, chart.Group{Label: name, Values: intervals(b.Runs, "recall@10", func(r *sweepRun) (sweep.Score, bool) {
			s, ok := r.report.ByCategory[name].Modes[r.Mode]
			return s, ok
		})})
	}
	if len(categories.Groups) > 1 {
		b.Categories = draw(categories, chart.Groups)
	}
}

// intervals returns a measure of each run; NaN if it was not measured.
func intervals(runs []sweepRun, measure string, of func(*sweepRun) (sweep.Score, bool)) (out []chart.Interval) {
	for i := range runs {
		s, ok := of(&runs[i])
		ci, measured := s.CI[measure]
		if !ok || !measured {
			out = append(out, chart.Interval{Value: math.NaN(), Low: math.NaN(), High: math.NaN()})
			continue
		}
		out = append(out, chart.Interval{Value: s.Values[measure], Low: ci[0], High: ci[1]})
	}
	return out
}

// categories returns the kinds of questions that have an answer, those with the most questions
// first.
func (b *sweepsBody) categories() []string {
	n := map[string]int{}
	for i := range b.Runs {
		for name, c := range b.Runs[i].report.ByCategory {
			if _, ok := c.Modes[b.Runs[i].Mode].CI["recall@10"]; ok {
				n[name] = max(n[name], c.N)
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), maxCategories)]
}

// Value formats a measure of a run; a dash if it was not measured.
func (r sweepRun) Value(measure string) string {
	if _, ok := r.score.CI[measure]; !ok {
		return "–"
	}
	return strconv.FormatFloat(r.score.Values[measure], 'f', 3, 64)
}

// Modes returns the first few modes of a report.
func (r sweepRow) Modes() []string {
	const most = 6
	order := modesInOrder(r.Head)
	if len(order) > most {
		order = append(order[:most], "…")
	}
	return order
}

const (
	maxSweepBytes = 32 << 20 // of a report's file
	maxSweeps     = 100      // listed, newest first
	maxReports    = 8        // reports kept in memory with the values of each question
)

// sweepFile is a report's file. It is immutable.
type sweepFile struct {
	Name string // without its extension
	Size int64
	At   time.Time     // modification time
	Head *sweep.Report // the report without its questions; nil if it can't be read
	Bad  error         // why it can't be read
}

// key identifies a version of the file.
func (f *sweepFile) key() string { return fmt.Sprint(f.Name, "/", f.Size, "/", f.At.UnixNano()) }

// reportFiles reads reports on demand, and again when a file changed. The zero value is ready
// to use. It is safe for concurrent use.
type reportFiles struct {
	mu      sync.Mutex
	heads   map[string]*sweepFile // by name
	reports []cachedReport        // most recently used last
}

// cachedReport is a report with the values of each question.
type cachedReport struct {
	key    string
	report *sweep.Report
	bad    error
}

// list returns the reports in a folder, newest first, and how many more there are. A missing
// folder has none.
func (x *reportFiles) list(dir string) (files []*sweepFile, more int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, &ken.Error{Code: ken.CodeUnavailable, Msg: "the folder of kept reports can't be read", Err: err, Try: "Check its permissions."}
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, &sweepFile{Name: name, Size: info.Size(), At: info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b *sweepFile) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Name, b.Name)) })
	if len(files) > maxSweeps {
		files, more = files[:maxSweeps], len(files)-maxSweeps
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	heads := make(map[string]*sweepFile, len(files))
	for i, f := range files {
		if had := x.heads[f.Name]; had != nil && had.key() == f.key() {
			files[i] = had
		} else if f.Size > maxSweepBytes {
			f.Bad = errSweepSize
		} else {
			f.Head, f.Bad = readSweep(dir, f.Name, sweepHead)
		}
		heads[f.Name] = files[i]
	}
	x.heads = heads
	return files, more, nil
}

func (x *reportFiles) open(dir string, f *sweepFile) (*sweep.Report, error) {
	if f.Bad != nil {
		return nil, f.Bad
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w := cachedReport{key: f.key()}
	if i := slices.IndexFunc(x.reports, func(had cachedReport) bool { return had.key == w.key }); i >= 0 {
		w = x.reports[i]
		x.reports = slices.Delete(x.reports, i, i+1)
	} else {
		w.report, w.bad = readSweep(dir, f.Name, sweep.Read)
	}
	x.reports = append(x.reports, w)
	if len(x.reports) > maxReports {
		x.reports = slices.Delete(x.reports, 0, 1)
	}
	return w.report, w.bad
}

var errSweepSize = &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("the report is longer than %d MB", maxSweepBytes>>20),
	Try: "Compare it with ken eval compare, or sweep fewer settings at once."}

func readSweep(dir, name string, parse func(io.Reader) (*sweep.Report, error)) (r *sweep.Report, err error) {
	f, err := os.Open(filepath.Join(dir, name+".json"))
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the report can't be read", Err: err, Try: "Check the file and its permissions."}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return parse(io.LimitReader(f, maxSweepBytes))
}

// sweepHead parses a report up to per_query: the values of each question, which are nearly all of
// the file and come last.
func sweepHead(rd io.Reader) (*sweep.Report, error) {
	d := json.NewDecoder(rd)
	first, err := d.Token()
	switch {
	case err != nil:
		return sweep.Read(strings.NewReader("")) // it returns the error for an invalid report
	case first == json.Delim('['):
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "several reports in one file", Try: "Keep each in a file of its own, as ken eval sweep --keep does."}
	case first != json.Delim('{'):
		return sweep.Read(strings.NewReader(""))
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil || name == "per_query" {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return sweep.Read(strings.NewReader(""))
		}
		fields[fmt.Sprint(name)] = value
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("read the head of a report: %w", err)
	}
	return sweep.Read(bytes.NewReader(b))
}
