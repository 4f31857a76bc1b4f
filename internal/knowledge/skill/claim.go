package skill

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
)

// KeyPrefix is the prefix of a playbook's key; its name follows.
const KeyPrefix = "playbook:"

// Aspect is the aspect under which a playbook is filed: it is the procedure of the
// skill with its name.
const Aspect = "procedure"

// Body is the body of a playbook's claim: the fields besides its text.
type Body struct {
	Name          string            `json:"name"`
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	AllowedTools  []string          `json:"allowed_tools,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Files         []File            `json:"files,omitempty"`
	Hash          string            `json:"hash"` // hash of the file that it was read from
}

// Claim returns the playbook as a claim that the person by added at a time. Its key
// is "playbook:" and the name, so that adding it again revises it, or changes
// nothing if it is the same. The text is the description and then the complete
// body: the index finds the claim by both, and the injected block shortens it.
//
// The file is recorded as an artifact with its hash, not as file evidence. A
// playbook is valid until a person updates it, while file evidence would become
// invalid with any edit of the file. Body.Hash shows whether the file has changed
// since. All of its evidence has the trust of the person who added it, whoever
// wrote the file.
//
// The error is that of an invalid claim: a text longer than ken.MaxTextBytes.
func (s *Skill) Claim(by string, at time.Time) (ken.Claim, error) {
	body, err := json.Marshal(Body{Name: s.Name, License: s.License, Compatibility: s.Compatibility, AllowedTools: s.AllowedTools,
		Metadata: s.Metadata, Files: s.Files, Hash: s.Hash})
	if err != nil {
		return ken.Claim{}, err
	}
	path := filepath.ToSlash(s.Path)
	file := ken.FromArtifact(s.Name, path)
	file.ContentHash, file.FetchedAt, file.Trust = s.Hash, at, ken.TrustOperator
	c := ken.Claim{Key: KeyPrefix + s.Name, Kind: ken.KindPlaybook, Heading: cmp.Or(s.Title, s.Name), Text: s.Text(), Body: body,
		Evidence: []ken.Evidence{ken.FromHumanAssertion(by, at, "added as a playbook"), file},
		Status:   ken.StatusObserved, Confidence: 1, Importance: 0.5, Actor: ken.Actor{Type: "user", ID: by},
		Entities: []string{s.Name}, Aspect: Aspect, Tags: s.Triggers, Source: path, SourceType: "skill", CreatedAt: at, UpdatedAt: at}
	return c, c.Validate()
}

// Text returns the text of the claim: the description and then the body, or only
// the body if the description was taken from it.
func (s *Skill) Text() string {
	switch {
	case s.Body == "":
		return s.Description
	case s.derived:
		return s.Body
	}
	return s.Description + "\n\n" + s.Body
}
