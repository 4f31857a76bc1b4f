package api

import (
	"crypto/sha256"
	"net/http"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/middleware"
)

// Types of results.
const (
	typeKnowledge = "knowledge" // a claim
	typeDocument  = "document"  // a piece of a file
	typeAll       = "all"
)

// maxFound is the maximum number of results over all pages of a search.
const maxFound = 1000

// Found is one result of a search.
type Found struct {
	Type          string     `json:"type" jsonschema:"knowledge for a claim, document for a piece of the repository"`
	ClaimStatus   ken.Status `json:"claim_status"`
	EvidenceCount int        `json:"evidence_count"`
	middleware.Recalled
	Scope   ken.Scope          `json:"scope" jsonschema:"empty for what applies everywhere"`
	Explain map[string]float64 `json:"explain,omitempty" jsonschema:"the named parts of the score, with explain"`
}

// SearchAnswer is a page of results, best first, with information about the search.
type SearchAnswer struct {
	Query   string         `json:"query"`
	Type    string         `json:"type"`
	Mode    ken.Mode       `json:"mode"`
	Cause   string         `json:"cause" jsonschema:"why the mode is less than what was asked for"`
	Results []Found        `json:"results"`
	Next    string         `json:"next,omitempty"`
	Explain *SearchExplain `json:"explain,omitempty"`
}

// SearchExplain explains the results.
type SearchExplain struct {
	Signals  ken.Signals        `json:"signals" jsonschema:"what the question was read as"`
	Cut      []ken.Cut          `json:"cut" jsonschema:"what was found and left out; not complete"`
	Degraded []string           `json:"degraded,omitempty"`
	MS       map[string]float64 `json:"ms" jsonschema:"milliseconds by leg"`
}

func searchRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/search", id: "search", tag: "search", right: access.Read,
		summary: "Find what bears on a question",
		about: "Find the claims that bear on a question, best first, as ken recall does: what is observed, inferred or verified and has not " +
			"expired, unless status asks for others. A page has the best of what the pages before have not shown. At most 1000 results can be reached.",
		params: []*param{pQuestion, pType, pMode, pKind, pStatus, pScope, pTrust, pFloor, pExplain, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[SearchAnswer](), serve: (*API).search,
	}}
}

func (a *API) search(c *call) (*reply, error) {
	from, _, err := c.startPosition()
	if err != nil {
		return nil, err
	}
	q := middleware.RecallQuery{Owner: c.who.Owner, Question: c.text(pQuestion), Mode: ken.Mode(c.text(pMode)), Floor: c.flag(pFloor)}
	what := c.text(pType)
	if q.Filter, err = c.filter(); err != nil {
		return nil, err
	}
	switch what {
	case typeKnowledge:
		q.Filter.ClaimsOnly = true
	case typeDocument:
		if q.Filter.Kinds != nil {
			return nil, invalid(pKind.name, "pieces of the repository are of one kind", "Leave kind out, or search with type=knowledge.")
		}
		q.Filter.Kinds = []ken.Kind{ken.KindDocument}
	}
	if t := c.text(pTrust); t != "" {
		if err := q.Filter.MinTrust.UnmarshalText([]byte(t)); err != nil {
			return nil, err
		}
	}
	limit := c.number(pLimit)
	shown := shownOnEarlierPages(from)
	q.Limit = min(len(shown)+limit+1, maxFound)
	got, err := a.l.Operator().Search(c.ctx(), q)
	if err != nil {
		return nil, err
	}
	out := SearchAnswer{Query: q.Question, Type: what, Mode: got.Mode, Cause: got.Cause, Results: []Found{}}
	explain := c.flag(pExplain)
	if explain {
		out.Explain = &SearchExplain{Signals: got.Signals, Cut: append([]ken.Cut{}, got.Cut...), Degraded: got.Degraded, MS: got.MS}
	}
	seen := from.id
	for i := range got.Claims {
		r := &got.Claims[i]
		if shown[resultHash(r.ID)] {
			continue
		}
		if len(out.Results) == limit {
			out.Next = c.cursor(position{id: seen})
			break
		}
		out.Results, seen = append(out.Results, found(r, explain)), seen+resultHash(r.ID)
	}
	return &reply{body: out, next: out.Next}, nil
}

func found(r *middleware.Recalled, explain bool) Found {
	f := Found{Type: typeKnowledge, ClaimStatus: r.Status, EvidenceCount: len(r.Evidence), Recalled: *r, Scope: r.Scope}
	if r.Kind == ken.KindDocument {
		f.Type = typeDocument
	}
	if explain {
		f.Explain = r.Signals
	}
	return f
}

// resultHashBytes is the length of a result's hash in a cursor. With a thousand results, a
// collision occurs once in two million searches.
const resultHashBytes = 5

// resultHash identifies a result in a cursor. Scores change with every write, so neither a score
// nor an offset can tell where a page ended.
func resultHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:resultHashBytes])
}

// shownOnEarlierPages returns the result hashes that a cursor contains.
func shownOnEarlierPages(p position) map[string]bool {
	out := make(map[string]bool, len(p.id)/resultHashBytes)
	for id := p.id; len(id) >= resultHashBytes && len(out) < maxFound; id = id[resultHashBytes:] {
		out[id[:resultHashBytes]] = true
	}
	return out
}

// filter returns the filter that the shared parameters define.
func (c *call) filter() (f ken.Filter, err error) {
	for _, s := range c.values(pStatus) {
		f.Statuses = append(f.Statuses, ken.Status(s))
	}
	for _, k := range c.values(pKind) {
		f.Kinds = append(f.Kinds, ken.Kind(k))
	}
	f.Scopes, err = c.scopes()
	return f, err
}

func (c *call) scopes() (scopes []ken.Scope, err error) {
	for _, text := range c.values(pScope) {
		scope, err := ken.ParseScope(text)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, scope)
	}
	return scopes, nil
}
