package receipt

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Record is the receipt of one turn as it is kept, with what the turn says of
// itself. Block is empty, and so are, of every item that is no piece of the
// repository, Key, Source, Heading and Text: they are read from the claim, which
// may have changed or be gone.
type Record struct {
	ken.Receipt
	Project string `json:"project,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Branch  string `json:"branch,omitempty"`
}

// lean returns what of a record may be kept. It shares nothing that is changed
// with r.
func (r Record) lean() Record {
	r.Block = ""
	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = leanItem(r.Items[i])
	}
	r.Cut = slices.Clone(r.Cut)
	for i := range r.Cut {
		r.Cut[i].Detail = store.Clean(r.Cut[i].Detail)
	}
	s := &r.Signals
	s.Question, s.Subject = "", ""
	for _, list := range []*[]string{&s.Keywords, &s.Symbols, &s.Failures, &s.Entities, &r.Degraded} {
		*list = cleaned(*list)
	}
	if r.Focal != nil {
		r.Focal = cleaned(r.Focal)
	}
	for _, text := range []*string{&r.Cause, &r.Project, &r.Agent, &r.Model, &r.Branch} {
		*text = store.Clean(*text)
	}
	r.At = r.At.Round(0).UTC()
	return r
}

// leanItem leaves out what a claim says. The heading and the source of a piece of
// the repository are those of the file.
func leanItem(it ken.Item) ken.Item {
	it.Text, it.Entities, it.Aspect = "", nil, ""
	if it.Kind != ken.KindDocument {
		it.Key, it.Source, it.Heading = "", "", ""
	}
	return it
}

// cleaned returns the strings that are still there once they were cleaned. It is
// never nil, since a receipt's lists are written as such.
func cleaned(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = store.Clean(s); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
