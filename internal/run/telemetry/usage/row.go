package usage

import (
	"cmp"
	"math"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/access"
)

// Row is the usage of one model by one key on one day.
type Row struct {
	Day   string `json:"day" jsonschema:"in UTC"`
	Key   string `json:"key" jsonschema:"the key's name"`
	Owner string `json:"owner"`
	Model string `json:"model" jsonschema:"as the answer names it, else as the request does; empty where neither does"`

	Requests  int64   `json:"requests" jsonschema:"that were passed on to the upstream or answered in its place"`
	Input     int64   `json:"input" jsonschema:"tokens of prompts, those from the provider's cache included"`
	Cached    int64   `json:"cached" jsonschema:"of these, tokens from the provider's cache"`
	Output    int64   `json:"output" jsonschema:"tokens of answers"`
	Cost      float64 `json:"cost" jsonschema:"by gateway.prices as they were then"`
	Unpriced  int64   `json:"unpriced" jsonschema:"requests with tokens whose model had no price"`
	Unmetered int64   `json:"unmetered" jsonschema:"model calls that were answered without a complete count of tokens"`
	Estimated int64   `json:"estimated" jsonschema:"tokens that a budget counts for these"`
}

// Add adds the figures of o to r. Day, Key, Owner and Model stay unchanged.
func (r *Row) Add(o *Row) {
	r.Requests += o.Requests
	r.Input += o.Input
	r.Cached += o.Cached
	r.Output += o.Output
	r.Cost = math.Round((r.Cost+o.Cost)*1e12) / 1e12 // a binary sum of decimals is not exact
	r.Unpriced += o.Unpriced
	r.Unmetered += o.Unmetered
	r.Estimated += o.Estimated
}

// id identifies a row within a day.
type id struct{ key, owner, model string }

func (r *Row) id() id { return id{r.Key, r.Owner, r.Model} }

// Visible reports whether who may see a row. A key sees its own usage. With the right
// operate it sees the usage of its owner's keys, and all usage if its owner is the
// configured one.
func Visible(r *Row, who access.Principal, configured string) bool {
	switch {
	case who.Owner == "":
		return false
	case !who.Can(access.Operate):
		return r.Key == who.Name && r.Owner == who.Owner
	}
	return r.Owner == who.Owner || who.Owner == configured
}

// table holds the rows of one day, or of all days since the process started.
type table map[id]*Row

// Other replaces the models, and then the keys and owners, that exceed the limit of
// different rows.
const Other = "other"

// maxName limits a model's name, in bytes.
const maxName = 96

// add adds r to the row of the same key, owner and model. Names come from outside: once
// there are most rows, new names are counted under Other.
func (t table) add(r Row, most int) {
	if len(r.Model) > maxName || !utf8.ValidString(r.Model) {
		r.Model = Other
	}
	have := t[r.id()]
	if have == nil && len(t) >= most {
		r.Model = Other
		if have = t[r.id()]; have == nil && len(t) >= 2*most {
			r.Key, r.Owner = Other, Other
			have = t[r.id()]
		}
	}
	if have == nil {
		have = &Row{Day: r.Day, Key: r.Key, Owner: r.Owner, Model: r.Model}
		t[r.id()] = have
	}
	have.Add(&r)
}

// compare orders rows: the latest day first, then by key, owner and model.
func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Model, b.Model))
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }
