package usage

import (
	"cmp"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/access"
)

// Row is the usage of one day by one key of one model.
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
	Unmetered int64   `json:"unmetered" jsonschema:"model calls that were answered without a count of tokens"`
	Estimated int64   `json:"estimated" jsonschema:"tokens that a budget counts for these"`
}

// Add adds the figures of o to those of r. Day, Key, Owner and Model stay as they are.
func (r *Row) Add(o *Row) {
	r.Requests += o.Requests
	r.Input += o.Input
	r.Cached += o.Cached
	r.Output += o.Output
	r.Cost += o.Cost
	r.Unpriced += o.Unpriced
	r.Unmetered += o.Unmetered
	r.Estimated += o.Estimated
}

// id tells rows of one day apart.
type id struct{ key, owner, model string }

func (r *Row) id() id { return id{r.Key, r.Owner, r.Model} }

// Visible reports whether a row may be shown to somebody: a key sees its own usage, with
// the right operate that of its owner's keys, and as a key of the configured owner with
// that right all.
func Visible(r *Row, who access.Principal, configured string) bool {
	switch {
	case who.Owner == "":
		return false
	case !who.Can(access.Operate):
		return r.Key == who.Name && r.Owner == who.Owner
	}
	return r.Owner == who.Owner || who.Owner == configured
}

// table is the rows of one day, or of all days since the process started.
type table map[id]*Row

// Other stands for the models, and then for the keys and owners, that come after the most
// that are told apart.
const Other = "other"

// maxName bounds a model's name in bytes.
const maxName = 96

// add adds to the row of the same key, owner and model. Names come from outside: once there
// are most rows, new ones are counted together.
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

// compare orders rows: the last day first, then by key, owner and model.
func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Model, b.Model))
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }
