package decision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Exchange is the JSON form of a decision, for programs that keep them as JSON:
//
//	{"id": "ADR-0042", "title": "…", "status": "Accepted", "date": "2026-11-22",
//	 "deciders": […], "tags": […], "context": "…", "decision": "…",
//	 "alternatives": [{"title": "…", "text": "…", "pros": […], "cons": […]}],
//	 "consequences": "…", "governs": […], "supersedes": […], "supersededBy": […]}
//
// Status is Proposed, Accepted, Rejected, Deprecated or Superseded. Reading takes names in
// any case and with underscores, and a single text, or texts, for every list and every
// text; an alternative may be a text, too. Names that are not known are left out.
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

// Alternative is an option in JSON.
type Alternative struct {
	Title  string   `json:"title"`
	Text   string   `json:"text,omitempty"`
	Pros   []string `json:"pros,omitempty"`
	Cons   []string `json:"cons,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
}

// Export returns a record in the form for JSON. Texts are whole; what has no name there
// (drivers, links, other sections) is left out.
func Export(r Record) Exchange {
	x := Exchange{ID: r.ID.Text, Title: plain(r.Title.Text), Status: titled(r.Status), Context: r.Context.Text, Decision: r.Decision.Text,
		Consequences: r.Consequences.Text, Deciders: texts(r.Deciders), Tags: texts(r.Tags), Governs: texts(r.Governs),
		Alternatives: []Alternative{}, Supersedes: ids(r.Supersedes), SupersededBy: ids(r.SupersededBy)}
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

func titled(s Status) string {
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

// ParseExchange reads the form for JSON. Errors are ErrInvalid and name the field.
func ParseExchange(src []byte) (Exchange, error) {
	var raw map[string]json.RawMessage
	if len(src) > maxSource {
		return Exchange{}, invalid("", fmt.Sprintf("%d bytes of JSON; at most %d", len(src), maxSource), "Give one decision at a time.")
	}
	if err := json.Unmarshal(src, &raw); err != nil {
		return Exchange{}, &ken.Error{Code: ken.CodeInvalid, Msg: "a decision is a JSON object", Try: "Give an object with id, title, status, context and decision.", Err: err}
	}
	var x Exchange
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		value := raw[name]
		var err error
		switch key := foldKey(name); key {
		case "id":
			x.ID, err = oneText(value)
		case "title":
			x.Title, err = oneText(value)
		case "status":
			x.Status, err = oneText(value)
		case "date", "decidedat", "createdat":
			if x.Date == "" || key == "date" {
				x.Date, err = oneText(value)
				x.Date = isoDate.FindString(x.Date)
			}
		case "deciders", "author", "authors", "decisionmakers":
			x.Deciders, err = someTexts(value)
		case "tags":
			x.Tags, err = someTexts(value)
		case "context":
			x.Context, err = oneText(value)
		case "decision":
			x.Decision, err = oneText(value)
		case "alternatives", "options", "consideredoptions":
			x.Alternatives, err = alternatives(value)
		case "consequences":
			x.Consequences, err = oneText(value)
		case "governs":
			x.Governs, err = someTexts(value)
		case "supersedes":
			x.Supersedes, err = someTexts(value)
		case "supersededby":
			x.SupersededBy, err = someTexts(value)
		}
		if err != nil {
			return Exchange{}, &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "can't be read", Try: "Give a text, or a list of texts.", Err: err}
		}
	}
	if strings.TrimSpace(x.Title) == "" {
		return Exchange{}, invalid("title", "empty", "Name the decision in a few words.")
	}
	if x.Status != "" && statusOf(x.Status) == Unknown {
		return Exchange{}, invalid("status", "unknown status "+quote(x.Status), "Use Proposed, Accepted, Rejected, Deprecated or Superseded.")
	}
	return x, nil
}

// oneText reads a text, a list of texts as its items, or nothing.
func oneText(b json.RawMessage) (string, error) {
	list, err := someTexts(b)
	if len(list) > 1 {
		for i := range list {
			list[i] = "- " + list[i]
		}
	}
	return strings.Join(list, "\n"), err
}

// someTexts reads a list of texts, one text, or nothing.
func someTexts(b json.RawMessage) ([]string, error) {
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
	if list, err := someTexts(b); err == nil {
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
		if t, err := oneText(r); err == nil {
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
