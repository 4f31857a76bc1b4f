package decision

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// edit replaces src[from:to].
type edit struct {
	from, to int
	text     string
}

// applied returns the bytes of a file with edits, which do not overlap.
func applied(src []byte, edits []edit) []byte {
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

// pointer is how a file names another record.
type pointer struct {
	id   string // "ADR-0042", where that is enough
	link string // "[ADR-0042](0042-x.md)"
}

// in is the pointer as a form has it: links are for Markdown.
func (p pointer) in(f form) string {
	if f == formFront && p.id != "" {
		return p.id
	}
	return p.link
}

// editable returns why a file must be left alone, as an error.
func (d *document) editable() error {
	if d.sealed == "" {
		return nil
	}
	line := 0
	for _, p := range d.problems {
		if strings.HasSuffix(p.Text, d.sealed) {
			line = p.Line
		}
	}
	return &ken.Error{Code: ken.CodeRefused, Field: place(d.Path, line), Msg: d.sealed + "; the file was left alone", Try: "Mend the file first."}
}

// place is "path:line", or the path alone.
func place(path string, line int) string {
	if line > 0 {
		return path + ":" + digits(line)
	}
	return path
}

// statusPlaces are where a file says its status: every one must be edited, or it would
// say two.
func (d *document) statusPlaces() (out []item) {
	for _, it := range d.fields {
		if meaning[it.name] == meansStatus {
			out = append(out, it)
		}
	}
	for _, i := range d.ofKind(KindStatus) {
		for _, p := range d.paragraphs(i) {
			if s := statusOf(p.Text); s == Unknown && len(out) > 0 || strings.HasPrefix(strings.ToLower(plain(p.Text)), "supersedes") {
				continue
			}
			k := p.Line - 1
			text := d.lines[k].text
			from := len(text) - len(strings.TrimLeft(text, " \t"))
			if _, at, ok := bullet(text); ok {
				from = at
			}
			out = append(out, item{key: "Status", form: formSection, at: k, from: from, to: len(strings.TrimRight(text, " \t")), until: k + 1, lines: []Value{p}})
			if statusOf(p.Text) != Unknown {
				break
			}
		}
	}
	return out
}

var byReference = lazyregexp.New(`^\s+by:?\s+(?:\[[^\[\]]*\]\([^()\s]*\)|(?i:ADR[-_ #]*)?\d+|[^\s.,;)\]}"'*|]+)(?:(?:,|\s+and)\s+(?:\[[^\[\]]*\]\([^()\s]*\)|(?i:ADR[-_ #]*)\d+))*`)

// statusEdits makes a file say another status, and by what it was superseded.
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
			return nil, &ken.Error{Code: ken.CodeRefused, Field: place(d.Path, it.at+1), Msg: "the status goes over several lines", Try: "Put it on one line, such as \"accepted\"."}
		}
		if was == Unknown {
			from, end = 0, len(raw)
			if it.form == formFront && raw != "" && (raw[0] == '"' || raw[0] == '\'') {
				from, end = 1, len(raw)-1
			}
		}
		text := cased(string(to), raw[from:end]) + suffix(by, it.form)
		if raw == "" && it.from > 0 && !strings.HasSuffix(l.text[:it.from], " ") {
			text = " " + text
		}
		edits = append(edits, edit{l.from + it.from + from, l.from + it.from + end, text})
	}
	return edits, nil
}

func suffix(by *pointer, f form) string {
	if by == nil {
		return ""
	}
	return " by " + by.in(f)
}

// cased writes a word as another one is written: Accepted, ACCEPTED or accepted.
func cased(word, like string) string {
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

// listEdits adds a record to a field that names records, in the field's own form, or adds
// the field: "supersedes" beside the status.
func (d *document) listEdits(means, key, verb string, p pointer) ([]edit, error) {
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
		empty := nothing.MatchString(plain(raw)) && it.until == it.at+1
		switch {
		case m == meansEither && !empty:
			continue
		case m == meansEither:
			return []edit{{l.from + it.from, l.from + it.to, spaced(l.text, it.from, verb+" "+p.link)}}, nil
		case empty && it.form == formFront:
			return []edit{{l.from + it.from, l.from + it.to, spaced(l.text, it.from, "["+plainyaml.Quote(p.in(formFront))+"]")}}, nil
		case empty:
			return []edit{{l.from + it.from, l.from + it.to, spaced(l.text, it.from, p.link)}}, nil
		case it.form == formFront:
			return d.frontList(it, raw, p)
		}
		last := d.lines[it.until-1]
		if it.form == formRow || it.form == formColumn {
			return []edit{{l.from + it.to, l.from + it.to, ", " + p.link}}, nil
		}
		end := last.from + len(strings.TrimRight(last.text, " \t"))
		return []edit{{end, end, ", " + p.link}}, nil
	}
	return d.insertField(key, p.link, strings.ToLower(key)+": ["+plainyaml.Quote(p.in(formFront))+"]"), nil
}

// spaced puts a space before a value where the line has none behind its colon.
func spaced(line string, from int, value string) string {
	if from > 0 && line[from-1] == ':' {
		return " " + value
	}
	return value
}

// frontList adds an item to a list of the front matter.
func (d *document) frontList(it item, raw string, p pointer) ([]edit, error) {
	l := d.lines[it.at]
	switch {
	case strings.HasPrefix(raw, "[") && strings.HasSuffix(raw, "]") && it.until == it.at+1:
		at := l.from + it.from + len(strings.TrimRight(raw[:len(raw)-1], " "))
		return []edit{{at, at, ", " + plainyaml.Quote(p.in(formFront))}}, nil
	case raw != "" && it.until == it.at+1 && len(it.lines) == 1: // a single value becomes a list
		return []edit{{l.from + it.from, l.from + it.from, "["}, {l.from + it.to, l.from + it.to, ", " + plainyaml.Quote(p.in(formFront)) + "]"}}, nil
	case raw == "" && len(it.lines) > 0:
		last := d.lines[it.until-1]
		dash := strings.IndexByte(last.text, '-')
		if dash >= 0 && strings.TrimSpace(last.text[:dash]) == "" && it.lines[len(it.lines)-1].Line == it.until {
			return []edit{{last.to, last.to, lineEnd(d.src) + last.text[:dash] + "- " + plainyaml.Quote(p.in(formFront))}}, nil
		}
	}
	return nil, &ken.Error{Code: ken.CodeRefused, Field: place(d.Path, it.at+1), Msg: "the list is written in a way that can't be edited", Try: "Write it as \"" + it.key + ": [ADR-0001]\"."}
}

// insertField adds a field in the form in which the file has its status, else to the front
// matter, else below the title.
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
			return after(it.until-1, text[:at]+cased(strings.ToLower(key), it.key)+text[at+len(it.key):it.from]+value)
		case formRow:
			return after(it.at, "| "+cased(strings.ToLower(key), it.key)+" | "+value+" |")
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
	if top := d.top(); top != nil {
		return after(top.next-1, eol+key+": "+value)
	}
	if len(d.lines) == 0 {
		return []edit{{len(d.src), len(d.src), key + ": " + value + eol}}
	}
	return []edit{{d.lines[0].from, d.lines[0].from, key + ": " + value + eol + eol}}
}
