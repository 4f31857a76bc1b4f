package jsonl

import (
	"encoding/json"

	"github.com/kenlayer/ken"
)

// readClaim reads a line's object into c and history.
func readClaim(raw []byte, c *ken.Claim, history *[]ken.ClaimEvent) error {
	fields, err := members("", raw)
	if err != nil {
		return err
	}
	targets := claimTargets(c, history)
	aliases := aliasTargets(c)
	given := map[string]bool{}
	var unknown []field
	for _, f := range fields {
		target, ok := targets[f.name]
		as := f.name
		if alias, isAlias := aliases[f.name]; isAlias {
			target, as, ok = alias.target, alias.of, true
		}
		if !ok {
			if near := nearest(f.name, targets); near != "" {
				return invalid(f.name, "unknown field", "Call it "+near+", or move it into body if it means something else.")
			}
			unknown = append(unknown, f)
			continue
		}
		if isNull(f.raw) {
			continue
		}
		if given[as] {
			return invalid(f.name, "given twice, once under another name", "Keep one of the two.")
		}
		given[as] = true
		if err := set(f.name, f.raw, target); err != nil {
			return err
		}
	}
	for _, name := range []string{"scope", "actor"} {
		if given[name] && (given[name+".type"] || given[name+".id"]) {
			return invalid(name, "given twice, once under another name", "Keep one of the two.")
		}
	}
	return keep(c, unknown)
}

// keep puts unknown fields into the claim's body.
func keep(c *ken.Claim, unknown []field) error {
	if len(unknown) == 0 {
		return nil
	}
	body := map[string]json.RawMessage{}
	if len(c.Body) > 0 {
		have, err := members("body", c.Body)
		if err != nil {
			return invalid(unknown[0].name, "unknown field, and body is "+kindOf(c.Body)+" that can't take it",
				"Make body an object, or leave the field out.")
		}
		for _, f := range have {
			body[f.name] = f.raw
		}
	}
	for _, f := range unknown {
		if _, taken := body[f.name]; taken {
			return invalid(f.name, "unknown field, and body has one of that name", "Keep one of the two.")
		}
		body[f.name] = f.raw
	}
	var err error
	c.Body, err = json.Marshal(body)
	return err
}

func claimTargets(c *ken.Claim, history *[]ken.ClaimEvent) map[string]any {
	return map[string]any{
		"id": &c.ID, "key": &c.Key, "owner": &c.Owner, "kind": (*string)(&c.Kind),
		"heading": &c.Heading, "text": &c.Text, "body": &c.Body, "evidence": &c.Evidence,
		"status": (*string)(&c.Status), "confidence": &c.Confidence, "importance": &c.Importance,
		"scope": &c.Scope, "project": &c.Project, "session_id": &c.Session, "branch_id": &c.Branch,
		"actor": &c.Actor, "domain": &c.Domain, "tags": &c.Tags, "entities": &c.Entities, "aspect": &c.Aspect,
		"constraint": &c.Constraint, "rule_candidate": &c.RuleCandidate, "assigned_by": (*string)(&c.AssignedBy), "source": &c.Source, "source_type": &c.SourceType,
		"created_at": &c.CreatedAt, "updated_at": &c.UpdatedAt, "expires_at": &c.ExpiresAt, "archived_at": &c.ArchivedAt,
		"supersedes": &c.Supersedes, "superseded_by": &c.SupersededBy,
		"reinforcements": &c.Reinforcements, "reinforced_at": &c.ReinforcedAt,
		"history": history,
	}
}

type alias struct {
	of     string // the field that it stands for
	target any
}

func aliasTargets(c *ken.Claim) map[string]alias {
	return map[string]alias{
		"claim_status": {"status", (*string)(&c.Status)},
		"scope_type":   {"scope.type", (*string)(&c.Scope.Type)},
		"scope_id":     {"scope.id", &c.Scope.ID},
		"actor_type":   {"actor.type", &c.Actor.Type},
		"actor_id":     {"actor.id", &c.Actor.ID},
	}
}

func evidenceTargets(e *ken.Evidence) map[string]any {
	return map[string]any{
		"kind": (*string)(&e.Kind), "id": &e.ID, "session_id": &e.SessionID, "message_id": &e.MessageID,
		"tool_call_id": &e.ToolCallID, "artifact_id": &e.ArtifactID, "path": &e.Path, "line": &e.Line,
		"repo": &e.Repo, "commit_sha": &e.CommitSHA, "url": &e.URL, "content_hash": &e.ContentHash,
		"exit_code": &e.ExitCode, "fetched_at": &e.FetchedAt, "detail": &e.Detail, "trust": &e.Trust,
	}
}

func eventTargets(e *ken.ClaimEvent) map[string]any {
	return map[string]any{
		"seq": &e.Seq, "at": &e.At, "type": (*string)(&e.Type), "from": (*string)(&e.From), "to": (*string)(&e.To),
		"reason": &e.Reason, "evidence": &e.Evidence, "other": &e.Other, "actor": &e.Actor, "erased": &e.Erased,
	}
}
