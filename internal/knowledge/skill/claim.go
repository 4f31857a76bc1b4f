package skill

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
)

// KeyPrefix is what a playbook's key starts with; its name follows.
const KeyPrefix = "playbook:"

// Aspect is the one that a playbook is filed under: it is how the skill of its name
// is done.
const Aspect = "procedure"

// Body is the body of a playbook's claim: what it says beside its text.
type Body struct {
	Name          string            `json:"name"`
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	AllowedTools  []string          `json:"allowed_tools,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Files         []File            `json:"files,omitempty"`
	Hash          string            `json:"hash"` // of the file that it was read from
}

// Claim returns the playbook as a claim that by, a person, has added at a time. It
// has the key "playbook:" and its name, so that adding it again revises it, and
// changes nothing when nothing has changed. The text is the description and then
// the whole body: the index finds it by both, and the block shortens.
//
// The file is kept as an artifact with its hash and not as file evidence: what a
// person has added stands until a person updates it, while file evidence would
// take it back as soon as somebody edits the file. Body.Hash tells whether the
// file has changed since. All of its evidence speaks for who added it, whoever
// wrote the file.
//
// The error is that of a claim which can't be: a text beyond ken.MaxTextBytes.
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

// Text is what stands in the claim: the description and then the body, or the body
// alone where the description was taken from it.
func (s *Skill) Text() string {
	switch {
	case s.Body == "":
		return s.Description
	case s.derived:
		return s.Body
	}
	return s.Description + "\n\n" + s.Body
}
