package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/spelling"
	"github.com/kenlayer/ken/store"
)

// LearnRequest is a claim to write. Fields that are left out have the defaults of ken learn.
type LearnRequest struct {
	Text       string          `json:"text" jsonschema:"what is claimed, in one statement"`
	Evidence   []ken.Evidence  `json:"evidence,omitempty" jsonschema:"what backs it; left out, the word of the key that sends it"`
	Kind       ken.Kind        `json:"kind,omitempty" jsonschema:"fact unless something else is said"`
	Heading    string          `json:"heading,omitempty"`
	Body       json.RawMessage `json:"body,omitempty" jsonschema:"the fields of the kind's own"`
	Status     ken.Status      `json:"status,omitempty" jsonschema:"observed, inferred or hypothesis; verified with the right operate"`
	Confidence *float64        `json:"confidence,omitempty" jsonschema:"how sure it is, 0 to 1; 1 unless something else is said"`
	Importance *float64        `json:"importance,omitempty" jsonschema:"how important it is, 0 to 1; 0.5 unless something else is said"`
	Scope      ken.Scope       `json:"scope,omitzero" jsonschema:"what it applies to; everything unless something is said"`
	Project    string          `json:"project,omitempty"`
	Session    string          `json:"session_id,omitempty"`
	Branch     string          `json:"branch_id,omitempty"`
	Domain     string          `json:"domain,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Entities   []string        `json:"entities,omitempty"`
	Aspect     string          `json:"aspect,omitempty"`
	Constraint bool            `json:"constraint,omitempty" jsonschema:"the same as a rule of true"`
	About      []string        `json:"about,omitempty" jsonschema:"what it is about, the main thing first; left out, the text is read"`
	Rule       *bool           `json:"rule,omitempty" jsonschema:"true: a rule that is in every turn about its thing, with the right operate, else a candidate that a person decides about; false: none, whatever its words are"`
	Source     string          `json:"source,omitempty" jsonschema:"where it came from, for people"`
	Key        string          `json:"key,omitempty" jsonschema:"a name of the sender's own: the same key again is a new version, and no change when nothing differs"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
}

// LearnedView is a claim as it was stored, with what was derived from its text.
type LearnedView struct {
	inspect.Claim
	Understood structure.Understanding `json:"understood"`
	Known      bool                    `json:"known,omitempty" jsonschema:"true: the claim was there already, and got the evidence that it lacked"`
}

var learnRoute = &route{
	method: http.MethodPost, path: "/api/claims", id: "learn", tag: "claims", right: access.Write,
	summary: "Learn a claim",
	about: "Write a claim; only text is required. Without evidence the claim rests on the word of the key that sends it: a person's word with the " +
		"right operate, else an agent's. An empty list of evidence is refused. With the right operate a claim carries a person's trust; without it, " +
		"an agent's: evidence speaks with an agent's voice at most, a person's word is no evidence, and what would be in every turn is a " +
		"hypothesis until a person approves it. " +
		"The same claim again is not written again: the known one gets the evidence that it lacks, and is the answer. " +
		"A file of the project is kept with the hash that it has now, unless the evidence names a repository, a commit or a hash.",
	body:    reflect.TypeFor[LearnRequest](),
	example: `{"text":"Payments are idempotent by request id.","evidence":[{"kind":"file","path":"payments/handler.go"}],"tags":["payments"]}`,
	status:  http.StatusCreated, also: map[int]string{http.StatusOK: "The key or the same claim was known: the claim as it is now."},
	answer: reflect.TypeFor[LearnedView](), fails: []problemCode{codeRefused, codeExists}, serve: (*API).learn,
}

// wanted returns the claim that a request asks for, with the caller as its author. It returns an error for
// a value that is not valid or that no caller may write.
func (c *call) wanted(req *LearnRequest) (ken.Claim, error) {
	for field, list := range map[string][]string{"tags": req.Tags, "entities": req.Entities, "about": req.About} {
		if i := slices.IndexFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }); i >= 0 {
			return ken.Claim{}, invalid(field+"["+strconv.Itoa(i)+"]", "empty", "Give a name, or leave it out.")
		}
	}
	want := req.claim()
	want.Project = cmp.Or(want.Project, c.who.Project)
	want.Actor = c.actor()
	if want.Kind == ken.KindDocument {
		return want, &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "documents are pieces of the repository", Try: "Put it into a file and index it, or use another kind."}
	}
	if err := checkKind(want.Kind); err != nil {
		return want, err
	}
	if now := c.api.o.Now(); !want.ExpiresAt.IsZero() && !want.ExpiresAt.After(now) {
		return want, invalid("expires_at", "a time that has passed", "Give a time after "+now.UTC().Format(time.RFC3339)+", or leave it out.")
	}
	if want.Evidence == nil {
		want.Evidence = []ken.Evidence{c.assertion()}
	}
	var err error
	want.Evidence, err = c.callerEvidence(want.Evidence)
	return want, err
}

func (a *API) learn(c *call) (*reply, error) {
	req := c.body.(*LearnRequest)
	want, err := c.wanted(req)
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		want.Owner = s.Owner()
		known := false
		if want.Key != "" {
			had, err := s.ByKey(c.ctx(), want.Key)
			if err != nil && !errors.Is(err, ken.ErrNotFound) {
				return nil, err
			}
			if known = err == nil; known && !c.operator() && had.Support(nil).Trust == ken.TrustOperator {
				return nil, c.needsOperator("key", "a person's claim has this key")
			}
		}
		req.file(c.operator(), &want, s)
		if !c.operator() {
			if err := c.refuseOperatorClaim(&want); err != nil {
				return nil, err
			}
		}
		id, err := operator.Repeat(c.ctx(), s, want, a.o.Now().UTC())
		repeated := id != ""
		if err == nil && !repeated {
			id, err = a.write(c, s, &want)
		}
		if err != nil {
			return nil, err
		}
		now, err := claim(c.ctx(), s, id)
		if err != nil {
			return nil, err
		}
		view := a.l.Operator().View(now)
		rep, err := withETag(view)
		if err != nil {
			return nil, err
		}
		if rep.raw, err = encode(LearnedView{Claim: view, Understood: structure.Understand(&now), Known: repeated}); err != nil {
			return nil, err
		}
		if known || repeated {
			rep.status = http.StatusOK
		}
		rep.header = map[string]string{"Location": Prefix + "claims/" + id}
		return rep, nil
	})
}

// kinds are the kinds that a request may write, apart from kinds of a program's own.
var kinds = []string{string(ken.KindFact), string(ken.KindHot), string(ken.KindEpisode), string(ken.KindPlaybook), string(ken.KindFinding),
	string(ken.KindPattern), string(ken.KindDecision), string(ken.KindObjective)}

// checkKind refuses the kinds that no turn shows as a claim, and names that look like a slip.
func checkKind(k ken.Kind) error {
	if k.Structural() {
		return &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "claims of kind " + string(k) + " are made when things are named", Try: "Use ken entity, or name the thing in about."}
	}
	for _, known := range kinds {
		if spelling.Distance(string(k), known) == 1 {
			return invalid("kind", "no kind of Ken's", "Did you mean "+known+"?")
		}
	}
	return nil
}

// write writes a claim in the caller's name: as a person with the right operate, otherwise as an
// agent.
func (a *API) write(c *call, s store.Engine, want *ken.Claim) (string, error) {
	if c.operator() {
		id, _, err := c.desk(s).Learn(c.ctx(), *want)
		return id, err
	}
	return a.handle(c, want.Session, want.Branch).Learn(c.ctx(), want.Text, want.Evidence, func(into *ken.Claim) {
		id, at := into.ID, into.CreatedAt
		*into = *want
		into.ID, into.CreatedAt = id, at
	})
}

// handle returns the session's handle with the caller as the agent. The handle writes to the event
// log.
func (a *API) handle(c *call, session, branch string) *session.Session {
	return a.l.Operator().Session(ken.Turn{Owner: c.who.Owner, Project: c.who.Project, Agent: c.who.Name, Session: session, Branch: branch})
}

// view answers with the new version of a changed claim.
func (a *API) view(c *call, s store.Engine, id string) (*reply, error) {
	now, err := claim(c.ctx(), s, id)
	if err != nil {
		return nil, err
	}
	return withETag(a.l.Operator().View(now))
}

// file sets the claim's entities and the other fields in which the request files it. Fields that
// are left out are derived from the text when the claim is written.
func (r *LearnRequest) file(operator bool, c *ken.Claim, names reading.Names) {
	if len(r.About) > 0 {
		c.Entities = append(slices.Clone(r.About), c.Entities...)
	}
	if r.Rule == nil {
		return
	}
	if *r.Rule && !operator {
		c.RuleCandidate = true
		return
	}
	reading.Assign(c, names)
	if len(r.About) > 0 {
		c.Entities = r.About
	}
	c.Constraint, c.RuleCandidate, c.AssignedBy = *r.Rule, false, ken.AssignedByOperator
	if !operator {
		c.AssignedBy = ken.AssignedByModel
	}
}

func (r *LearnRequest) claim() ken.Claim {
	c := ken.Claim{Text: r.Text, Evidence: slices.Clone(r.Evidence), Kind: r.Kind, Heading: r.Heading, Body: r.Body, Status: r.Status,
		Confidence: 1, Importance: 0.5, Scope: r.Scope, Project: r.Project, Session: r.Session, Branch: r.Branch, Domain: r.Domain,
		Tags: r.Tags, Entities: r.Entities, Aspect: r.Aspect, Constraint: r.Constraint, Source: r.Source, SourceType: "api", Key: r.Key,
		ExpiresAt: r.ExpiresAt.UTC()}
	c.Kind = cmp.Or(c.Kind, ken.KindFact)
	c.Status = cmp.Or(c.Status, ken.StatusObserved)
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

// hashFiles adds the current hash to evidence that names a file of the project, so that later
// changes can be detected. It changes no hash that the caller sent, and no file of a named
// repository or commit. For other owners' projects it does nothing. It reads each file once, and
// stops when the client has gone.
func (c *call) hashFiles(evidence []ken.Evidence) {
	root := c.api.l.Operator().RootOf(c.who.Owner)
	if root == "" {
		return
	}
	read := map[string]ken.Evidence{} // by the given name; without a hash if there is no such file
	for i := range evidence {
		e := &evidence[i]
		if e.Kind != ken.EvidenceFile || e.Repo != "" || e.CommitSHA != "" || e.ContentHash != "" || c.ctx().Err() != nil {
			continue
		}
		is, known := read[e.Path]
		if !known {
			is, _ = provenance.Evidence(root, e.Path) // otherwise it is only a name
			read[e.Path] = is
		}
		if is.ContentHash != "" {
			e.Path, e.ContentHash = is.Path, is.ContentHash
		}
	}
}
