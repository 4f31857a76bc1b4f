package foreign

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/kenlayer/ken"
)

// values reads consecutive JSON values of a text. It unwraps objects that only contain a list,
// such as {"results": […]}, and strings that contain JSON.
func (out *output) values(text string, wrappers []string, each func(n int, m map[string]any)) {
	dec := json.NewDecoder(strings.NewReader(text))
	n := 0
	var open func(v any, depth int)
	open = func(v any, depth int) {
		const deepest = 4
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				open(e, depth+1)
			}
		case map[string]any:
			wrapped := false
			for _, w := range wrappers {
				if list, ok := v[w].([]any); ok && depth < deepest {
					wrapped = true
					open(list, depth+1)
				}
			}
			if !wrapped {
				n++
				each(n, v)
			}
		case string:
			var inner any
			if depth < deepest && json.Unmarshal([]byte(v), &inner) == nil {
				open(inner, depth+1)
				return
			}
			n++
			out.skip(n, "no object")
		default:
			n++
			out.skip(n, "no object")
		}
	}
	for !out.ended {
		var v any
		switch err := dec.Decode(&v); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			out.fail(n+1, &ken.Error{Code: ken.CodeInvalid, Msg: "not valid JSON", Err: err, Try: "Export it again: the file may be cut off."}, nil)
			return
		}
		open(v, 0)
	}
}

// mem0 reads the results of mem0's get_all or an export: objects with a memory, and the
// relations of its graph.
func (out *output) mem0(text string) {
	out.values(text, []string{"results", "memories", "relations", "data"}, func(n int, m map[string]any) {
		if from, how, to := textOf(m, "source"), textOf(m, "relationship", "relation"), textOf(m, "target", "destination"); from != "" && how != "" && to != "" {
			c := ken.Claim{Text: spaced(from) + " " + spaced(how) + " " + spaced(to), Entities: []string{spaced(from), spaced(to)}}
			c.Evidence = out.toolEvidence(timeOf(m["created_at"]))
			out.put(n, c, "")
			return
		}
		c := ken.Claim{Text: textOf(m, "memory", "data", "text", "content"), Tags: wordsOf(m["categories"]), Owner: textOf(m, "user_id"),
			Session: textOf(m, "run_id"), CreatedAt: timeOf(m["created_at"]), UpdatedAt: timeOf(m["updated_at"]), ExpiresAt: timeOf(m["expiration_date"])}
		if agent := textOf(m, "agent_id"); agent != "" {
			c.Actor = ken.Actor{Type: "agent", ID: agent}
		}
		if meta, ok := m["metadata"].(map[string]any); ok && len(meta) > 0 {
			c.Body, _ = json.Marshal(meta) // it was decoded from JSON
		}
		c.Evidence = out.toolEvidence(c.CreatedAt)
		out.entry(n, c, textOf(m, "id"), m, "memory")
	})
}

// entry yields a claim, or an error if the entry lacks the required field.
func (out *output) entry(n int, c ken.Claim, id string, m map[string]any, field string) {
	if strings.TrimSpace(c.Text) != "" {
		out.put(n, c, id)
		return
	}
	raw, _ := json.Marshal(m) // it was decoded from JSON
	out.fail(n, invalid(field, "missing", "Write what it says into the field text, or leave the entry out."), raw)
}

func spaced(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "_", " ")) }

// zep reads facts of Zep and Graphiti: edges with a fact, and nodes with a summary. A fact that
// is no longer valid becomes an expired claim.
func (out *output) zep(text string) {
	names := map[string]string{} // names of nodes, by uuid
	wrappers := []string{"edges", "nodes", "facts", "relevant_facts", "results", "items", "data"}
	quiet := &output{yield: func(Item) bool { return true }}
	quiet.values(text, wrappers, func(_ int, m map[string]any) {
		if id, name := textOf(m, "uuid", "uuid_"), textOf(m, "name"); id != "" && m["fact"] == nil {
			names[id] = name
		}
	})
	out.values(text, wrappers, func(n int, m map[string]any) {
		c := ken.Claim{Text: textOf(m, "fact"), CreatedAt: timeOf(m["created_at"])}
		if m["fact"] == nil {
			c.Text = textOf(m, "summary")
			if c.Text == "" {
				out.skip(n, "a node without a summary")
				return
			}
			if name := textOf(m, "name"); name != "" {
				c.Heading, c.Entities = name, []string{name}
			}
		}
		for _, end := range []string{"source_node", "target_node"} {
			if name := cmp.Or(textOf(m, end+"_name"), names[textOf(m, end+"_uuid")]); name != "" {
				c.Entities = append(c.Entities, name)
			}
		}
		for _, end := range []string{"invalid_at", "expired_at"} {
			if at := timeOf(m[end]); !at.IsZero() && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt)) {
				c.ExpiresAt = at
			}
		}
		c.Evidence = out.toolEvidence(c.CreatedAt)
		out.entry(n, c, textOf(m, "uuid", "uuid_"), m, "fact")
	})
}

// letta reads the memory blocks of an agent file, and archival passages.
func (out *output) letta(text string) {
	n := 0
	out.values(text, []string{"agents", "blocks", "core_memory", "memory_blocks", "passages", "archival_memory"}, func(_ int, m map[string]any) {
		label, value := textOf(m, "label"), textOf(m, "value")
		switch {
		case label == "" && textOf(m, "text") != "" && m["role"] == nil:
			n++
			c := ken.Claim{Text: textOf(m, "text"), Tags: wordsOf(m["tags"]), CreatedAt: timeOf(m["created_at"])}
			c.Evidence = out.toolEvidence(c.CreatedAt)
			out.put(n, c, textOf(m, "id"))
		case label == "":
			// An agent without blocks, or an object that is not a block.
		case strings.Contains(strings.ToLower(label), "persona"):
			n++
			out.skip(n, "an agent's persona")
		case value != "":
			for _, s := range statements(value) {
				n++
				if s.skip != "" {
					out.skip(n, s.skip)
					continue
				}
				c := ken.Claim{Text: s.text, Heading: joined(spaced(label), s.heading), Source: out.o.Name + ": " + label, Entities: s.links}
				c.Evidence = out.toolEvidence(timeOf(m["updated_at"]))
				out.put(n, c, "")
			}
		}
	})
}
