package decision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/projectfile"
)

// withLock runs do under the lock between processes, with the present content of the files, and writes the changes.
func (r *Registry) withLock(ctx context.Context, do func(v *snapshot) ([]projectfile.Change, error)) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	release, err := r.files.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := r.refresh(ctx); err != nil {
		return err
	}
	changes, err := do(r.view.Load())
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c projectfile.Change) bool {
		return c.Was != nil && c.Now != nil && string(c.Was) == string(c.Now)
	})
	if err := r.files.Commit(changes...); err != nil {
		return err
	}
	var written []string
	for _, c := range changes {
		written = append(written, c.Path)
	}
	_, err = r.refresh(ctx, written...)
	return err
}

// Create writes a new record in the form of MADR 4 and returns it. It has the next number that is free in all folders.
// Errors: ErrInvalid for the draft.
func (r *Registry) Create(ctx context.Context, d Draft) (Record, error) {
	if err := r.completeDraft(&d); err != nil {
		return Record{}, err
	}
	var at string
	err := r.withLock(ctx, func(v *snapshot) ([]projectfile.Change, error) {
		c, err := r.newFile(v, &d)
		at = c.Path
		return []projectfile.Change{c}, err
	})
	return r.written(at, err)
}

// Import creates a record from the JSON form. It keeps the ID if it is free, and any status.
func (r *Registry) Import(ctx context.Context, x Exchange) (Record, error) {
	d := Draft{Title: x.Title, Status: statusOf(x.Status), Context: x.Context, Deciders: x.Deciders, Tags: x.Tags, Governs: x.Governs, Options: x.Alternatives,
		Decision: x.Decision, Consequences: x.Consequences, wantedID: x.ID, imported: true}
	if d.Status == Unknown {
		d.Status = Proposed
	}
	if x.Date != "" {
		var v document
		v.setDate(Value{x.Date, 1})
		if v.Date.IsZero() {
			return Record{}, invalid("date", "unknown date "+clipQuote(x.Date), "Write it as 2026-11-22.")
		}
		d.Date = v.Date
	}
	for _, id := range x.Supersedes {
		_, id = fromID(id)
		d.supersedes = append(d.supersedes, pointer{id: id})
	}
	d.supersededBy = x.SupersededBy
	return r.Create(ctx, d)
}

// completeDraft sets defaults and checks a draft. It removes a number from the title, because Create assigns one.
func (r *Registry) completeDraft(d *Draft) error {
	if _, words := fromTitle(d.Title); words != "" {
		d.Title = words
	}
	if d.Status == Unknown {
		d.Status = Proposed
	}
	if d.Date.IsZero() {
		d.Date = r.o.Now()
	}
	if d.Folder != "" {
		if d.Folder = path.Clean(strings.TrimSuffix(d.Folder, "/")); !slices.ContainsFunc(r.o.Folders, func(f string) bool { return d.Folder == f || strings.HasPrefix(d.Folder, f+"/") }) {
			return invalid("folder", clipQuote(d.Folder)+" is none of the folders of decisions", "Use one of "+strings.Join(r.o.Folders, ", ")+".")
		}
	}
	return d.validate()
}

// newFile returns the change that writes a draft to a new file.
func (r *Registry) newFile(v *snapshot, d *Draft) (projectfile.Change, error) {
	number, folder := v.next(), d.Folder
	if n, id := fromID(d.wantedID); n >= 0 && len(v.byID[foldText(id)]) == 0 {
		number = n
	}
	if folder == "" {
		folder = r.newRecordFolder(v)
	}
	name := v.naming(folder, number) + slug(d.Title) + ".md"
	_, id, _ := fromFile(name)
	now := d.render(id)
	p := path.Join(folder, name)
	if got := parse(p, now); got.Status != d.Status || got.ID.Text != id || stripMarkup(got.Title.Text) != stripMarkup(d.Title) {
		return projectfile.Change{}, invalid("", "the draft would not be read as intended", "Remove Markdown and YAML syntax from the title and the texts.")
	}
	return projectfile.Change{Path: p, Now: now}, nil
}

// next returns the next free number.
func (v *snapshot) next() int {
	n := 0
	for _, p := range v.pages {
		if !p.isRecord() && p.doc.Number >= 1900 {
			continue // a year
		}
		inFile, _, _ := fromFile(p.doc.Path) // the number of a template counts, too
		n = max(n, p.doc.Number, inFile)
	}
	for _, p := range v.unreadFiles { // an unreadable file has a number, too
		if inFile, _, _ := fromFile(p.Path); markdown(p.Path) {
			n = max(n, inFile)
		}
	}
	return n + 1
}

// newRecordFolder returns the folder for a new record: the folder with the most records, else the first one that exists, else
// docs/decisions, as in MADR, or the first one of the options.
func (r *Registry) newRecordFolder(v *snapshot) string {
	count := map[string]int{}
	for _, e := range v.records {
		count[folderWithoutArchive(e.rec.Path)]++
	}
	best, most := "", 0
	for _, e := range v.records {
		if f := folderWithoutArchive(e.rec.Path); count[f] > most {
			best, most = f, count[f]
		}
	}
	if best != "" {
		return best
	}
	for _, f := range r.o.Folders {
		if e, err := r.files.Stat(f); err == nil && e.Folder {
			return f
		}
	}
	if slices.Contains(r.o.Folders, "docs/decisions") {
		return "docs/decisions"
	}
	return r.o.Folders[0]
}

var namePrefix = lazyregexp.New(`^(\D*)(\d{2,6})([-_])`)

// naming returns the prefix of a new file's name, in the style of the latest record in the folder.
func (v *snapshot) naming(folder string, number int) string {
	prefix, width, dash := "", 4, "-"
	for _, e := range v.records {
		if folderWithoutArchive(e.rec.Path) != folder {
			continue
		}
		if inFile, _, _ := fromFile(e.rec.Path); inFile < 0 {
			continue
		}
		if m := namePrefix.FindStringSubmatch(path.Base(e.rec.Path)); m != nil {
			prefix, width, dash = m[1], len(m[2]), m[3]
		}
	}
	n := strconv.Itoa(number)
	return prefix + strings.Repeat("0", max(0, width-len(n))) + n + dash
}

// written returns the record at a path after a change that returned err.
func (r *Registry) written(p string, err error) (Record, error) {
	if err != nil {
		return Record{}, err
	}
	if e := r.view.Load().byPath[p]; e != nil {
		return e.rec, nil
	}
	return Record{}, &ken.Error{Code: ken.CodeInternal, Field: p, Msg: "was written but can't be read as a record"}
}

// SetStatus changes the status of a record and nothing else. Errors: ErrNotFound; ErrInvalid for Unknown, and for
// Superseded, which needs Supersede; ErrRefused for a file that can't be edited and is not changed.
func (r *Registry) SetStatus(ctx context.Context, name string, to Status) (Record, error) {
	switch {
	case !slices.Contains(Statuses(), to):
		return Record{}, invalid("status", "unknown status "+clipQuote(string(to)), "Use proposed, accepted, rejected or deprecated.")
	case to == Superseded:
		return Record{}, invalid("status", "a record is superseded by another one", "Supersede it, and name the successor; or call it deprecated.")
	}
	var at string
	err := r.withLock(ctx, func(v *snapshot) ([]projectfile.Change, error) {
		e, err := v.find(name)
		if err != nil {
			return nil, err
		}
		at = e.rec.Path
		if e.rec.Status == to {
			return nil, nil
		}
		c, err := e.doc.statusChange(to, nil)
		return []projectfile.Change{c}, err
	})
	return r.written(at, err)
}

// statusChange returns the change that sets the status in a file.
func (d *document) statusChange(to Status, by *pointer) (projectfile.Change, error) {
	c := projectfile.Change{Path: d.Path, Was: d.src}
	if err := d.editable(); err != nil {
		return c, err
	}
	edits, err := d.statusEdits(to, by)
	if err != nil {
		return c, err
	}
	if by != nil && d.has(meansSupersededBy) {
		more, err := d.listEdits(meansSupersededBy, "Superseded by", *by)
		if err != nil {
			return c, err
		}
		edits = append(edits, more...)
	}
	c.Now = applyEdits(d.src, edits)
	err = d.verified(c.Now, func(r Record) bool {
		return r.Status == to && (by == nil || len(r.SupersededBy) > 0)
	})
	return c, err
}

func (d *document) has(means string) bool {
	return slices.ContainsFunc(d.fields, func(it metadataField) bool { return meaning[it.name] == means })
}

// pointTo returns the way in which the file at a path names a record.
func (v *snapshot) pointTo(from string, to Record) pointer {
	target := cmp.Or(relative(path.Dir(from), to.Path), to.Path)
	p := pointer{link: "[" + to.ID.Text + "](" + escapeLink(target) + ")"}
	if to.Number >= 0 && len(v.byID[foldText(to.ID.Text)]) < 2 {
		p.id = to.ID.Text
	}
	return p
}

// edit replaces src[from:to].
type edit struct {
	from, to int
	text     string
}

// applyEdits applies edits, which must not overlap, to the bytes of a file.
func applyEdits(src []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		b.Write(src[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(src[at:])
	return b.Bytes()
}

// pointer is a file's reference to another record, in two forms.
type pointer struct {
	id   string // "ADR-0042", if the ID alone is unambiguous
	link string // "[ADR-0042](0042-x.md)"
}

// inForm returns the pointer in the form for a field. Front matter has IDs, Markdown has links.
func (p pointer) inForm(f fieldForm) string {
	if f == formFront && p.id != "" {
		return p.id
	}
	return p.link
}

// editable returns an error if the file must not be edited.
func (d *document) editable() error {
	if d.readOnlyReason == "" {
		return nil
	}
	line := 0
	for _, p := range d.problems {
		if strings.HasSuffix(p.Text, d.readOnlyReason) {
			line = p.Line
		}
	}
	return &ken.Error{Code: ken.CodeRefused, Field: position(d.Path, line), Msg: d.readOnlyReason + "; the file was left alone", Try: "Correct the file first."}
}

// position returns "path:line", or the path alone for line 0.
func position(path string, line int) string {
	if line > 0 {
		return path + ":" + digits(line)
	}
	return path
}

// statusPlaces returns all places where a file states its status. All of them must be edited, to avoid contradictions.
func (d *document) statusPlaces() (out []metadataField) {
	for _, it := range d.fields {
		if meaning[it.name] == meansStatus {
			out = append(out, it)
		}
	}
	for _, i := range d.ofKind(KindStatus) {
		for _, p := range d.paragraphs(i) {
			if s := statusOf(p.Text); s == Unknown && len(out) > 0 || strings.HasPrefix(strings.ToLower(stripMarkup(p.Text)), "supersedes") {
				continue
			}
			k := p.Line - 1
			text := d.lines[k].text
			from := len(text) - len(strings.TrimLeft(text, " \t"))
			if _, at, ok := bullet(text); ok {
				from = at
			}
			out = append(out, metadataField{key: "Status", form: formSection, at: k, from: from, to: len(strings.TrimRight(text, " \t")), until: k + 1, lines: []Value{p}})
			if statusOf(p.Text) != Unknown {
				break
			}
		}
	}
	return out
}

var byReference = lazyregexp.New(`^\s+by:?\s+(?:\[[^\[\]]*\]\([^()\s]*\)|(?i:ADR[-_ #]*)?\d+|[^\s.,;)\]}"'*|]+)(?:(?:,|\s+and)\s+(?:\[[^\[\]]*\]\([^()\s]*\)|(?i:ADR[-_ #]*)\d+))*`)

// statusEdits returns the edits that set the status and the successor.
func (d *document) statusEdits(to Status, by *pointer) ([]edit, error) {
	places := d.statusPlaces()
	if len(places) == 0 {
		return d.insertField("Status", string(to)+suffix(by, formLine), "status: "+string(to)+suffix(by, formFront)), nil
	}
	var edits []edit
	for _, it := range places {
		l := d.lines[it.at]
		raw := string(d.src[l.from+it.from : l.from+it.to])
		was, from, end := statusPhrase(raw)
		if was == Superseded || strings.HasPrefix(strings.ToLower(raw[from:]), "superseded") {
			if m := byReference.FindStringIndex(raw[end:]); m != nil {
				end += m[1]
			}
		}
		if it.form == formFront && (len(it.lines) > 1 || it.until > it.at+1) || was == Unknown && len(it.lines) > 1 {
			return nil, &ken.Error{Code: ken.CodeRefused, Field: position(d.Path, it.at+1), Msg: "the status has several lines", Try: "Put it on one line, such as \"accepted\"."}
		}
		if was == Unknown {
			from, end = 0, len(raw)
			if it.form == formFront && raw != "" && (raw[0] == '"' || raw[0] == '\'') {
				from, end = 1, len(raw)-1
			}
		}
		text := matchCase(string(to), raw[from:end]) + suffix(by, it.form)
		if raw == "" && it.from > 0 && !strings.HasSuffix(l.text[:it.from], " ") {
			text = " " + text
		}
		edits = append(edits, edit{l.from + it.from + from, l.from + it.from + end, text})
	}
	return edits, nil
}

func suffix(by *pointer, f fieldForm) string {
	if by == nil {
		return ""
	}
	return " by " + by.inForm(f)
}

// matchCase writes a word in the case of another one: Accepted, ACCEPTED or accepted.
func matchCase(word, like string) string {
	first := strings.IndexFunc(like, unicode.IsLetter)
	if first < 0 || !unicode.IsUpper(rune(like[first])) {
		return word
	}
	head, _, _ := strings.Cut(like[first:], " ")
	if len(head) > 1 && head == strings.ToUpper(head) {
		return strings.ToUpper(word)
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// listEdits returns the edits that add a record to the field with a meaning, in the field's form. If the field does not
// exist, it is added next to the status.
func (d *document) listEdits(means, key string, p pointer) ([]edit, error) {
	if err := d.editable(); err != nil {
		return nil, err
	}
	for _, it := range d.fields {
		m := meaning[it.name]
		if m != means && m != meansEither {
			continue
		}
		l := d.lines[it.at]
		raw := string(d.src[l.from+it.from : l.from+it.to])
		empty := nothing.MatchString(stripMarkup(raw)) && it.until == it.at+1
		set := func(value string) []edit {
			if it.from > 0 && l.text[it.from-1] == ':' {
				value = " " + value
			}
			return []edit{{l.from + it.from, l.from + it.to, value}}
		}
		switch {
		case m == meansEither && !empty:
			continue
		case m == meansEither:
			return set(key + " " + p.link), nil
		case empty && it.form == formFront:
			return set("[" + plainyaml.Quote(p.inForm(formFront)) + "]"), nil
		case empty:
			return set(p.link), nil
		case it.form == formFront:
			return d.frontListEdits(it, raw, p)
		}
		last := d.lines[it.until-1]
		if it.form == formRow || it.form == formColumn {
			return []edit{{l.from + it.to, l.from + it.to, ", " + p.link}}, nil
		}
		end := last.from + len(strings.TrimRight(last.text, " \t"))
		return []edit{{end, end, ", " + p.link}}, nil
	}
	return d.insertField(key, p.link, strings.ToLower(key)+": ["+plainyaml.Quote(p.inForm(formFront))+"]"), nil
}

// frontListEdits adds an item to a list in the front matter.
func (d *document) frontListEdits(it metadataField, raw string, p pointer) ([]edit, error) {
	l := d.lines[it.at]
	switch {
	case strings.HasPrefix(raw, "[") && strings.HasSuffix(raw, "]") && it.until == it.at+1:
		at := l.from + it.from + len(strings.TrimRight(raw[:len(raw)-1], " "))
		return []edit{{at, at, ", " + plainyaml.Quote(p.inForm(formFront))}}, nil
	case raw != "" && it.until == it.at+1 && len(it.lines) == 1: // a single value becomes a list
		return []edit{{l.from + it.from, l.from + it.from, "["}, {l.from + it.to, l.from + it.to, ", " + plainyaml.Quote(p.inForm(formFront)) + "]"}}, nil
	case raw == "" && len(it.lines) > 0:
		last := d.lines[it.until-1]
		dash := strings.IndexByte(last.text, '-')
		if dash >= 0 && strings.TrimSpace(last.text[:dash]) == "" && it.lines[len(it.lines)-1].Line == it.until {
			return []edit{{last.to, last.to, lineEnd(d.src) + last.text[:dash] + "- " + plainyaml.Quote(p.inForm(formFront))}}, nil
		}
	}
	return nil, &ken.Error{Code: ken.CodeRefused, Field: position(d.Path, it.at+1), Msg: "the list is written in a way that can't be edited", Try: "Write it as \"" + it.key + ": [ADR-0001]\"."}
}

// insertField adds a field in the form of the status, else to the front matter, else below the title.
func (d *document) insertField(key, value, front string) []edit {
	eol := lineEnd(d.src)
	after := func(k int, text string) []edit {
		return []edit{{d.lines[k].to, d.lines[k].to, eol + text}}
	}
	for _, it := range d.statusPlaces() {
		text := d.lines[it.at].text
		switch it.form {
		case formFront:
			return after(it.until-1, front)
		case formLine:
			at := strings.Index(text[:it.from], it.key)
			if at < 0 {
				continue
			}
			return after(it.until-1, text[:at]+matchCase(strings.ToLower(key), it.key)+text[at+len(it.key):it.from]+value)
		case formRow:
			return after(it.at, "| "+matchCase(strings.ToLower(key), it.key)+" | "+value+" |")
		case formInline:
			return after(it.at, eol+key+": "+value)
		case formColumn:
			k := it.at
			for k+1 < len(d.lines) && strings.HasPrefix(strings.TrimSpace(d.lines[k+1].text), "|") {
				k++
			}
			return after(k, eol+key+": "+value)
		case formSection:
			k := it.at
			for k+1 < len(d.lines) && !d.lines[k+1].blank() {
				if _, _, ok := bullet(d.lines[k+1].text); ok {
					break
				}
				k++
			}
			return after(k, eol+key+" "+value)
		}
	}
	if d.front.open {
		return after(d.front.end-1, front)
	}
	if top := d.titleHeading(); top != nil {
		return after(top.next-1, eol+key+": "+value)
	}
	if len(d.lines) == 0 {
		return []edit{{len(d.src), len(d.src), key + ": " + value + eol}}
	}
	return []edit{{d.lines[0].from, d.lines[0].from, key + ": " + value + eol + eol}}
}
