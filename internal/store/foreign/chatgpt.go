package foreign

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// conversation is a conversation in ChatGPT's export; only the fields with memories are
// decoded.
type conversation struct {
	Mapping map[string]struct {
		Message *chatMessage `json:"message"`
	} `json:"mapping"`
}

type chatMessage struct {
	Author     struct{ Role string } `json:"author"`
	CreateTime *float64              `json:"create_time"`
	Recipient  string                `json:"recipient"`
	Content    struct {
		Type         string `json:"content_type"`
		Parts        []any  `json:"parts"`
		Text         string `json:"text"`
		SetContext   string `json:"model_set_context"`
		Profile      string `json:"user_profile"`
		Instructions string `json:"user_instructions"`
	} `json:"content"`
}

// saved is one memory of ChatGPT.
type saved struct {
	at   time.Time
	text string
}

// chatGPT reads the memories in an export of ChatGPT. The model saves a memory by a message
// to "bio". Some conversations begin with a list of all current memories and the user's
// custom instructions. chatGPT returns the last such list and the memories saved after it.
// Everything else in the conversations is left out.
func (out *output) chatGPT(text string) {
	var list struct { // the last of each
		memories, profile, instructions saved
	}
	var bios []saved
	conversations := 0
	out.values(text, []string{"conversations"}, func(n int, m map[string]any) {
		if m["mapping"] == nil {
			out.looseMemory(n, m)
			return
		}
		conversations++
		raw, _ := json.Marshal(m) // it was decoded from JSON
		var c conversation
		if err := json.Unmarshal(raw, &c); err != nil {
			out.fail(n, &ken.Error{Code: ken.CodeInvalid, Field: "mapping", Msg: "a conversation can't be read", Err: err, Try: "Leave it out, or export it again."}, nil)
			return
		}
		for _, node := range c.Mapping {
			msg := node.Message
			if msg == nil {
				continue
			}
			at := time.Time{}
			if msg.CreateTime != nil {
				at = timeOf(*msg.CreateTime)
			} else if v, ok := m["create_time"].(float64); ok {
				at = timeOf(v)
			}
			last := func(into *saved, text string) {
				if text != "" && (into.text == "" || at.After(into.at) || at.Equal(into.at) && text > into.text) {
					*into = saved{at, text}
				}
			}
			switch {
			case msg.Recipient == "bio" && msg.Author.Role == "assistant":
				bios = append(bios, saved{at, strings.Join(append(wordsOf(msg.Content.Parts), msg.Content.Text), "\n")})
			case msg.Content.Type == "model_editable_context":
				last(&list.memories, msg.Content.SetContext)
			case msg.Content.Type == "user_editable_context":
				last(&list.profile, msg.Content.Profile)
				last(&list.instructions, msg.Content.Instructions)
			}
		}
	})
	all := splitDated(list.memories.text)
	for _, b := range bios {
		if b.at.After(list.memories.at) || list.memories.text == "" {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b saved) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.text, b.text)) })
	n := 0
	for _, s := range all {
		if n++; strings.TrimSpace(s.text) == "" {
			out.skip(n, "an empty memory")
			continue
		}
		out.put(n, ken.Claim{Text: s.text, CreatedAt: s.at, Evidence: out.toolEvidence(s.at)}, "")
	}
	for _, own := range []struct {
		heading string
		saved
	}{{"About me", list.profile}, {"How to answer me", list.instructions}} {
		for _, s := range statements(unwrapInstruction(own.text)) {
			if n++; s.skip != "" {
				out.skip(n, s.skip)
				continue
			}
			out.put(n, ken.Claim{Text: s.text, Heading: own.heading, CreatedAt: own.at}, "")
		}
	}
	for range conversations {
		n++
		out.skip(n, "a conversation: only what was saved from it is read")
	}
}

// looseMemory reads an entry that is a memory by itself, in a list of memories.
func (out *output) looseMemory(n int, m map[string]any) {
	c := ken.Claim{Text: textOf(m, "content", "text", "memory"), CreatedAt: timeOf(m["created_at"])}
	if on, ok := m["enabled"].(bool); ok && !on {
		out.skip(n, "switched off")
		return
	}
	c.Evidence = out.toolEvidence(c.CreatedAt)
	out.entry(n, c, textOf(m, "id"), m, "content")
}

// listed matches the start of a memory in the list of all memories: "12. [2024-10-05]. User
// …".
var listed = lazyregexp.New(`(?m)^\s*\d+\.\s*\[(\d{4}-\d\d-\d\d)\]\.?\s*`)

// splitDated splits the list of all memories.
func splitDated(text string) (out []saved) {
	at := listed.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out = append(out, saved{timeOf(text[m[2]:m[3]]), strings.TrimSpace(text[m[1]:end])})
	}
	if len(at) == 0 && strings.TrimSpace(text) != "" {
		for _, s := range statements(text) {
			if s.skip == "" {
				out = append(out, saved{text: s.text})
			}
		}
	}
	return out
}

// unwrapInstruction extracts a custom instruction from the text that ChatGPT puts around it.
func unwrapInstruction(text string) string {
	if _, inside, ok := strings.Cut(text, "```"); ok {
		inside, _, _ = strings.Cut(inside, "```")
		return inside
	}
	if strings.HasPrefix(text, "The user ") { // nothing of the user's own is in it
		return ""
	}
	return text
}
