package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// call is the state of one request in its route.
type call struct {
	api   *API
	r     *http.Request
	who   access.Principal
	route *route
	path  map[string]string
	query values
	body  any // a pointer to the route's body type
	read  []*param
}

func (c *call) ctx() context.Context { return c.r.Context() }

// permitted returns an error if the principal lacks the route's right.
func (c *call) permitted() error {
	switch {
	case c.route.right == "" || c.who.Can(c.route.right):
		return nil
	case c.who.Owner == "":
		p := problemf(codeUnauthorized, "Nobody is named by this request.")
		p.Try, p.header = "Send a key of the gateway.", map[string]string{"WWW-Authenticate": `Bearer realm="ken"`}
		return p
	}
	return c.missingRight(c.route.right)
}

func (c *call) missingRight(right access.Right) error {
	p := problemf(codeForbidden, "This needs the right %q.", string(right))
	p.Try = ken.Hint(c.who.Need(right))
	return p
}

// operator reports whether the call has a person's authority.
func (c *call) operator() bool { return c.who.Can(access.Operate) }

// actor returns the actor to which a change is attributed.
func (c *call) actor() ken.Actor {
	if c.operator() {
		return ken.Actor{Type: "user", ID: c.who.Name}
	}
	return ken.Actor{Type: "agent", ID: c.who.Name}
}

// store opens the principal's store. No other store is ever opened.
func (c *call) store() (store.Engine, func(), error) { return c.api.l.Store(c.ctx(), c.who.Owner) }

// withStore runs fn on the principal's store.
func (c *call) withStore(fn func(store.Engine) (*reply, error)) (*reply, error) {
	s, release, err := c.store()
	if err != nil {
		return nil, err
	}
	defer release()
	return fn(s)
}

// paramValues returns the values of a parameter. It panics if the route does not declare the
// parameter.
func (c *call) paramValues(p *param) []string {
	if !slices.Contains(c.route.params, p) {
		panic("api: route " + c.route.id + " reads parameter " + p.name + ", which it does not declare")
	}
	c.read = append(c.read, p)
	return c.query[p.name]
}

// text returns a parameter's value, or its default.
func (c *call) text(p *param) string {
	if v := c.paramValues(p); len(v) > 0 {
		return v[0]
	}
	return p.def
}

// number returns an integer parameter's value, or its default.
func (c *call) number(p *param) int {
	n, _ := strconv.Atoi(c.text(p)) // validated by parseQuery
	return n
}

// flag returns a boolean parameter's value; false by default.
func (c *call) flag(p *param) bool {
	on, _ := strconv.ParseBool(c.text(p)) // validated by parseQuery
	return on
}

// values returns all values of a parameter; nil if there are none.
func (c *call) values(p *param) []string { return c.paramValues(p) }

// claimID returns the path's {id}. It must be a complete id.
func (c *call) claimID() (string, error) {
	id, ok := wholeID(c.path["id"])
	if !ok {
		return "", noClaim()
	}
	return id, nil
}

func wholeID(s string) (string, bool) {
	const length = 36
	u, err := uuid.Parse(s)
	return u.String(), err == nil && len(s) == length
}

// noClaim is the error for every id that is not one of the owner's claims, so that all reasons look
// the same.
func noClaim() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no such claim", Try: "List claims with GET /api/claims."}
}

func claim(ctx context.Context, s store.Engine, id string) (ken.Claim, error) {
	c, err := s.Get(ctx, id)
	return c, orNoClaim(err)
}

// orNoClaim returns noClaim for an error of a claim that is not found.
func orNoClaim(err error) error {
	if errors.Is(err, ken.ErrNotFound) {
		return noClaim()
	}
	return err
}

// desk returns the desk that carries out a person's decisions.
func (c *call) desk(s store.Engine) *operator.Desk {
	return operator.New(c.api.l, s, operator.Options{Name: c.who.Name, Project: c.who.Project, Source: "api", Now: c.api.o.Now})
}

// A caller with the right write but not operate is treated as an agent: nothing that it sends
// counts as a person's statement, and nothing that it sends gets into every turn.

// assertion returns the caller's own assertion as evidence: a person's with the right operate, otherwise
// an agent's.
func (c *call) assertion() ken.Evidence {
	if c.operator() {
		return ken.FromHumanAssertion(c.who.Name, c.api.o.Now().UTC(), "")
	}
	return ken.FromAgentAssertion(c.who.Name, "")
}

// callerEvidence returns evidence with the missing fields filled in and within the caller's rights.
// A piece without a time gets the current time, a person's assertion without a name gets the
// caller's, pieces of an agent get at most an agent's trust, and a file of the project gets its
// hash. It returns ErrInvalid for a page whose address is none.
func (c *call) callerEvidence(evidence []ken.Evidence) ([]ken.Evidence, error) {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if e.Kind == ken.EvidenceURL && e.URL != "" { // an empty one is refused with the claim
			if _, err := provenance.Page("evidence["+strconv.Itoa(i)+"].url", e.URL, e.FetchedAt); err != nil {
				return nil, err
			}
		}
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
	c.hashFiles(out)
	return out, nil
}

// refuseHumanEvidence returns an error if an agent sends evidence that only a person can give.
func (c *call) refuseHumanEvidence(evidence []ken.Evidence) error {
	if c.operator() {
		return nil
	}
	for _, e := range evidence {
		if e.Kind == ken.EvidenceHumanAssertion || e.Kind == ken.EvidenceUserStatement {
			return c.needsOperator("evidence", "evidence of kind "+string(e.Kind)+" is a person's word")
		}
	}
	return nil
}

// refuseOperatorClaim returns an error if an agent sends a claim that only a person may write.
func (c *call) refuseOperatorClaim(want *ken.Claim) error {
	switch {
	case want.Constraint:
		return c.needsOperator("constraint", "a constraint surfaces in every turn that it is about")
	case engine.Pinned(want.Kind) && want.Status != ken.StatusHypothesis:
		return c.needsOperator("status", "a claim of kind "+string(want.Kind)+" is in every turn unless it is a hypothesis")
	}
	return c.refuseHumanEvidence(want.Evidence)
}

// needsOperator returns the error for an action that needs the right operate. why is the reason.
func (c *call) needsOperator(field, why string) error {
	p := problemf(codeForbidden, "This needs the right %q: %s.", string(access.Operate), why)
	p.Try, p.field = ken.Hint(c.who.Need(access.Operate)), field
	return p
}
