package decision

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Supersede marks one record as superseded by another. The old record's status names the new one, and the new record
// names the old one, each in the form of its file; nothing else changes. Both files are written or none. A repeated
// call changes nothing. It returns both records. Errors: ErrNotFound; ErrRefused if the old record is already
// superseded by another one, if it is accepted and the new one is not, if the result would be a cycle, and for a file that can't be edited.
func (r *Registry) Supersede(ctx context.Context, old, by string) (was, now Record, err error) {
	var paths [2]string
	err = r.withLock(ctx, func(v *snapshot) ([]projectfile.Change, error) {
		o, err := v.find(old)
		if err != nil {
			return nil, err
		}
		n, err := v.find(by)
		if err != nil {
			return nil, err
		}
		paths = [2]string{o.rec.Path, n.rec.Path}
		if err := o.supersedeError(n); err != nil {
			return nil, err
		}
		return v.supersedeChanges(o, n)
	})
	return r.supersedePair(paths, err)
}

// SupersedeBy creates a record that supersedes another one, like Create followed by Supersede, but writes both files or
// none. The new record is Accepted by default, and is placed in the old one's folder by default.
func (r *Registry) SupersedeBy(ctx context.Context, old string, d Draft) (was, now Record, err error) {
	if d.Status == Unknown {
		d.Status = Accepted
	}
	if err := r.completeDraft(&d); err != nil {
		return Record{}, Record{}, err
	}
	var paths [2]string
	err = r.withLock(ctx, func(v *snapshot) ([]projectfile.Change, error) {
		o, err := v.find(old)
		if err != nil {
			return nil, err
		}
		if err := o.supersedeError(nil); err != nil {
			return nil, err
		}
		d.Folder = cmp.Or(d.Folder, folderWithoutArchive(o.rec.Path))
		blank, err := r.newFile(v, &d)
		if err != nil {
			return nil, err
		}
		d.supersedes = []pointer{v.pointTo(blank.Path, o.rec)}
		create, err := r.newFile(v, &d)
		if err != nil {
			return nil, err
		}
		p := v.pointTo(o.rec.Path, parse(create.Path, create.Now).Record)
		yield, err := o.doc.statusChange(Superseded, &p)
		paths = [2]string{o.rec.Path, create.Path}
		return []projectfile.Change{create, yield}, err
	})
	return r.supersedePair(paths, err)
}

func (r *Registry) supersedePair(paths [2]string, err error) (was, now Record, _ error) {
	if was, err = r.written(paths[0], err); err == nil {
		now, err = r.written(paths[1], err)
	}
	return was, now, err
}

// supersedeError returns an error if a record can't be superseded by to. A nil to is a new record.
func (e *entry) supersedeError(to *entry) error {
	if e == to {
		return invalid("by", e.rec.Handle+" can't supersede itself", "Name another record, or call it deprecated.")
	}
	for _, by := range e.successors {
		if by != to && e.rec.Status == Superseded {
			return &ken.Error{Code: ken.CodeRefused, Field: "old", Msg: e.rec.Handle + " is superseded by " + by.rec.Handle + " already",
				Try: "Supersede " + by.rec.Handle + ", the record that holds now."}
		}
	}
	if to == nil {
		return nil
	}
	seen := map[*entry]bool{}
	var reaches func(from *entry) bool
	reaches = func(from *entry) bool {
		if from == e || seen[from] {
			return from == e
		}
		seen[from] = true
		return slices.ContainsFunc(from.successors, reaches)
	}
	if reaches(to) {
		return &ken.Error{Code: ken.CodeRefused, Field: "by", Msg: to.rec.Handle + " was itself superseded by " + e.rec.Handle + ", or by what followed it",
			Try: "Supersede by the record that holds now; see the history of " + e.rec.Handle + "."}
	}
	if e.rec.Status == Accepted && to.rec.Status != Accepted {
		return &ken.Error{Code: ken.CodeRefused, Field: "by", Msg: to.rec.Handle + " is not accepted: with it in place of the other, nothing would hold",
			Try: "A person can accept it with ken decision accept " + to.rec.Handle + ". Or name one that is accepted."}
	}
	return nil
}

// supersedeChanges returns the changes that link two records, leaving out what they already contain.
func (v *snapshot) supersedeChanges(o, n *entry) ([]projectfile.Change, error) {
	var changes []projectfile.Change
	names := func(in *entry, refs []Reference, to *entry) bool {
		return slices.ContainsFunc(refs, func(ref Reference) bool {
			e, _ := v.resolve(in, ref.Path, ref.ID)
			return e == to && !ref.Partial
		})
	}
	if !names(n, n.rec.Supersedes, o) {
		edits, err := n.doc.listEdits(meansSupersedes, "Supersedes", v.pointTo(n.rec.Path, o.rec))
		if err != nil {
			return nil, err
		}
		c := projectfile.Change{Path: n.rec.Path, Was: n.doc.src, Now: applyEdits(n.doc.src, edits)}
		before := len(n.rec.Supersedes)
		if err := n.doc.verified(c.Now, func(r Record) bool { return r.Status == n.rec.Status && len(r.Supersedes) > before }); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if o.rec.Status != Superseded || !names(o, o.rec.SupersededBy, n) {
		p := v.pointTo(o.rec.Path, n.rec)
		c, err := o.doc.statusChange(Superseded, &p)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Status is the status of a decision.
type Status string

// The statuses. StatusText keeps the words of the record.
const (
	Unknown    Status = "" // missing, or in unknown words
	Proposed   Status = "proposed"
	Accepted   Status = "accepted"
	Rejected   Status = "rejected"
	Deprecated Status = "deprecated" // not in force any more, without a successor
	Superseded Status = "superseded"
)

// Statuses lists the statuses, without Unknown.
func Statuses() []Status { return []Status{Proposed, Accepted, Rejected, Deprecated, Superseded} }

// statusWords maps the phrases that teams use to statuses.
var statusWords = map[string]Status{
	"proposed": Proposed, "proposal": Proposed, "draft": Proposed, "drafted": Proposed, "wip": Proposed, "rfc": Proposed, "pending": Proposed,
	"open": Proposed, "in review": Proposed, "under review": Proposed, "in discussion": Proposed, "under discussion": Proposed, "in progress": Proposed,
	"work in progress": Proposed, "deferred": Proposed, "on hold": Proposed, "postponed": Proposed, "new": Proposed, "proposing": Proposed,
	"accepted": Accepted, "approved": Accepted, "adopted": Accepted, "agreed": Accepted, "decided": Accepted, "done": Accepted, "final": Accepted,
	"implemented": Accepted, "active": Accepted, "in force": Accepted, "ratified": Accepted, "shipped": Accepted, "amended": Accepted, "current": Accepted,
	"partially superseded": Accepted, "superseded in part": Accepted, "partly superseded": Accepted, "valid": Accepted, "resolved": Accepted,
	"partially accepted": Accepted, "partially implemented": Accepted,
	"rejected": Rejected, "declined": Rejected, "withdrawn": Rejected, "abandoned": Rejected, "not accepted": Rejected, "denied": Rejected, "cancelled": Rejected, "canceled": Rejected,
	"deprecated": Deprecated, "obsolete": Deprecated, "retired": Deprecated, "expired": Deprecated, "outdated": Deprecated, "archived": Deprecated, "no longer valid": Deprecated,
	"superseded": Superseded, "superceded": Superseded, "replaced": Superseded, "supplanted": Superseded, "overruled": Superseded,
}

// maxStatusWords is the number of words of the longest phrase in statusWords.
const maxStatusWords = 3

// statusOf parses a status by its first words, without markup. A choice between several, as in a template, is Unknown.
func statusOf(text string) Status {
	s, _, _ := statusPhrase(stripMarkup(text))
	return s
}

// statusPhrase finds the phrase of a status at the beginning of a text, and its position.
func statusPhrase(text string) (s Status, from, to int) {
	if template(text) {
		return Unknown, 0, 0
	}
	from = strings.IndexFunc(text, unicode.IsLetter)
	if from < 0 || from > 16 { // an emoji, a bracket, a star
		return Unknown, 0, 0
	}
	at, words := from, 0
	var phrase strings.Builder
	for words < maxStatusWords {
		end := strings.IndexFunc(text[at:], func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(text) - at
		}
		if end == 0 {
			break
		}
		if phrase.Len() > 0 {
			phrase.WriteByte(' ')
		}
		phrase.WriteString(strings.ToLower(text[at : at+end]))
		words++
		if known, ok := statusWords[phrase.String()]; ok { // the longest phrase is used
			s, to = known, at+end
		}
		if at += end; at < len(text) && (text[at] == ' ' || text[at] == '-') {
			at++
			continue
		}
		break
	}
	if s == Unknown {
		return Unknown, 0, 0
	}
	return s, from, to
}

// template reports whether a status is a choice between several, as in a template.
func template(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return true
	}
	known := 0
	for p := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '/' }) {
		word, _, _ := strings.Cut(strings.TrimSpace(p), " ")
		if statusWords[strings.ToLower(strings.Trim(word, "[]{}<>*_`"))] != Unknown {
			known++
		}
	}
	return known > 1
}

func digits(n int) string { return strconv.Itoa(n) }

// verified parses an edited file. It returns an error unless says is true for the new record and everything else is
// unchanged.
func (d *document) verified(now []byte, says func(Record) bool) error {
	after := parse(d.Path, now)
	if !says(after.Record) || after.readOnlyReason != "" || !slices.Equal(withoutStatus(d.Record), withoutStatus(after.Record)) {
		return &ken.Error{Code: ken.CodeRefused, Field: d.Path, Msg: "can't be edited without changing other content; it was not changed",
			Try: "Change the status by hand, in a line such as \"Status: accepted\" below the title."}
	}
	return nil
}

// withoutStatus returns the texts that an edit of the status must not change: all except the status, the records that
// the record names, and line numbers.
func withoutStatus(r Record) []string {
	out := []string{r.ID.Text, r.Title.Text, r.DateText.Text, r.Preamble.Text, r.Context.Text, r.Decision.Text, r.Consequences.Text, r.Confirmation.Text, r.More.Text}
	for _, list := range [][]Value{r.Deciders, r.Consulted, r.Informed, r.Tags, r.Governs, r.Drivers} {
		out = append(out, strings.Join(texts(list), "\x00"))
	}
	for _, s := range r.Sections {
		out = append(out, s.Title, string(s.Kind), digits(s.Level))
		if s.Kind != KindStatus {
			out = append(out, s.Text.Text)
		}
	}
	for _, o := range r.Options {
		out = append(out, o.Title.Text, o.Text, strings.Join(texts(o.Pros), "\x00"), strings.Join(texts(o.Cons), "\x00"))
	}
	for _, e := range r.Extra {
		out = append(out, e.Key, e.Value.Text)
	}
	return out
}

// Problems returns what needs attention: files that could not be read, and contradictions between records. They are
// ordered by path and line.
func (r *Registry) Problems() []Problem { return slices.Clone(r.view.Load().problems) }

// MissingFiles returns a problem for each file that a proposed or accepted record lists as governed and that is not
// there. What may be a symbol or a pattern is left out.
func (r *Registry) MissingFiles(there func(path string) bool) (out []Problem) {
	for _, e := range r.view.Load().records {
		if e.rec.Status != Proposed && e.rec.Status != Accepted {
			continue
		}
		for _, g := range e.rec.Governs {
			p := strings.TrimPrefix(g.Text, "./")
			if strings.Contains(p, "/") && fileEnding(p) && looksLikePath(p) && !strings.ContainsAny(p, "*{}") && !there(p) {
				out = append(out, Problem{Path: e.rec.Path, Line: g.Line, Text: "governs " + p + ", which does not exist", Try: "Correct the path."})
			}
		}
	}
	return out
}

// check finds contradictions between records.
func (v *snapshot) check() {
	for _, e := range v.records {
		v.checkNumbers(e)
		v.checkReferences(e)
		v.checkStatus(e)
	}
	v.checkCycles()
}

func (v *snapshot) problem(e *entry, line int, text, try string) {
	v.problems = append(v.problems, Problem{Path: e.rec.Path, Line: line, Text: text, Try: try})
}

// checkNumbers reports records with the same number.
func (v *snapshot) checkNumbers(e *entry) {
	same := v.byID[foldText(e.rec.ID.Text)]
	if len(same) < 2 {
		return
	}
	var others []string
	for _, o := range same {
		if o != e {
			others = append(others, o.rec.Path)
		}
	}
	v.problem(e, e.rec.ID.Line, e.rec.ID.Text+" is also "+strings.Join(others, ", ")+"; here it is "+e.rec.Handle, "Give one of them the next free number.")
}

// checkReferences reports references to records that do not exist.
func (v *snapshot) checkReferences(e *entry) {
	for _, list := range []struct {
		verb string
		refs []Reference
	}{{"supersedes", e.rec.Supersedes}, {"superseded by", e.rec.SupersededBy}} {
		for _, ref := range list.refs {
			to, several := v.resolve(e, ref.Path, ref.ID)
			switch {
			case to == e:
				v.problem(e, ref.Line, list.verb+" itself", "Name the other record.")
			case to == nil && several:
				v.problem(e, ref.Line, list.verb+" "+ref.Text+", and several records have that number", "Link to the file that is meant.")
			case to == nil && !(ref.Partial && ref.ID == ""):
				v.problem(e, ref.Line, list.verb+" "+ref.Text+", which does not exist", "Correct the number, or the link.")
			}
		}
	}
	dir := folderOf(e.rec.Path)
	for _, l := range e.rec.Links {
		p := linkedRecordPath(dir, l.Target)
		if p == "" || l.ID == "" || v.pages[p] != nil || v.at(p) != nil || !v.folders[folderWithoutArchive(p)] {
			continue
		}
		v.problem(e, l.Line, "a link to "+l.Target+", which does not exist", "Correct the link.")
	}
}

// checkStatus reports contradictions between the status and the successors of a record.
func (v *snapshot) checkStatus(e *entry) {
	line := max(1, e.rec.StatusText.Line)
	if e.rec.Status == Superseded {
		if len(e.successors) == 0 && len(e.rec.SupersededBy) == 0 {
			v.problem(e, line, "superseded, but no record says by which one", "Name the successor: \"superseded by ADR-0042\"; or call it deprecated.")
		}
		return
	}
	for _, by := range e.successors {
		v.problem(e, line, by.rec.Handle+" supersedes it, and its status is "+clipQuote(string(e.rec.Status)), "Supersede it by "+by.rec.Handle+".")
	}
}

// checkCycles reports cycles of records that supersede each other, each once.
func (v *snapshot) checkCycles() {
	const (
		unseen = iota
		open
		done
	)
	state := map[*entry]int{}
	var walk func(e *entry, trail []*entry)
	walk = func(e *entry, trail []*entry) {
		state[e] = open
		trail = append(trail, e)
		for _, by := range e.successors {
			switch state[by] {
			case unseen:
				walk(by, trail)
			case open:
				var names []string
				for _, t := range trail[slices.Index(trail, by):] {
					names = append(names, t.rec.Handle)
				}
				names = append(names, by.rec.Handle)
				v.problem(e, max(1, e.rec.StatusText.Line), "a cycle of supersession: "+strings.Join(names, " by "), "Decide which of them is the latest.")
			}
		}
		state[e] = done
	}
	for _, e := range v.records {
		if state[e] == unseen {
			walk(e, nil)
		}
	}
}
