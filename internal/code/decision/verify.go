package decision

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

func digits(n int) string { return strconv.Itoa(n) }

// verified parses an edited file, and refuses the edit unless it says what was meant, and
// for the rest what it said before.
func (d *document) verified(now []byte, says func(Record) bool) error {
	after := parse(d.Path, now)
	if !says(after.Record) || after.sealed != "" || !same(d.Record, after.Record) {
		return &ken.Error{Code: ken.CodeRefused, Field: d.Path, Msg: "can't be edited without changing what else it says; it was left alone",
			Try: "Change the status by hand, in a line such as \"Status: accepted\" below the title."}
	}
	return nil
}

// same compares two records but for their status, the records that they name, and where
// things stand.
func same(a, b Record) bool {
	return reflect.DeepEqual(skeleton(a), skeleton(b))
}

// skeleton is what an edit of the status must not change.
func skeleton(r Record) []string {
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
