package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// What a claim may have under given: the fields of an export, its history and
// counters apart, and short names for two of them.
var givenKeys = []string{"text", "key", "kind", "heading", "tags", "evidence", "status", "scope", "owner", "session", "branch", "project",
	"id", "body", "confidence", "importance", "actor", "domain", "entities", "aspect", "constraint", "source", "source_type",
	"created_at", "updated_at", "expires_at", "archived_at", "supersedes", "superseded_by", "session_id", "branch_id"}

var shortNames = map[string]string{"session": "session_id", "branch": "branch_id"}

// given reads a claim: a mapping with the fields of an export, or its text alone.
// What the fields mean, their defaults and their checks are those of an import.
func (r *reader) given(path string, n ast.Node) (Given, error) {
	g := Given{Line: line(n)}
	fields := map[string]any{}
	if _, isMap := n.(ast.MapNode); isMap {
		e, err := r.entries(path, n, givenKeys)
		if err != nil {
			return g, err
		}
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if fields[name], err = r.value(join(path, name), e[name]); err != nil {
				return g, err
			}
		}
	} else {
		text, err := r.text(path, n)
		if err != nil {
			return g, err
		}
		fields["text"] = text
	}
	for name, full := range shortNames {
		v, ok := fields[name]
		if !ok {
			continue
		}
		if _, both := fields[full]; both {
			return g, r.wrong(n, join(path, name), "given as "+full+" as well", "Keep one of the two.")
		}
		delete(fields, name)
		fields[full] = v
	}
	if s, ok := fields["scope"].(string); ok {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return g, r.wrong(n, join(path, "scope"), err.Error(), ken.Hint(err))
		}
		fields["scope"] = scope
	}
	if fields["evidence"] == nil {
		e := ken.FromArtifact(fmt.Sprintf("given:%s:%d", r.file, g.Line), r.file)
		e.Line = g.Line
		fields["evidence"] = []ken.Evidence{e}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return g, r.wrong(n, path, err.Error(), "Write text, numbers, true, false, lists and keys with values.")
	}
	for l := range jsonl.Read(bytes.NewReader(raw), r.file) {
		if l.Err != nil {
			return g, r.refused(n, path, l.Err)
		}
		g.Claim = l.Claim
	}
	return g, nil
}

// refused says of a claim what an import would.
func (r *reader) refused(n ast.Node, path string, err error) error {
	field, msg := path, err.Error()
	if e := (*ken.Error)(nil); errors.As(err, &e) && e.Field != "" {
		field = join(path, e.Field)
		msg = e.Msg
		if e.Err != nil {
			msg += ": " + e.Err.Error()
		}
	}
	return r.wrong(n, field, msg, ken.Hint(err))
}
