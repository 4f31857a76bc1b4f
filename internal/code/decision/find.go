package decision

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// List returns all records by number, then by path. Those without a number come last.
func (r *Registry) List() []Record {
	v := r.view.Load()
	out := make([]Record, len(v.records))
	for i, e := range v.records {
		out[i] = e.rec
	}
	return out
}

// Find returns the record with a handle, an ID or number in any spelling ("ADR-0042", "adr 42", "42"), the name or path
// of its file, or a unique part of its title. Errors: ErrNotFound, with similar names; ErrInvalid if several match,
// with their handles.
func (r *Registry) Find(name string) (Record, error) {
	e, err := r.view.Load().find(name)
	if err != nil {
		return Record{}, err
	}
	return e.rec, nil
}

func (v *snapshot) find(name string) (*entry, error) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "adr:"))
	if name == "" {
		return nil, invalid("id", "empty", "Name a decision by its id, such as ADR-0042.")
	}
	if e := v.byHandle[foldText(name)]; e != nil {
		return e, nil
	}
	_, id := fromID(name)
	if same := v.byID[foldText(id)]; len(same) > 0 {
		return oneMatch(name, same)
	}
	if e := v.at(path.Clean(name)); e != nil {
		return e, nil
	}
	if n, _ := fromID(name); n >= 0 { // a series with its own numbers
		var same []*entry
		for _, e := range v.records {
			if e.rec.Number == n {
				same = append(same, e)
			}
		}
		if len(same) > 0 {
			return oneMatch(name, same)
		}
	}
	var byFile, whole, part, near []*entry
	want := foldText(name)
	for _, e := range v.records {
		base, title := foldText(path.Base(e.rec.Path)), foldText(stripMarkup(e.rec.Title.Text))
		switch {
		case base == want || strings.TrimSuffix(base, path.Ext(base)) == want:
			byFile = append(byFile, e)
		case title == want:
			whole = append(whole, e)
		case strings.Contains(title, want):
			part = append(part, e)
		case e.rec.Number >= 0 && strings.Contains(want, strconv.Itoa(e.rec.Number)) || shareWord(title, want):
			near = append(near, e)
		}
	}
	for _, fit := range [][]*entry{byFile, whole, part} {
		if len(fit) > 0 {
			return oneMatch(name, fit)
		}
	}
	e := &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no decision " + clipQuote(name), Try: "List the decisions, or search for words of the title."}
	if len(near) > 0 {
		e.Try = "Did you mean " + handles(near) + "?"
	}
	return nil, e
}

// shareWord reports whether two texts share a word of four or more letters.
func shareWord(title, want string) bool {
	for w := range strings.FieldsSeq(want) {
		if len(w) >= 4 && strings.Contains(title, w) {
			return true
		}
	}
	return false
}

func oneMatch(name string, fit []*entry) (*entry, error) {
	if len(fit) == 1 {
		return fit[0], nil
	}
	return nil, invalid("id", clipQuote(name)+" fits "+strconv.Itoa(len(fit))+" decisions", "Name one of them: "+handles(fit)+".")
}

func handles(fit []*entry) string {
	var names []string
	for _, e := range fit[:min(len(fit), 5)] {
		names = append(names, e.rec.Handle)
	}
	return strings.Join(names, ", ")
}

// History returns a record with all records that it directly or indirectly superseded, and all that superseded it, the
// oldest first.
func (r *Registry) History(name string) ([]Record, error) {
	e, err := r.view.Load().find(name)
	if err != nil {
		return nil, err
	}
	var out []Record
	seen := map[*entry]bool{}
	var walk func(e *entry, next func(*entry) []*entry, first bool)
	walk = func(e *entry, next func(*entry) []*entry, first bool) {
		if seen[e] {
			return
		}
		seen[e] = true
		if !first {
			out = append(out, e.rec)
		}
		for _, n := range next(e) {
			walk(n, next, first)
		}
		if first {
			out = append(out, e.rec)
		}
	}
	walk(e, func(e *entry) []*entry { return e.predecessors }, true)
	for _, by := range e.successors {
		walk(by, func(e *entry) []*entry { return e.successors }, false)
	}
	return out, nil
}

// Query is a search for decisions. The zero value matches every record.
type Query struct {
	Words     string   // in title, tags and text; any of them, more matches rank higher
	Tag       string   // ignoring case
	Statuses  []Status // any of them
	Governs   string   // a path or symbol that the record governs
	Since     time.Time
	Until     time.Time // both by the record's date and inclusive; a record without a date does not match
	NoArchive bool      // leave out archived records
	Limit     int       // 0 means 20, at most 200
	Offset    int
}

const (
	defaultLimit = 20
	maxLimit     = 200
	maxTerms     = 64
)

// Hit is a record found by a search.
type Hit struct {
	Record Record
	Score  float64 // comparable within one search; 0 without words
}

// Page is one page of hits.
type Page struct {
	Hits  []Hit
	Total int // of all pages
}

// The fields of a record, by decreasing weight.
const (
	inTitle = iota
	inTags  // with ID, file name and what it governs
	inCore  // decision, context, headings
	inText
	fieldCount
)

// fieldWeight is the weight of a word in each field. The title has the highest.
var fieldWeight = [fieldCount]float64{8, 6, 2, 1}

// words holds the number of each term per field, and the length of each field.
type words struct {
	terms map[string]*[fieldCount]float32
	size  [fieldCount]float32
}

func (w *words) add(field int, text string) {
	for _, t := range analysis.Terms(text) {
		n := w.terms[t]
		if n == nil {
			n = new([fieldCount]float32)
			w.terms[strings.Clone(t)] = n
		}
		n[field]++
		w.size[field]++
	}
}

func wordsOf(r Record) words {
	w := words{terms: map[string]*[fieldCount]float32{}}
	w.add(inTitle, stripMarkup(r.Title.Text))
	w.add(inTags, r.ID.Text+" "+strings.ReplaceAll(stem(r.Path), "-", " "))
	for _, v := range slices.Concat(r.Tags, r.Governs) {
		w.add(inTags, v.Text)
	}
	for _, s := range r.Sections {
		w.add(inCore, s.Title)
		switch s.Kind {
		case KindDecision, KindContext:
			w.add(inCore, s.Text.Text)
		default:
			w.add(inText, s.Text.Text)
		}
	}
	w.add(inText, r.Preamble.Text)
	w.add(inText, r.StatusText.Text)
	for _, v := range slices.Concat(r.Deciders, r.Consulted, r.Informed) {
		w.add(inText, v.Text)
	}
	for _, e := range r.Extra {
		w.add(inText, e.Value.Text)
	}
	return w
}

// ranking holds statistics of all records for the scores.
type ranking struct {
	average [fieldCount]float32 // average length of the fields
	df      map[string]int      // number of records with a term
}

// newRanking indexes the words of all records. The first search after a change calls it.
func newRanking(records []*entry) *ranking {
	inParallel(len(records), func(i int) { records[i].words() })
	k := &ranking{df: map[string]int{}}
	for _, e := range records {
		w := e.words()
		for t := range w.terms {
			k.df[t]++
		}
		for f := range fieldCount {
			k.average[f] += w.size[f] / float32(len(records))
		}
	}
	return k
}

// Search returns the matching records. With words, they are ranked by BM25 over the fields; otherwise they are in the
// order of List.
func (r *Registry) Search(q Query) Page {
	v := r.view.Load()
	terms := analysis.Terms(q.Words)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	terms = terms[:min(len(terms), maxTerms)]
	var found []scored
	var all *ranking
	if len(terms) > 0 {
		all = v.ranking()
	}
	for _, e := range v.records {
		if !q.matches(e) {
			continue
		}
		s := scored{entry: e}
		for _, t := range terms {
			s.score += v.score(e, t, all)
		}
		if strings.TrimSpace(q.Words) == "" || s.score > 0 {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	limit := min(cmp.Or(max(q.Limit, 0), defaultLimit), maxLimit)
	from := min(max(0, q.Offset), len(found))
	page := Page{Total: len(found)}
	for _, s := range found[from:min(len(found), from+limit)] {
		page.Hits = append(page.Hits, Hit{s.rec, s.score})
	}
	return page
}

// scored is a record with its score.
type scored struct {
	*entry
	score float64
}

// score returns the score of a record for one term, by BM25F. With such different field weights, a small k1 would let
// one word in a title dominate. Both were tuned with the first set of questions in testdata.
func (v *snapshot) score(e *entry, term string, all *ranking) float64 {
	w := e.words()
	n := w.terms[term]
	if n == nil {
		return 0
	}
	const k1, b = 3, 0.6
	tf := 0.0
	for f := range fieldCount {
		if n[f] > 0 {
			tf += fieldWeight[f] * float64(n[f]) / (1 - b + b*float64(w.size[f])/float64(all.average[f]))
		}
	}
	df := float64(all.df[term])
	idf := math.Log(1 + (float64(len(v.records))-df+0.5)/(df+0.5))
	return idf * tf * (k1 + 1) / (tf + k1)
}

func (q *Query) matches(e *entry) bool {
	r := &e.rec
	switch {
	case q.NoArchive && r.Archived,
		len(q.Statuses) > 0 && !slices.Contains(q.Statuses, r.Status),
		(!q.Since.IsZero() || !q.Until.IsZero()) && r.Date.IsZero(),
		!q.Since.IsZero() && r.Date.Before(q.Since.Truncate(24*time.Hour)),
		!q.Until.IsZero() && r.Date.After(q.Until),
		q.Tag != "" && !slices.ContainsFunc(r.Tags, func(t Value) bool { return strings.EqualFold(stripMarkup(t.Text), strings.TrimSpace(q.Tag)) }):
		return false
	}
	return q.Governs == "" || slices.ContainsFunc(e.targets(), func(t Target) bool { return covers(t.Name, strings.TrimPrefix(q.Governs, "./")) })
}

// covers reports whether target is or contains asked: a folder contains its files, a glob what it matches, and a symbol
// matches by its last part.
func covers(target, asked string) bool {
	target, asked = strings.TrimSuffix(target, "/"), strings.TrimSuffix(asked, "/")
	switch {
	case target == asked, strings.HasPrefix(asked, target+"/"):
		return true
	case strings.ContainsAny(target, "*?["):
		return glob(strings.Split(target, "/"), strings.Split(asked, "/"))
	case strings.Contains(target, "/") || strings.Contains(asked, "/"):
		return path.Base(asked) == target && fileEnding(target)
	}
	return strings.HasSuffix(target, "."+asked) || strings.HasSuffix(asked, "."+target)
}

// glob matches a path, split into parts. ** matches any number of parts; at the end, at least one.
func glob(pattern, parts []string) bool {
	if n := len(pattern); n > 0 && pattern[n-1] == "**" {
		pattern = append(slices.Clip(pattern), "*")
	}
	fits := make([]bool, len(parts)+1) // fits[i]: the pattern so far matches parts[:i]
	fits[0] = true
	for _, p := range pattern {
		if p == "**" {
			for i := 1; i < len(fits); i++ {
				fits[i] = fits[i] || fits[i-1]
			}
			continue
		}
		for i := len(parts); i > 0; i-- {
			ok := false
			if fits[i-1] {
				ok, _ = path.Match(p, parts[i-1]) // an invalid pattern matches nothing
			}
			fits[i] = ok
		}
		fits[0] = false
	}
	return fits[len(parts)]
}
