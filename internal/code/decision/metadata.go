package decision

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// first is the first field of a meaning that says something.
func (d *document) first(means string) Value {
	for _, it := range d.fields {
		if meaning[it.name] == means && len(it.lines) > 0 {
			return it.value()
		}
	}
	return Value{}
}

// id is what the front matter calls the record, or a line below the title when it is a
// number: "ADR: 12".
func (d *document) id() Value {
	for _, it := range d.fields {
		if meaning[it.name] != meansID || len(it.lines) == 0 {
			continue
		}
		if n, _ := fromID(it.text()); n >= 0 || it.form == formFront {
			return it.value()
		}
	}
	return Value{}
}

// title is what the front matter or a section calls the record.
func (d *document) title() Value {
	if v := d.first(meansTitle); v.Found() {
		return v
	}
	for _, i := range d.ofKind(KindTitle) {
		if ps := d.paragraphs(i); len(ps) > 0 {
			return ps[0]
		}
	}
	return Value{}
}

// metadata sets what fields say.
func (d *document) metadata() {
	folder := folderOf(d.Path)
	dated := false
	for _, it := range d.fields {
		switch meaning[it.name] {
		case meansID, meansTitle:
		case meansStatus:
			if !d.StatusText.Found() && len(it.lines) > 0 {
				d.setStatus(it.value())
			}
		case meansDate:
			if (!d.DateText.Found() || it.name == "date" && !dated) && len(it.lines) > 0 { // "created" only where there is no "date"
				d.setDate(it.value())
				dated = it.name == "date"
			}
		case meansDeciders:
			d.Deciders = append(d.Deciders, parts(it)...)
		case meansConsulted:
			d.Consulted = append(d.Consulted, parts(it)...)
		case meansInformed:
			d.Informed = append(d.Informed, parts(it)...)
		case meansTags:
			d.Tags = append(d.Tags, parts(it)...)
		case meansGoverns:
			d.Governs = append(d.Governs, names(it)...)
		case meansSupersedes:
			d.Supersedes = append(d.Supersedes, d.named(it, folder)...)
		case meansSupersededBy:
			d.SupersededBy = append(d.SupersededBy, d.named(it, folder)...)
		case meansEither:
			d.either(it, folder)
		default:
			if v := it.value(); v.Found() {
				v.Text = joined(it)
				d.Extra = append(d.Extra, Entry{it.key, v})
			}
		}
	}
}

// named reads the records that a field names; a list names one in each item.
func (d *document) named(it metadataField, folder string) (out []Reference) {
	if it.form == formFront {
		for _, l := range it.lines {
			out = append(out, references(l, folder, true)...)
		}
		return out
	}
	return references(it.value(), folder, true)
}

// either reads "Supersedes / Superseded by: …", which says itself which of both.
func (d *document) either(it metadataField, folder string) {
	v := it.value()
	switch t := strings.ToLower(stripMarkup(v.Text)); {
	case strings.HasPrefix(t, "superseded by"), strings.HasPrefix(t, "superceded by"):
		d.SupersededBy = append(d.SupersededBy, references(v, folder, true)...)
	case strings.HasPrefix(t, "supersedes"), strings.HasPrefix(t, "supercedes"):
		d.Supersedes = append(d.Supersedes, references(v, folder, true)...)
	}
}

var supersedesWord = lazyregexp.New(`(?i)\bsuper[sc]edes\b`)

// setStatus reads a status and the records that it names.
func (d *document) setStatus(v Value) {
	d.StatusText, d.Status = v, statusOf(v.Text)
	folder := folderOf(d.Path)
	if !d.DateText.Found() {
		d.Date, _ = time.Parse(time.DateOnly, isoDate.FindString(v.Text)) // zero for none
	}
	if d.Status == Superseded {
		refs := references(v, folder, true)
		for _, r := range refs {
			if r.Path != "" || strings.HasPrefix(r.ID, "ADR-") {
				d.SupersededBy = append(d.SupersededBy, r)
			}
		}
		return
	}
	if m := supersedesWord.FindStringIndex(v.Text); m != nil {
		end := len(v.Text)
		if stop := strings.Index(v.Text[m[0]:], ". "); stop >= 0 {
			end = m[0] + stop
		}
		d.Supersedes = append(d.Supersedes, references(Value{v.Text[m[0]:end], v.Line}, folder, false)...)
	}
}

// sectionFields reads what stands in sections of its own, as Nygard's records have it.
func (d *document) sectionFields() {
	folder := folderOf(d.Path)
	for _, i := range d.ofKind(KindStatus) {
		for _, p := range d.paragraphs(i) {
			word := strings.ToLower(stripMarkup(p.Text))
			switch s := statusOf(p.Text); {
			case strings.HasPrefix(word, "supersedes"), strings.HasPrefix(word, "supercedes"):
				d.Supersedes = append(d.Supersedes, references(p, folder, true)...)
			case !d.StatusText.Found():
				d.setStatus(p)
			case s == Superseded && d.Status != Superseded: // the last word counts
				d.setStatus(p)
			}
		}
	}
	for _, i := range d.ofKind(KindMore) { // MADR 2 and log4brains name successors among the links
		for _, p := range d.paragraphs(i) {
			switch word := strings.ToLower(stripMarkup(p.Text)); {
			case strings.HasPrefix(word, "supersedes"), strings.HasPrefix(word, "supercedes"):
				d.Supersedes = append(d.Supersedes, references(p, folder, false)...)
			case strings.HasPrefix(word, "superseded by"), strings.HasPrefix(word, "superceded by"):
				d.SupersededBy = append(d.SupersededBy, references(p, folder, false)...)
			}
		}
	}
	for _, i := range d.ofKind(KindDate) {
		if ps := d.paragraphs(i); len(ps) > 0 && !d.DateText.Found() {
			d.setDate(ps[0])
		}
	}
	for _, s := range []struct {
		kind Kind
		to   *[]Value
	}{{KindDeciders, &d.Deciders}, {KindTags, &d.Tags}, {KindGoverns, &d.Governs}} {
		for _, i := range d.ofKind(s.kind) {
			it := metadataField{lines: d.list(i)}
			if s.kind == KindGoverns {
				*s.to = append(*s.to, names(it)...)
			} else {
				*s.to = append(*s.to, parts(it)...)
			}
		}
	}
}

// paragraphs are those of a section; items of a list count as such.
func (d *document) paragraphs(head int) (out []Value) {
	blank := true
	for i := d.heads[head].next; i < d.heads[head].end; i++ {
		t := strings.TrimSpace(d.lines[i].text)
		_, at, isItem := bullet(d.lines[i].text)
		switch {
		case t == "":
			blank = true
			continue
		case isItem:
			out = append(out, Value{strings.TrimSpace(d.lines[i].text[at:]), i + 1})
		case blank:
			out = append(out, Value{t, i + 1})
		default:
			out[len(out)-1].append(" " + t)
		}
		blank = false
	}
	return out
}

// parts cuts values at commas and semicolons, but not within brackets.
func parts(it metadataField) (out []Value) {
	lines := it.lines
	if it.form != formFront && it.form != formSection && len(lines) > 0 {
		lines = []Value{it.value()}
	}
	for _, l := range lines {
		from, depth := 0, 0
		add := func(s string) {
			if s = strings.TrimSpace(s); s != "" && !nothing.MatchString(stripMarkup(s)) {
				out = append(out, Value{s, l.Line})
			}
		}
		if it.list { // "Bob, the lead" is one
			add(l.Text)
			continue
		}
		for i, r := range l.Text {
			switch {
			case strings.ContainsRune("([{", r):
				depth++
			case strings.ContainsRune(")]}", r):
				depth = max(0, depth-1)
			case depth == 0 && (r == ',' || r == ';'):
				add(l.Text[from:i])
				from = i + 1
			}
		}
		add(l.Text[from:])
	}
	return out
}

// names reads what is governed: code marks and links are taken off.
func names(it metadataField) (out []Value) {
	for _, v := range parts(it) {
		text := strings.Trim(linkMarkup.ReplaceAllString(v.Text, "$1"), " `\"'")
		if bold, ok := strings.CutPrefix(text, "**"); ok && !strings.Contains(text, "/") { // else it is a glob
			text = strings.Trim(strings.TrimSuffix(bold, "**"), " `")
		}
		if v.Text = text; text != "" {
			out = append(out, v)
		}
	}
	return out
}

// joined is the value of a field in one line.
func joined(it metadataField) string {
	texts := make([]string, 0, len(it.lines))
	for _, l := range it.lines {
		texts = append(texts, strings.Join(strings.Fields(l.Text), " "))
	}
	if it.form == formFront {
		return strings.Join(texts, ", ")
	}
	return strings.Join(texts, " ")
}

// check reports what a record should say and does not.
func (d *document) check() {
	switch {
	case !d.StatusText.Found() && (d.Decision.Found() || d.Number >= 0):
		d.problem(0, "no status", "Add a line such as \"Status: accepted\" below the title.")
	case d.StatusText.Found() && d.Status == Unknown:
		words := make([]string, 0, 5)
		for _, s := range Statuses() {
			words = append(words, string(s))
		}
		d.problem(d.StatusText.Line, "unknown status "+clipQuote(d.StatusText.Text), "Start it with one of "+strings.Join(words, ", ")+".")
	}
	var said []Status
	for _, it := range d.fields {
		if meaning[it.name] == meansStatus && len(it.lines) > 0 {
			if s := statusOf(it.text()); s != Unknown && !slices.Contains(said, s) {
				said = append(said, s)
			}
		}
	}
	if len(said) > 1 {
		d.problem(d.StatusText.Line, "two statuses, "+string(said[0])+" and "+string(said[1]), "Keep one of them.")
	}
}

func clipQuote(s string) string { return `"` + shorten(s, 60) + `"` }

// page is one Markdown file in a folder of decisions. It is never changed.
type page struct {
	doc     *document
	size    int64
	modTime time.Time
	readAt  time.Time
	words   func() words    // of the record, for Search: counted when they are asked for first
	targets func() []Target // of the record, likewise
}

func pageOf(d *document) *page {
	return &page{doc: d, words: sync.OnceValue(func() words { return wordsOf(d.Record) }), targets: sync.OnceValue(func() []Target { return Targets(d.Record) })}
}

// notRecords are names of pages that speak of the records.
var notRecords = map[string]bool{"readme": true, "index": true, "template": true, "adr-template": true, "_template": true, "toc": true, "contributing": true}

// isRecord reports whether a page is a record: it has a number, or an id, or a status and
// a decision. A page of another purpose in the same folder is none.
func (p *page) isRecord() bool {
	d := p.doc
	name := strings.ToLower(stem(d.Path))
	said := d.StatusText.Found() && (d.Decision.Found() || d.Context.Found())
	if notRecords[name] || strings.Contains(name, "template") && (d.Number <= 0 || d.Status == Unknown) {
		return false
	}
	if d.Number >= 1900 && d.Number < 2100 && !said && !d.Decision.Found() { // a year: "2024-roadmap.md"
		return false
	}
	return d.Number >= 0 || d.id().Found() || said
}

// The meanings of keys, whether in front matter, in lines below the title or in tables.
const (
	meansID           = "id"
	meansTitle        = "title"
	meansStatus       = "status"
	meansDate         = "date"
	meansDeciders     = "deciders"
	meansConsulted    = "consulted"
	meansInformed     = "informed"
	meansTags         = "tags"
	meansGoverns      = "governs"
	meansSupersedes   = "supersedes"
	meansSupersededBy = "superseded_by"
	meansEither       = "supersedes or superseded_by" // one line for both, as some templates have it
)

// meaning says what a key means, by its folded name.
var meaning = map[string]string{
	"id": meansID, "adr": meansID, "number": meansID,
	"title":  meansTitle,
	"status": meansStatus, "state": meansStatus,
	"date": meansDate, "decided": meansDate, "decidedon": meansDate, "datedecided": meansDate, "lastupdated": "", "created": meansDate,
	"deciders": meansDeciders, "decider": meansDeciders, "decisionmakers": meansDeciders, "decisionmaker": meansDeciders, "author": meansDeciders, "authors": meansDeciders,
	"owner": meansDeciders, "owners": meansDeciders, "decidedby": meansDeciders,
	"consulted": meansConsulted, "informed": meansInformed,
	"tags": meansTags, "tag": meansTags, "labels": meansTags, "keywords": meansTags, "categories": meansTags,
	"governs": meansGoverns, "appliesto": meansGoverns, "affects": meansGoverns, "scope": "", "paths": meansGoverns,
	"supersedes": meansSupersedes, "superseding": meansSupersedes, "replaces": meansSupersedes, "supercedes": meansSupersedes,
	"supersededby": meansSupersededBy, "replacedby": meansSupersededBy, "supercededby": meansSupersededBy,
	"supersedes/supersededby": meansEither, "supersedes/superseded": meansEither,
}

// maxJoined bounds what is put together line by line, in bytes: a status, an item of a
// list, an option. Sections are not bounded.
const maxJoined = 16 << 10

// append adds to a value, as far as there is room.
func (v *Value) append(text string) {
	if len(v.Text)+len(text) <= maxJoined {
		v.Text += text
	}
}

// ofKind lists the headings of a kind.
func (d *document) ofKind(k Kind) (out []int) {
	for i := range d.heads {
		if d.heads[i].kind == k {
			out = append(out, i)
		}
	}
	return out
}

// joinSections joins the sections of a kind, without those of another kind within them.
func (d *document) joinSections(k Kind) Value {
	v := Value{}
	var parts []string
	for _, i := range d.ofKind(k) {
		text := ""
		at := d.heads[i].next
		for j := i + 1; j < len(d.heads) && d.heads[j].at < d.heads[i].end; j++ {
			if d.heads[j].kind == "" || d.heads[j].kind == k && d.heads[j].level > 3 {
				continue
			}
			if d.heads[j].at >= at {
				text += d.text(at, d.heads[j].at) + "\n\n"
				at = d.heads[j].end
			}
		}
		text = strings.TrimSpace(text + d.text(at, d.heads[i].end))
		if v.Line == 0 {
			v.Line = d.heads[i].at + 1
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	v.Text = strings.Join(parts, "\n\n")
	if v.Text == "" {
		return Value{}
	}
	return v
}

// text is the lines from one index up to another, without white space around them.
func (d *document) text(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(strings.TrimRight(d.lines[i].text, " \t"))
		b.WriteByte('\n')
	}
	return strings.TrimRight(strings.TrimLeft(b.String(), "\n"), " \t\n")
}

// valueOf is the text of a range of lines, with the line on which it starts.
func (d *document) valueOf(from, to int) Value {
	for from < to && d.lines[from].blank() {
		from++
	}
	if from == to {
		return Value{}
	}
	return Value{d.text(from, to), from + 1}
}

// lastLine is the number of the last line of a range that says something.
func (d *document) lastLine(from, to int) int {
	for to > from && d.lines[to-1].blank() {
		to--
	}
	return to
}

// list reads a section as a list: its items, or its paragraphs where it has none.
func (d *document) list(head int) (out []Value) {
	h := d.heads[head]
	var code fence
	items, blank := false, true
	for i := h.next; i < h.end; i++ {
		if code.step(d.lines[i].text) {
			continue
		}
		t := strings.TrimSpace(d.lines[i].text)
		_, at, isItem := bullet(d.lines[i].text)
		switch {
		case t == "" || t == "---":
			blank = true
			continue
		case isItem:
			if !items {
				out, items = nil, true
			}
			out = append(out, Value{strings.TrimSpace(d.lines[i].text[at:]), i + 1})
		case len(out) > 0 && (!blank || d.lines[i].indent() > 0):
			out[len(out)-1].append(" " + t)
		case !items:
			out = append(out, Value{t, i + 1})
		}
		blank = false
	}
	return slices.DeleteFunc(out, func(v Value) bool { return v.Text == "" })
}
