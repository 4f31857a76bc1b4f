package api

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// VerifyRequest confirms a claim.
type VerifyRequest struct {
	Evidence []ken.Evidence `json:"evidence,omitempty" jsonschema:"what it was checked with; an agent has to give some"`
	Note     string         `json:"note,omitempty" jsonschema:"what a person checked"`
	Session  string         `json:"session_id,omitempty"`
}

// DisputeRequest contests a claim.
type DisputeRequest struct {
	Reason   string         `json:"reason" jsonschema:"what contradicts it"`
	Evidence []ken.Evidence `json:"evidence,omitempty"`
	Session  string         `json:"session_id,omitempty"`
}

// SupersedeRequest replaces a claim.
type SupersedeRequest struct {
	By     string `json:"by" jsonschema:"the id of the claim that replaces it"`
	Reason string `json:"reason,omitempty"`
}

// ReasonRequest is a change for which only a reason is given, or none.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty"`
}

// FileRequest sets the entities that a claim is about, and whether it is a rule.
type FileRequest struct {
	About []string `json:"about,omitempty" jsonschema:"in place of what it is about, the main thing first; left out, that stays"`
	Rule  *bool    `json:"rule,omitempty" jsonschema:"whether it is a rule; left out, that stays"`
}

func fileClaim(_ *API, c *call, s store.Engine, had *ken.Claim) error {
	req := c.body.(*FileRequest)
	if req.About == nil && req.Rule == nil {
		return invalid("rule", "neither about nor rule is there", "Say what it is about, or whether it is a rule.")
	}
	_, _, err := c.desk(s).Refile(c.ctx(), had.ID, req.About, req.Rule)
	return err
}

func claimChangeRoute(id, verb string, right access.Right, summary, about, example string, body reflect.Type, fn claimChange) *route {
	return &route{method: http.MethodPost, path: "/api/claims/{id}/" + verb, id: id, tag: "claims", right: right, summary: summary,
		about: about, body: body, example: example, status: http.StatusOK, answer: reflect.TypeFor[inspect.Claim](), usesIfMatch: true,
		fails: []problemCode{codeNotFound, codeRefused, codePrecondition}, serve: serveClaimChange(fn)}
}

// claimChange changes a claim.
type claimChange func(a *API, c *call, s store.Engine, had *ken.Claim) error

func lifeRoutes() []*route {
	verify := claimChangeRoute("verify", "verify", access.Write, "Vouch for a claim",
		"Mark a claim as verified. With the right operate it is a person's verification, and again for one that is verified keeps it from "+
			"decaying; without it, an agent's, which needs evidence and raises the tier as far as that goes.",
		`{"note":"read the handler and its tests"}`, reflect.TypeFor[VerifyRequest](), verifyClaim)
	dispute := claimChangeRoute("dispute", "dispute", access.Write, "Contest a claim",
		"Mark a claim as contested: no turn and no search gets it any more, unless it asks for disputed ones. What a person put into every "+
			"turn is not taken out on an agent's word: the claim stays, and a person is asked to look at it.",
		`{"reason":"the timeout is 5 s since March"}`, reflect.TypeFor[DisputeRequest](), disputeClaim)
	dispute.also = map[int]string{http.StatusAccepted: "The claim stays for now; a person was asked."}
	return []*route{learnRoute, verify, dispute,
		claimChangeRoute("supersede", "supersede", access.Operate, "Replace a claim by another",
			"Mark a claim as replaced. It stays in the log with a link to the one that replaces it. Doing it again changes nothing.",
			`{"by":"0198c0de-0000-7000-8000-000000000002"}`, reflect.TypeFor[SupersedeRequest](), supersedeClaim),
		claimChangeRoute("file", "file", access.Operate, "Say what a claim is about, and whether it is a rule",
			"File a claim, on a person's word: about in place of what it was about, and a rule of true or false. What is left out stays. A rule that "+
				"is made none is a fact again.",
			`{"about":["ledger"],"rule":false}`, reflect.TypeFor[FileRequest](), fileClaim),
		claimChangeRoute("archive", "archive", access.Operate, "Put a claim away", "Put away a claim that was superseded or has expired.",
			`{"reason":"superseded for a year"}`, reflect.TypeFor[ReasonRequest](), archiveClaim),
		{
			method: http.MethodDelete, path: "/api/claims/{id}", id: "forget", tag: "claims", right: access.Operate,
			summary: "Erase a claim and everything derived from it",
			about: "Erase a claim, every claim that was derived from it or says the same again, and the messages of sessions that it came from: " +
				"texts, evidence, vectors and index entries, in the log and on the disk. An episode that tells it is written anew without it. " +
				"What is left is a note of when, by whom and why. It can't be undone.",
			params: []*param{pReason}, status: http.StatusOK, answer: reflect.TypeFor[middleware.Forgotten](), usesIfMatch: true,
			fails: []problemCode{codeNotFound, codeRefused, codePrecondition}, serve: (*API).forget,
		}}
}

// serveClaimChange changes a claim and answers with its new version.
func serveClaimChange(fn claimChange) func(*API, *call) (*reply, error) {
	return func(a *API, c *call) (*reply, error) {
		return a.changeClaim(c, func(s store.Engine, had *ken.Claim) (*reply, error) {
			err := fn(a, c, s, had)
			if err != nil && !errors.Is(err, errPersonAsked) {
				return nil, err
			}
			rep, failed := a.view(c, s, had.ID)
			if failed == nil && err != nil {
				rep.status = http.StatusAccepted
			}
			return rep, failed
		})
	}
}

// changeClaim runs fn on the claim of the path, if its version matches If-Match. Calls that change
// the same claim run one after the other.
func (a *API) changeClaim(c *call, fn func(s store.Engine, had *ken.Claim) (*reply, error)) (*reply, error) {
	id, err := c.claimID()
	if err != nil {
		return nil, err
	}
	release, err := a.changing.Take(c.ctx(), c.who.Owner+"\x00"+id)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.withStore(func(s store.Engine) (*reply, error) {
		had, err := operator.Living(c.ctx(), s, id)
		if err != nil {
			return nil, orNoClaim(err)
		}
		if err := c.checkIfMatch(a.l.Operator().View(had)); err != nil {
			return nil, err
		}
		return fn(s, &had)
	})
}

// errPersonAsked means that the change was not made, because a person has to decide.
var errPersonAsked = errors.New("a person was asked")

func verifyClaim(a *API, c *call, s store.Engine, had *ken.Claim) error {
	req := c.body.(*VerifyRequest)
	evidence, err := c.callerEvidence(req.Evidence)
	if err != nil {
		return err
	}
	if c.operator() {
		return c.desk(s).Verify(c.ctx(), had.ID, req.Note, evidence...)
	}
	switch err := c.refuseHumanEvidence(evidence); {
	case err != nil:
		return err
	case len(evidence) == 0:
		return invalid("evidence", "empty: an agent's verification needs evidence", "Say what it was checked with, such as a test result.")
	case engine.Pinned(had.Kind):
		return c.needsOperator("id", "a verified claim of kind "+string(had.Kind)+" is in every turn")
	case had.Status == ken.StatusVerified:
		return s.Reinforce(c.ctx(), had.ID, evidence, c.actor())
	}
	return a.handle(c, req.Session, "").Verify(c.ctx(), had.ID, evidence...)
}

func disputeClaim(a *API, c *call, s store.Engine, had *ken.Claim) error {
	req := c.body.(*DisputeRequest)
	reason := strings.TrimSpace(req.Reason)
	if reason == "" {
		return invalid("reason", "empty: a dispute needs a reason", "Say what contradicts the claim.")
	}
	evidence, err := c.callerEvidence(req.Evidence)
	if err != nil {
		return err
	}
	if c.operator() {
		return c.desk(s).Dispute(c.ctx(), had.ID, reason, evidence...)
	}
	if err := c.refuseHumanEvidence(evidence); err != nil {
		return err
	}
	if engine.Pinned(had.Kind) && had.Status != ken.StatusHypothesis && ken.CheckTransition(had.Status, ken.StatusDisputed, "") == nil {
		_, err := attention.PutMark(c.ctx(), s.Shelf(), attention.Mark{Event: attention.DisputeRequested, Claim: had.ID, Reason: reason,
			Session: req.Session, Actor: c.actor(), At: a.o.Now()})
		return cmp.Or(err, errPersonAsked)
	}
	return a.handle(c, req.Session, "").Dispute(c.ctx(), had.ID, reason, evidence...)
}

func supersedeClaim(_ *API, c *call, s store.Engine, had *ken.Claim) error {
	req := c.body.(*SupersedeRequest)
	by, ok := wholeID(req.By)
	if !ok {
		return invalid("by", "not the id of a claim", "Name the claim that replaces it by its whole id.")
	}
	err := c.desk(s).Supersede(c.ctx(), had.ID, by, req.Reason)
	if errors.Is(err, ken.ErrNotFound) {
		return invalid("by", "no such claim", "Write the claim that replaces it first.")
	}
	return err
}

func archiveClaim(_ *API, c *call, s store.Engine, had *ken.Claim) error {
	return c.desk(s).Archive(c.ctx(), had.ID, c.body.(*ReasonRequest).Reason)
}

func (a *API) forget(c *call) (*reply, error) {
	forget := func(s store.Engine, id string) (*reply, error) {
		gone, err := c.desk(s).Forget(c.ctx(), id, c.text(pReason))
		if err != nil {
			return nil, err
		}
		return &reply{body: gone}, nil
	}
	r, err := a.changeClaim(c, func(s store.Engine, had *ken.Claim) (*reply, error) { return forget(s, had.ID) })
	if !errors.Is(err, ken.ErrNotFound) {
		return r, err
	}
	id, err := c.claimID() // forgetting an already forgotten claim returns the same result
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		r, err := forget(s, id)
		return r, orNoClaim(err)
	})
}

func reviewRoutes() []*route {
	empty := reflect.TypeFor[struct{}]()
	return []*route{
		claimChangeRoute("approve", "approve", access.Operate, "Approve a hypothesis",
			"Take a hypothesis for true, on a person's word. A pattern or a hot fact is in every turn from then on. One that was approved before stays as it is.",
			`{}`, empty, reviewChange(operator.Approve)),
		claimChangeRoute("reject", "reject", access.Operate, "Reject a hypothesis",
			"Turn a claim down, on a person's word. It stays known, so that seeing it again does not make it a candidate again.",
			`{}`, empty, reviewChange(operator.Reject)),
	}
}

// reviewChange carries out a person's review decision.
func reviewChange(decision operator.Decision) claimChange {
	return func(_ *API, c *call, s store.Engine, had *ken.Claim) error {
		out, err := c.desk(s).Review(c.ctx(), []operator.Verdict{{ID: had.ID, Decision: decision}})
		if errors.Is(out[0].Err, ken.ErrNotFound) { // reading MEMORY.md deleted the claim in the meantime
			return noClaim()
		}
		return cmp.Or(out[0].Err, err)
	}
}
