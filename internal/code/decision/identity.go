package decision

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	fileNumber  = lazyregexp.New(`^(?:((?:[A-Z][A-Z0-9]*[-_])*ADR(?:[-_][A-Za-z]+)*)[-_]?|(?i:(?:adr|adl|decision|rfc|dr)[-_ ]?))?(0*(\d{1,6}))(?:[-_. ]+(.*))?$`)
	fileDate    = lazyregexp.New(`^(?:\d{4}-\d{2}-\d{2}|\d{8})(?:[-_ ]+(.*))?$`)
	titleNumber = lazyregexp.New(`(?i)^\[?(?:adr|adl|decision record|decision|rfc|dr)[\s#:_-]*0*(\d{1,6})\]?(?:\s*[.:)]\s*|\s*[–—-]+\s*|\s+|$)(.*)$`)
	bareNumber  = lazyregexp.New(`^(?:#|\[)?0*(\d{1,6})\]?(?:[.:)]\s+|\s*[–—]\s*|\s+-+\s+)(\S.*)$`)
	writtenID   = lazyregexp.New(`(?i)^(?:adrs?[-_ #]*)+0*(\d{1,6})$`)
	attributes  = lazyregexp.New(`\s*\{[#.][^{}]*\}\s*$`) // {#anchor} behind a heading
	noTitle     = lazyregexp.New(`(?i)^(?:title|architect\w* decision records?(?: \(adr\))?|adr)$`)
)

// idOf is the spelling of a number: ADR-0042.
func idOf(number int) string { return fmt.Sprintf("ADR-%04d", number) }

// folderOf is the folder of a path; empty for the root.
func folderOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// stem is a file's name without its ending.
func stem(p string) string {
	base := path.Base(p)
	return strings.TrimSuffix(base, path.Ext(base))
}

// fromFile is what a file's name says: its number or NoNumber, the ID that it makes of it, and the
// words behind it. Names such as ODH-ADR-MS-0007-x.md count by series of their own.
func fromFile(p string) (number int, id, rest string) {
	s := stem(p)
	if m := fileDate.FindStringSubmatch(s); m != nil {
		return NoNumber, "", m[1]
	}
	m := fileNumber.FindStringSubmatch(s)
	if m == nil {
		return NoNumber, "", s
	}
	n, _ := strconv.Atoi(m[3])
	if m[1] != "" && m[1] != "ADR" {
		return n, m[1] + "-" + m[2], m[4]
	}
	return n, idOf(n), m[4]
}

// fromTitle is what a heading says: its number or NoNumber, and the words behind it.
func fromTitle(title string) (number int, rest string) {
	t := strings.TrimSpace(title)
	if strings.Contains(t, "{") {
		t = attributes.ReplaceAllString(t, "")
	}
	if bold, ok := strings.CutPrefix(t, "**"); ok {
		t = strings.TrimSuffix(bold, "**")
	}
	m := titleNumber.FindStringSubmatch(t)
	if m == nil {
		m = bareNumber.FindStringSubmatch(t)
	}
	if m == nil {
		return NoNumber, t
	}
	n, _ := strconv.Atoi(m[1])
	return n, strings.TrimSpace(m[2])
}

// fromID is what an id in front matter says: its number or NoNumber, and how it is spelled here.
func fromID(id string) (number int, spelled string) {
	id = strings.TrimSpace(id)
	if m := writtenID.FindStringSubmatch(id); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n, idOf(n)
	}
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < 1e6 {
		return n, idOf(n)
	}
	return NoNumber, id
}

// identify sets ID, Number and Title from what was found, and reports where they differ.
func (d *document) identify(id, title Value, top *heading) {
	r := &d.Record
	inFile, fileID, rest := fromFile(r.Path)
	inTitle := NoNumber
	r.Number = NoNumber
	if top != nil {
		n, words := fromTitle(top.title)
		inTitle = n
		if words == "" {
			words = strings.ReplaceAll(rest, "-", " ")
		}
		r.Title = Value{words, top.at + 1}
	}
	if title.Found() && (top == nil || r.Title.Text == "" || noTitle.MatchString(r.Title.Text)) {
		n, words := fromTitle(title.Text)
		inTitle = n
		r.Title = Value{words, title.Line}
	}
	if id.Found() {
		n, spelled := fromID(id.Text)
		r.Number, r.ID = n, Value{spelled, id.Line}
	}
	titleLine := max(1, r.Title.Line)
	switch {
	case r.ID.Text != "":
	case inFile >= 0:
		r.Number, r.ID = inFile, Value{fileID, titleLine}
	case inTitle >= 0:
		r.Number, r.ID = inTitle, Value{idOf(inTitle), titleLine}
	default:
		r.ID = Value{stem(r.Path), titleLine}
	}
	if r.Title.Text == "" {
		r.Title = Value{strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(rest)), 1}
	}
	if inFile >= 0 && inTitle >= 0 && inFile != inTitle {
		d.problem(r.Title.Line, fmt.Sprintf("the title has number %d, the file's name %d", inTitle, inFile), "Give both the same number.")
	}
	if id.Found() && r.Number >= 0 && inFile >= 0 && r.Number != inFile {
		d.problem(id.Line, fmt.Sprintf("the front matter has number %d, the file's name %d", r.Number, inFile), "Give both the same number.")
	}
	if r.Number == NoNumber {
		r.Number = max(inFile, inTitle)
	}
	r.Handle = r.ID.Text
}
