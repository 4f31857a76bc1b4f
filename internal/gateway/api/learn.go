package api

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// LearnRequest is a claim to be written. What is left out has the default of ken learn.
type LearnRequest struct {
	Text       string          `json:"text" jsonschema:"what is claimed, in one statement"`
	Evidence   []ken.Evidence  `json:"evidence" jsonschema:"what backs it; never empty"`
	Kind       ken.Kind        `json:"kind,omitempty" jsonschema:"fact unless something else is said"`
	Heading    string          `json:"heading,omitempty"`
	Body       json.RawMessage `json:"body,omitempty" jsonschema:"the fields of the kind's own"`
	Status     ken.Status      `json:"status,omitempty" jsonschema:"observed, inferred or hypothesis; verified with the right operate"`
	Confidence *float64        `json:"confidence,omitempty" jsonschema:"that it is true, 0 to 1; 1 unless something else is said"`
	Importance *float64        `json:"importance,omitempty" jsonschema:"of knowing it, 0 to 1; 0.5 unless something else is said"`
	Scope      ken.Scope       `json:"scope,omitzero" jsonschema:"what it applies to; everything unless something is said"`
	Project    string          `json:"project,omitempty"`
	Session    string          `json:"session_id,omitempty"`
	Branch     string          `json:"branch_id,omitempty"`
	Domain     string          `json:"domain,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Entities   []string        `json:"entities,omitempty"`
	Aspect     string          `json:"aspect,omitempty"`
	Constraint bool            `json:"constraint,omitempty" jsonschema:"a rule that always surfaces where its entity is in scope; with the right operate"`
	Source     string          `json:"source,omitempty" jsonschema:"where it came from, for people"`
	Key        string          `json:"key,omitempty" jsonschema:"a name of the sender's own: the same key again is a new version, and no change when nothing differs"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
}

var learnRoute = &route{
	method: http.MethodPost, path: "/api/claims", id: "learn", tag: "claims", right: access.Write,
	summary: "Learn a claim",
	about: "Write a claim. Evidence is required. With the right operate it carries a person's trust; without it, an agent's: evidence speaks " +
		"with an agent's voice at most, a person's word is no evidence, and what would be in every turn is a hypothesis until a person approves it. " +
		"A file of the project is kept with the hash that it has now, unless the evidence names a repository, a commit or a hash.",
	body:    reflect.TypeFor[LearnRequest](),
	example: `{"text":"Payments are idempotent by request id.","evidence":[{"kind":"file","path":"payments/handler.go"}],"tags":["payments"]}`,
	status:  http.StatusCreated, also: map[int]string{http.StatusOK: "The key was known: the claim as it is now."},
	answer: reflect.TypeFor[middleware.ClaimView](), fails: []problemCode{codeRefused, codeExists}, serve: (*API).learn,
}

func (a *API) learn(c *call) (*reply, error) {
	req := c.body.(*LearnRequest)
	want := req.claim()
	if want.Project == "" {
		want.Project = c.who.Project
	}
	want.Actor = c.actor()
	if want.Kind == ken.KindDocument {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "documents are pieces of the repository", Try: "Put it into a file and index it, or use another kind."}
	}
	want.Evidence = c.vouched(want.Evidence)
	return c.withStore(func(s store.Engine) (*reply, error) {
		want.Owner = s.Owner()
		known := false
		if want.Key != "" {
			had, err := s.ByKey(c.ctx(), want.Key)
			if err != nil && !errors.Is(err, ken.ErrNotFound) {
				return nil, err
			}
			if known = err == nil; known && !c.operator() && had.Support(nil).Trust == ken.TrustOperator {
				return nil, c.personal("key", "a person wrote what has this key")
			}
		}
		id, err := a.write(c, s, &want)
		if err != nil {
			return nil, err
		}
		rep, err := a.view(c, s, id)
		if err != nil {
			return nil, err
		}
		if known {
			rep.status = http.StatusOK
		}
		rep.header = map[string]string{"Location": Prefix + "claims/" + id}
		return rep, nil
	})
}

// write writes a claim with the caller's voice.
func (a *API) write(c *call, s store.Engine, want *ken.Claim) (string, error) {
	if c.operator() {
		return s.WriteClaim(c.ctx(), *want)
	}
	if err := c.modest(want); err != nil {
		return "", err
	}
	return a.handle(c, want.Session, want.Branch).Learn(c.ctx(), want.Text, want.Evidence, func(into *ken.Claim) {
		id, at := into.ID, into.CreatedAt
		*into = *want
		into.ID, into.CreatedAt = id, at
	})
}

// handle is the session's, with the caller as the agent: what is done through it is
// in the audit trail.
func (a *API) handle(c *call, session, branch string) *session.Session {
	return a.l.Session(ken.Turn{Owner: c.who.Owner, Project: c.who.Project, Agent: c.who.Name, Session: session, Branch: branch})
}

// view is the answer to a change of a claim: as it is now, with its version.
func (a *API) view(c *call, s store.Engine, id string) (*reply, error) {
	now, err := claim(c.ctx(), s, id)
	if err != nil {
		return nil, err
	}
	return tagged(a.l.View(now))
}

// claim is what the request says.
func (r *LearnRequest) claim() ken.Claim {
	c := ken.Claim{Text: r.Text, Evidence: slices.Clone(r.Evidence), Kind: r.Kind, Heading: r.Heading, Body: r.Body, Status: r.Status,
		Confidence: 1, Importance: 0.5, Scope: r.Scope, Project: r.Project, Session: r.Session, Branch: r.Branch, Domain: r.Domain,
		Tags: r.Tags, Entities: r.Entities, Aspect: r.Aspect, Constraint: r.Constraint, Source: r.Source, SourceType: "api", Key: r.Key,
		ExpiresAt: r.ExpiresAt.UTC()}
	if c.Kind == "" {
		c.Kind = ken.KindFact
	}
	if c.Status == "" {
		c.Status = ken.StatusObserved
	}
	if r.Confidence != nil {
		c.Confidence = *r.Confidence
	}
	if r.Importance != nil {
		c.Importance = *r.Importance
	}
	if r.ExpiresAt.IsZero() {
		c.ExpiresAt = time.Time{}
	}
	return c
}

// Who may write but not operate speaks as an agent: nothing that it sends is taken
// for a person's word, and nothing that it sends gets into every turn.

// vouched returns evidence as the caller may give it. A piece without a time is from
// now; a person's word without a name is the caller's; an agent's pieces speak with
// an agent's voice at most; a file of the project gets its hash.
func (c *call) vouched(evidence []ken.Evidence) []ken.Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if e.FetchedAt.IsZero() {
			e.FetchedAt = c.api.o.Now().UTC()
		}
		if e.Kind == ken.EvidenceHumanAssertion && e.ID == "" {
			e.ID = c.who.Name
		}
		if !c.operator() {
			e.Trust = min(max(e.Speaker(), ken.TrustExternal), ken.TrustAgent)
		}
	}
	c.hash(out)
	return out
}

// spoken reports evidence that only a person can give.
func (c *call) spoken(evidence []ken.Evidence) error {
	if c.operator() {
		return nil
	}
	for _, e := range evidence {
		if e.Kind == ken.EvidenceHumanAssertion || e.Kind == ken.EvidenceUserStatement {
			return c.personal("evidence", "evidence of kind "+string(e.Kind)+" is a person's word")
		}
	}
	return nil
}

// modest reports what of a claim is not an agent's to say.
func (c *call) modest(want *ken.Claim) error {
	switch {
	case want.Constraint:
		return c.personal("constraint", "a constraint surfaces in every turn that it is about")
	case store.Pinned(want.Kind) && want.Status != ken.StatusHypothesis:
		return c.personal("status", "a claim of kind "+string(want.Kind)+" is in every turn unless it is a hypothesis")
	}
	return c.spoken(want.Evidence)
}

// personal refuses what needs a person.
func (c *call) personal(field, why string) error {
	p := problemf(codeForbidden, "This needs the right %q: %s.", string(access.Operate), why)
	p.Try, p.field = ken.Hint(c.who.Need(access.Operate)), field
	return p
}

// Types of results.
const (
	typeKnowledge = "knowledge" // a claim
	typeDocument  = "document"  // a piece of the repository
	typeAll       = "all"
)

// maxFound is how deep a search can be paged.
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

// SearchAnswer is a page of what was found, best first, and how.
type SearchAnswer struct {
	Query   string         `json:"query"`
	Type    string         `json:"type"`
	Mode    ken.Mode       `json:"mode"`
	Cause   string         `json:"cause" jsonschema:"why the mode is less than what was asked for"`
	Results []Found        `json:"results"`
	Next    string         `json:"next,omitempty"`
	Explain *SearchExplain `json:"explain,omitempty"`
}

// SearchExplain says why the results are what they are.
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
	from, _, err := c.after()
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
	shown := shownBefore(from)
	q.Limit = min(len(shown)+limit+1, maxFound)
	got, err := a.l.Recall(c.ctx(), q)
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
		if shown[mark(r.ID)] {
			continue
		}
		if len(out.Results) == limit {
			out.Next = c.cursor(place{id: seen})
			break
		}
		out.Results, seen = append(out.Results, found(r, explain)), seen+mark(r.ID)
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

// markBytes is how much of a hash names a result in a cursor: of a thousand results two
// are alike once in two million searches.
const markBytes = 5

// mark is a result's name in a cursor. Scores change with every write, so that no score
// and no number says where a page ended; what was shown does.
func mark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:markBytes])
}

// shownBefore are the marks that a cursor holds.
func shownBefore(p place) map[string]bool {
	out := make(map[string]bool, len(p.id)/markBytes)
	for id := p.id; len(id) >= markBytes && len(out) < maxFound; id = id[markBytes:] {
		out[id[:markBytes]] = true
	}
	return out
}

// filter is what the shared parameters say.
func (c *call) filter() (f ken.Filter, err error) {
	for _, s := range c.all(pStatus) {
		f.Statuses = append(f.Statuses, ken.Status(s))
	}
	for _, k := range c.all(pKind) {
		f.Kinds = append(f.Kinds, ken.Kind(k))
	}
	for _, s := range c.all(pScope) {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return f, err
		}
		f.Scopes = append(f.Scopes, scope)
	}
	return f, nil
}
