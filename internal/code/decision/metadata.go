package decision

import (
	"slices"
	"strings"
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
func (d *document) named(it item, folder string) (out []Reference) {
	if it.form == formFront {
		for _, l := range it.lines {
			out = append(out, references(l, folder, true)...)
		}
		return out
	}
	return references(it.value(), folder, true)
}

// either reads "Supersedes / Superseded by: …", which says itself which of both.
func (d *document) either(it item, folder string) {
	v := it.value()
	switch t := strings.ToLower(plain(v.Text)); {
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
			word := strings.ToLower(plain(p.Text))
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
			switch word := strings.ToLower(plain(p.Text)); {
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
			it := item{lines: d.list(i)}
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
			out[len(out)-1].grow(" " + t)
		}
		blank = false
	}
	return out
}

// parts cuts values at commas and semicolons, but not within brackets.
func parts(it item) (out []Value) {
	lines := it.lines
	if it.form != formFront && it.form != formSection && len(lines) > 0 {
		lines = []Value{it.value()}
	}
	for _, l := range lines {
		from, depth := 0, 0
		add := func(s string) {
			if s = strings.TrimSpace(s); s != "" && !nothing.MatchString(plain(s)) {
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
func names(it item) (out []Value) {
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
func joined(it item) string {
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
		d.problem(d.StatusText.Line, "unknown status "+quote(d.StatusText.Text), "Start it with one of "+strings.Join(words, ", ")+".")
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

func quote(s string) string { return `"` + shorten(s, 60) + `"` }
