package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kenlayer/ken"
)

// Events of actions. EventSupersede has no method here: whoever supersedes through
// the store logs it by this name.
const (
	EventLearn     = "knowledge.learn"
	EventVerify    = "knowledge.verify"
	EventDispute   = "knowledge.dispute"
	EventSupersede = "knowledge.supersede"
)

// Action is a log entry of the audit trail: that somebody set out to change what
// is known. It is made before the store is asked, so an action that the store
// refuses is in the trail too. Its JSON form is a contract.
type Action struct {
	Event         string   `json:"event"`
	ClaimID       string   `json:"claim_id"`
	ClaimStatus   string   `json:"claim_status"`   // that it gets
	EvidenceCount int      `json:"evidence_count"` // of this action alone
	EvidenceKinds []string `json:"evidence_kinds"` // each once, in order
	ScopeType     string   `json:"scope_type"`     // null when unscoped, and of a claim that is not new
	ScopeID       string   `json:"scope_id"`       // like ScopeType
	ActorType     string   `json:"actor_type"`     //
	ActorID       string   `json:"actor_id"`       // null when nobody said
	BranchID      string   `json:"branch_id"`      //
	SessionID     string   `json:"session_id"`     // null outside of a session
	Timestamp     float64  `json:"timestamp"`      // seconds since 1970, to the microsecond
}

// MarshalJSON writes null for what is not known.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action // without this method
	if a.EvidenceKinds == nil {
		a.EvidenceKinds = []string{}
	}
	return json.Marshal(struct {
		plain
		ScopeType *string `json:"scope_type"`
		ScopeID   *string `json:"scope_id"`
		ActorID   *string `json:"actor_id"`
		SessionID *string `json:"session_id"`
	}{plain(a), known(a.ScopeType), known(a.ScopeID), known(a.ActorID), known(a.SessionID)})
}

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// action is a log entry of this handle.
func (s *Session) action(event, claim string, to ken.Status, evidence []ken.Evidence) Action {
	a := Action{Event: event, ClaimID: claim, ClaimStatus: string(to), EvidenceCount: len(evidence), EvidenceKinds: []string{},
		ActorType: s.o.Actor.Type, ActorID: s.o.Actor.ID, BranchID: s.o.About.Branch, SessionID: s.o.About.ID, Timestamp: seconds(s.now())}
	for _, e := range evidence {
		if !slices.Contains(a.EvidenceKinds, string(e.Kind)) {
			a.EvidenceKinds = append(a.EvidenceKinds, string(e.Kind))
		}
	}
	return a
}

// seconds keeps what a float can: microseconds.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
