package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// readClaim decodes the object of a line into c and history.
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
	return keepUnknown(c, unknown)
}

// keepUnknown adds unknown fields to the claim's body.
func keepUnknown(c *ken.Claim, unknown []field) error {
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
	of     string // the field that it is an alias of
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

// field is one member of a JSON object, as it came.
type field struct {
	name string
	raw  json.RawMessage
}

// members splits a JSON object into its fields. A duplicate name is an error, because
// one of the values would be lost.
func members(path string, raw []byte) ([]field, error) {
	switch {
	case kindOf(raw) == "an object":
	case !json.Valid(raw):
		return nil, syntax(path, nil)
	default:
		return nil, invalid(path, "want an object, have "+kindOf(raw), "Write one JSON object, {…}, there.")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, syntax(path, err)
	}
	var out []field
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, syntax(path, err)
		}
		f := field{name: tok.(string)} // the decoder guarantees that a name is a string
		if err := dec.Decode(&f.raw); err != nil {
			return nil, syntax(path, err)
		}
		if seen[f.name] {
			return nil, invalid(join(path, f.name), "given twice", "Keep one of the two.")
		}
		seen[f.name] = true
		out = append(out, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, syntax(path, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, invalid(path, "more than one JSON value on the line", "Put each claim on a line of its own.")
	}
	return out, nil
}

// object decodes a JSON object into targets, which maps each allowed name to a pointer.
// Any other name is an error.
func object(path string, raw []byte, targets map[string]any) error {
	if isNull(raw) {
		return nil
	}
	fields, err := members(path, raw)
	if err != nil {
		return err
	}
	for _, f := range fields {
		target, ok := targets[f.name]
		if !ok {
			try := "Leave it out, or put it into the claim's body."
			if near := nearest(f.name, targets); near != "" {
				try = "Call it " + near + ", or put it into the claim's body."
			}
			return invalid(join(path, f.name), "unknown field", try)
		}
		if err := set(join(path, f.name), f.raw, target); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// kindOf returns the type of a JSON value, for error messages.
func kindOf(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a truth value"
	case 'n':
		return "null"
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return "a number"
	}
	return "something that is not JSON"
}

func syntax(path string, err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: "not valid JSON", Err: err,
		Try: "Write one JSON object on each line, without line breaks inside."}
}

// list calls each for every element of a JSON array, with the element's path.
func list(path string, raw []byte, each func(path string, raw []byte) error) error {
	var elems []json.RawMessage
	if err := json.Unmarshal(raw, &elems); err != nil {
		return mismatch(path, "a list", raw)
	}
	for i, elem := range elems {
		if err := each(path+"["+strconv.Itoa(i)+"]", elem); err != nil {
			return err
		}
	}
	return nil
}

func mismatch(path, want string, raw []byte) error {
	return invalid(path, "want "+want+", have "+kindOf(raw), fmt.Sprintf("Write %s there, or leave %s out.", want, path))
}

// nearest returns the known name that differs from name by one typing error: other
// capitals or separators, two letters swapped, one missing, added or changed. It
// returns "" if there is none. In a short name an error yields another word (score for
// scope, uid for id), so only the rarer errors count there.
func nearest[T any](name string, known map[string]T) string {
	best := ""
	for k := range known {
		a, b := normalizeName(name), normalizeName(k)
		slip := a == b || swapped(a, b) || len(b) > 3 && added(a, b) || len(b) > 5 && changed(a, b)
		if slip && (best == "" || k < best) {
			best = k
		}
	}
	return best
}

// normalizeName lower-cases a name and removes separators.
func normalizeName(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

func swapped(a, b string) bool {
	i := prefix(a, b)
	return len(a) == len(b) && i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func changed(a, b string) bool {
	i := prefix(a, b)
	return len(a) == len(b) && i < len(a) && a[i+1:] == b[i+1:]
}

// added reports whether one name has exactly one letter more than the other.
func added(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(b) == len(a)+1 && a[prefix(a, b):] == b[prefix(a, b)+1:]
}

// prefix returns the length of the common prefix of two names.
func prefix(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return i
}
