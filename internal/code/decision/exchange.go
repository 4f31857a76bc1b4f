package decision

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

// Exchange is the JSON form of a decision, for programs that store decisions as JSON:
//
//	{"id": "ADR-0042", "title": "…", "status": "Accepted", "date": "2026-11-22",
//	 "deciders": […], "tags": […], "context": "…", "decision": "…",
//	 "alternatives": [{"title": "…", "text": "…", "pros": […], "cons": […]}],
//	 "consequences": "…", "governs": […], "supersedes": […], "supersededBy": […]}
//
// Status is Proposed, Accepted, Rejected, Deprecated or Superseded. Parsing accepts names in any case and with
// underscores, a string in place of a list, and a list in place of a string. An alternative may be a string, too.
// Unknown names are ignored.
type Exchange struct {
	ID           string        `json:"id"`
	Title        string        `json:"title"`
	Status       string        `json:"status"`
	Date         string        `json:"date,omitempty"` // YYYY-MM-DD
	Deciders     []string      `json:"deciders,omitempty"`
	Tags         []string      `json:"tags,omitempty"`
	Context      string        `json:"context"`
	Decision     string        `json:"decision"`
	Alternatives []Alternative `json:"alternatives"`
	Consequences string        `json:"consequences"`
	Governs      []string      `json:"governs"`
	Supersedes   []string      `json:"supersedes,omitempty"`
	SupersededBy []string      `json:"supersededBy,omitempty"`
}

// Alternative is an option in JSON form.
type Alternative struct {
	Title  string   `json:"title"`
	Text   string   `json:"text,omitempty"`
	Pros   []string `json:"pros,omitempty"`
	Cons   []string `json:"cons,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
}

// Export returns a record in JSON form. Texts are not shortened. Fields without a name in that form (drivers, links,
// other sections) are left out.
func Export(r Record) Exchange {
	x := Exchange{ID: r.ID.Text, Title: stripMarkup(r.Title.Text), Status: titleOf(r.Status), Context: r.Context.Text, Decision: r.Decision.Text,
		Consequences: r.Consequences.Text, Deciders: texts(r.Deciders), Tags: texts(r.Tags), Governs: texts(r.Governs),
		Alternatives: []Alternative{}, Supersedes: referenceIDs(r.Supersedes), SupersededBy: referenceIDs(r.SupersededBy)}
	if x.Governs == nil {
		x.Governs = []string{}
	}
	if !r.Date.IsZero() {
		x.Date = r.Date.Format(time.DateOnly)
	}
	for _, o := range r.Options {
		x.Alternatives = append(x.Alternatives, Alternative{o.Title.Text, o.Text, texts(o.Pros), texts(o.Cons), o.Chosen})
	}
	return x
}

func titleOf(s Status) string {
	if s == Unknown {
		return ""
	}
	return strings.ToUpper(string(s[:1])) + string(s[1:])
}

func texts(values []Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Text)
	}
	return out
}

// ParseExchange parses the JSON form. Errors are ErrInvalid with the field.
func ParseExchange(src []byte) (Exchange, error) {
	var raw map[string]json.RawMessage
	if len(src) > maxSource {
		return Exchange{}, invalid("", fmt.Sprintf("%d bytes of JSON; at most %d", len(src), maxSource), "Give one decision at a time.")
	}
	if err := json.Unmarshal(src, &raw); err != nil {
		return Exchange{}, &ken.Error{Code: ken.CodeInvalid, Msg: "a decision is a JSON object", Try: "Give an object with id, title, status, context and decision.", Err: err}
	}
	var x Exchange
	texts := map[string]*string{"id": &x.ID, "title": &x.Title, "status": &x.Status, "context": &x.Context,
		"decision": &x.Decision, "consequences": &x.Consequences}
	lists := map[string]*[]string{"deciders": &x.Deciders, "author": &x.Deciders, "authors": &x.Deciders, "decisionmakers": &x.Deciders, "tags": &x.Tags,
		"governs": &x.Governs, "supersedes": &x.Supersedes, "supersededby": &x.SupersededBy}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		value, key := raw[name], foldKey(name)
		var err error
		switch key {
		case "date", "decidedat", "createdat":
			if x.Date == "" || key == "date" {
				x.Date, err = joinTexts(value)
				x.Date = isoDate.FindString(x.Date)
			}
		case "alternatives", "options", "consideredoptions":
			x.Alternatives, err = alternatives(value)
		default:
			if to := texts[key]; to != nil {
				*to, err = joinTexts(value)
			} else if to := lists[key]; to != nil {
				*to, err = stringOrList(value)
			}
		}
		if err != nil {
			return Exchange{}, &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "can't be read", Try: "Give a text, or a list of texts.", Err: err}
		}
	}
	if strings.TrimSpace(x.Title) == "" {
		return Exchange{}, invalid("title", "empty", "Name the decision in a few words.")
	}
	if x.Status != "" && statusOf(x.Status) == Unknown {
		return Exchange{}, invalid("status", "unknown status "+clipQuote(x.Status), "Use Proposed, Accepted, Rejected, Deprecated or Superseded.")
	}
	return x, nil
}

// joinTexts reads a string, a list of strings, which become list items, or null.
func joinTexts(b json.RawMessage) (string, error) {
	list, err := stringOrList(b)
	if len(list) > 1 {
		for i := range list {
			list[i] = "- " + list[i]
		}
	}
	return strings.Join(list, "\n"), err
}

// stringOrList reads a list of strings, one string, or null.
func stringOrList(b json.RawMessage) ([]string, error) {
	var one *string
	if json.Unmarshal(b, &one) == nil {
		if one == nil || *one == "" {
			return nil, nil
		}
		return []string{*one}, nil
	}
	var list []string
	return list, json.Unmarshal(b, &list)
}

func alternatives(b json.RawMessage) ([]Alternative, error) {
	if list, err := stringOrList(b); err == nil {
		var out []Alternative
		for _, t := range list {
			out = append(out, Alternative{Title: t})
		}
		return out, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	var out []Alternative
	for _, r := range raw {
		var a Alternative
		if t, err := joinTexts(r); err == nil {
			a.Title = t
		} else if err := json.Unmarshal(r, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// snapshot is the state of all files at one time. It is immutable.
type snapshot struct {
	pages       map[string]*page
	records     []*entry // by number, then by path; those without a number come last
	byHandle    map[string]*entry
	byID        map[string][]*entry
	byPath      map[string]*entry
	folders     map[string]bool // folders from which pages were read
	unreadFiles []Problem       // files and folders that could not be read
	problems    []Problem       // including unread
	ranking     func() *ranking // for Search
}

// entry is a record with its relations to other records.
type entry struct {
	*page
	rec          Record   // with its Handle
	successors   []*entry // records that superseded it, according to either side; by path
	predecessors []*entry // records that it superseded
	at           int      // index in snapshot.records
}

func newSnapshot(pages map[string]*page, problems []Problem) *snapshot {
	v := &snapshot{pages: pages, byHandle: map[string]*entry{}, byID: map[string][]*entry{}, byPath: map[string]*entry{}, folders: map[string]bool{}, unreadFiles: problems, problems: slices.Clone(problems)}
	for _, p := range pages {
		v.folders[folderWithoutArchive(p.doc.Path)] = true
		if p.isRecord() {
			e := &entry{page: p, rec: p.doc.Record}
			v.records = append(v.records, e)
			v.byPath[e.rec.Path] = e
			v.problems = append(v.problems, p.doc.problems...)
		} else if p.doc.readOnlyReason != "" { // it could be a record but can't be read as one
			v.problems = append(v.problems, p.doc.problems...)
		}
	}
	slices.SortFunc(v.records, func(a, b *entry) int { // as an unsigned number, NoNumber comes last
		return cmp.Or(cmp.Compare(uint(a.rec.Number), uint(b.rec.Number)), cmp.Compare(a.rec.Path, b.rec.Path))
	})
	for i, e := range v.records {
		e.at = i
		v.byID[foldText(e.rec.ID.Text)] = append(v.byID[foldText(e.rec.ID.Text)], e)
	}
	v.handles()
	v.supersession()
	v.check()
	v.ranking = sync.OnceValue(func() *ranking { return newRanking(v.records) })
	slices.SortStableFunc(v.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return v
}

func foldText(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// handles assigns unique handles to records with the same ID: the ID, a slash and the rest of the file's name, with
// folders if that is not unique.
func (v *snapshot) handles() {
	for _, same := range v.byID {
		for _, e := range same {
			e.rec.Handle = e.rec.ID.Text
			if len(same) == 1 {
				continue
			}
			_, _, rest := fromFile(e.rec.Path)
			e.rec.Handle += "/" + rest
			for _, other := range same {
				if _, _, r := fromFile(other.rec.Path); other != e && r == rest {
					e.rec.Handle = e.rec.ID.Text + "/" + strings.TrimSuffix(e.rec.Path, path.Ext(e.rec.Path))
				}
			}
		}
	}
	for _, e := range v.records {
		v.byHandle[foldText(e.rec.Handle)] = e
	}
}

// resolve finds the record to which a reference in another record leads: by its path, even if the record has moved into
// or out of the archive, else by its ID, first in the same folder. several reports that more than one record matches.
func (v *snapshot) resolve(from *entry, path, id string) (e *entry, several bool) {
	if path != "" {
		if e := v.at(path); e != nil {
			return e, false
		}
	}
	same := v.byID[foldText(id)]
	if len(same) == 1 {
		return same[0], false
	}
	var near []*entry
	for _, e := range same {
		if folderWithoutArchive(e.rec.Path) == folderWithoutArchive(from.rec.Path) && e != from {
			near = append(near, e)
		}
	}
	if len(near) == 1 {
		return near[0], false
	}
	return nil, len(same) > 1
}

// at returns the record with a path, in or out of the archive.
func (v *snapshot) at(p string) *entry {
	if e := v.byPath[p]; e != nil {
		return e
	}
	dir, base := path.Split(p)
	if e := v.byPath[path.Join(dir, archiveFolder, base)]; e != nil {
		return e
	}
	if path.Base(dir) == archiveFolder {
		return v.byPath[path.Join(path.Dir(path.Clean(dir)), base)]
	}
	return nil
}

// folderWithoutArchive returns the folder of a record. For an archived record, it is the folder that contains the
// archive.
func folderWithoutArchive(p string) string {
	dir := path.Dir(p)
	if path.Base(dir) == archiveFolder {
		return path.Dir(dir)
	}
	return dir
}

// supersession links records to their successors, if either of the two mentions the other.
func (v *snapshot) supersession() {
	tie := func(old, by *entry) {
		if old != by && !slices.Contains(old.successors, by) {
			old.successors = append(old.successors, by)
			by.predecessors = append(by.predecessors, old)
		}
	}
	for _, e := range v.records {
		for _, ref := range e.rec.SupersededBy {
			if by, _ := v.resolve(e, ref.Path, ref.ID); by != nil && !ref.Partial {
				tie(e, by)
			}
		}
		for _, ref := range e.rec.Supersedes {
			if old, _ := v.resolve(e, ref.Path, ref.ID); old != nil && !ref.Partial {
				tie(old, e)
			}
		}
	}
	order := func(a, b *entry) int { return a.at - b.at }
	for _, e := range v.records {
		slices.SortFunc(e.successors, order)
		slices.SortFunc(e.predecessors, order)
	}
}
