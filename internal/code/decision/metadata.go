package decision

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// first returns the first field with a meaning that has a value.
func (d *document) first(means string) Value {
	for _, it := range d.fields {
		if meaning[it.name] == means && len(it.lines) > 0 {
			return it.value()
		}
	}
	return Value{}
}

// id returns the record's id: from the front matter, or from a line below the title if it is a number: "ADR: 12".
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

// title returns the title in the front matter or in a section.
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

// metadata sets the record's fields from the metadata.
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
			if (!d.DateText.Found() || it.name == "date" && !dated) && len(it.lines) > 0 { // "created" is used only without "date"
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
			d.directed(it.value(), true)
		default:
			if v := it.value(); v.Found() {
				v.Text = joined(it)
				d.Extra = append(d.Extra, Entry{it.key, v})
			}
		}
	}
}

// named returns the records that a field names. A list names one per item.
func (d *document) named(it metadataField, folder string) (out []Reference) {
	if it.form == formFront {
		for _, l := range it.lines {
			out = append(out, references(l, folder, true)...)
		}
		return out
	}
	return references(it.value(), folder, true)
}

// directed adds the records that a value names after "supersedes" or "superseded by". list is as in references.
func (d *document) directed(v Value, list bool) {
	folder := folderOf(d.Path)
	switch t := strings.ToLower(stripMarkup(v.Text)); {
	case strings.HasPrefix(t, "superseded by"), strings.HasPrefix(t, "superceded by"):
		d.SupersededBy = append(d.SupersededBy, references(v, folder, list)...)
	case strings.HasPrefix(t, "supersedes"), strings.HasPrefix(t, "supercedes"):
		d.Supersedes = append(d.Supersedes, references(v, folder, list)...)
	}
}

var supersedesWord = lazyregexp.New(`(?i)\bsuper[sc]edes\b`)

// setStatus sets the status, its text, and the records that the text names.
func (d *document) setStatus(v Value) {
	d.StatusText, d.Status = v, statusOf(v.Text)
	folder := folderOf(d.Path)
	if !d.DateText.Found() {
		d.Date, _ = time.Parse(time.DateOnly, isoDate.FindString(v.Text)) // zero if there is none
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

// sectionFields reads fields that are sections, as in Nygard's form.
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
			case s == Superseded && d.Status != Superseded: // the last status counts
				d.setStatus(p)
			}
		}
	}
	for _, i := range d.ofKind(KindMore) { // MADR 2 and log4brains list successors as links
		for _, p := range d.paragraphs(i) {
			d.directed(p, false)
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

// paragraphs returns the paragraphs of a section. List items count as paragraphs.
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

// parts splits values at commas and semicolons outside of brackets.
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
		if it.list { // "Bob, the lead" is a single item
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

// names reads the names of what is governed, without code marks and links.
func names(it metadataField) (out []Value) {
	for _, v := range parts(it) {
		text := strings.Trim(linkMarkup.ReplaceAllString(v.Text, "$1"), " `\"'")
		if bold, ok := strings.CutPrefix(text, "**"); ok && !strings.Contains(text, "/") { // otherwise it is a glob
			text = strings.Trim(strings.TrimSuffix(bold, "**"), " `")
		}
		if v.Text = text; text != "" {
			out = append(out, v)
		}
	}
	return out
}

// joined returns the value of a field on one line.
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

// check reports missing fields.
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

func clipQuote(s string) string { return `"` + analysis.Clip(s, 60) + `"` }

// page is one Markdown file in a folder of decisions. It is immutable.
type page struct {
	doc     *document
	size    int64
	modTime time.Time
	readAt  time.Time
	words   func() words    // words of the record, computed when Search first needs them
	targets func() []Target // targets of the record, computed on first use
}

func pageOf(d *document) *page {
	return &page{doc: d, words: sync.OnceValue(func() words { return wordsOf(d.Record) }), targets: sync.OnceValue(func() []Target { return Targets(d.Record) })}
}

// notRecords are names of files that are not records.
var notRecords = map[string]bool{"readme": true, "index": true, "template": true, "adr-template": true, "_template": true, "toc": true, "contributing": true}

// isRecord reports whether a page is a record: it has a number, an id, or a status and a decision.
func (p *page) isRecord() bool {
	d := p.doc
	name := strings.ToLower(stem(d.Path))
	stated := d.StatusText.Found() && (d.Decision.Found() || d.Context.Found())
	if notRecords[name] || strings.Contains(name, "template") && (d.Number <= 0 || d.Status == Unknown) {
		return false
	}
	if d.Number >= 1900 && d.Number < 2100 && !stated && !d.Decision.Found() { // a year: "2024-roadmap.md"
		return false
	}
	return d.Number >= 0 || d.id().Found() || stated
}

// The meanings of keys in front matter, in lines below the title, and in tables.
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
	meansEither       = "supersedes or superseded_by" // one line for both, as in some templates
)

// meaning maps folded keys to their meanings.
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

// maxJoined is the maximum length of a value joined from several lines, in bytes: a status, a list item, an option.
// Sections are not limited.
const maxJoined = 16 << 10

// append adds text to a value unless it would exceed maxJoined.
func (v *Value) append(text string) {
	if len(v.Text)+len(text) <= maxJoined {
		v.Text += text
	}
}

// ofKind returns the indices of the headings of a kind.
func (d *document) ofKind(k Kind) (out []int) {
	for i := range d.heads {
		if d.heads[i].kind == k {
			out = append(out, i)
		}
	}
	return out
}

// joinSections joins the sections of a kind, without nested sections of another kind.
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

// text returns the lines from one index up to another, without surrounding white space.
func (d *document) text(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(strings.TrimRight(d.lines[i].text, " \t"))
		b.WriteByte('\n')
	}
	return strings.TrimRight(strings.TrimLeft(b.String(), "\n"), " \t\n")
}

// valueOf returns the text of a range of lines, with the line on which it begins.
func (d *document) valueOf(from, to int) Value {
	for from < to && d.lines[from].blank() {
		from++
	}
	if from == to {
		return Value{}
	}
	return Value{d.text(from, to), from + 1}
}

// lastLine returns the number of the last line in a range that is not blank.
func (d *document) lastLine(from, to int) int {
	for to > from && d.lines[to-1].blank() {
		to--
	}
	return to
}

// list reads a section as a list: its items, or its paragraphs if it has none.
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
