package foreign

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Head is the number of bytes of a file that Guess needs.
const Head = 64 << 10

// marks match the beginning of an export of one format only.
var marks = []struct {
	format Format
	has    *lazyregexp.Regexp
}{
	{ChatGPT, lazyregexp.New(`"(mapping|current_node|moderation_results)"\s*:`)},
	{Letta, lazyregexp.New(`\\?"(core_memory|memory_blocks|block_ids|agent_type)\\?"\s*:`)},
	{Zep, lazyregexp.New(`"(fact|source_node_uuid|valid_at)"\s*:`)},
	{Mem0, lazyregexp.New(`"memory"\s*:\s*"`)},
}

// Guess returns a file's format, determined from its name and its first bytes.
func Guess(name string, head []byte) (Format, error) {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, "\\", "/")))
	switch {
	case base == ".cursorrules", strings.HasSuffix(base, ".mdc"):
		return Cursor, nil
	case instructions(base):
		return ClaudeCode, nil
	case strings.HasSuffix(base, ".md"), strings.HasSuffix(base, ".markdown"):
		return Obsidian, nil
	case strings.HasSuffix(base, ".csv"), strings.HasSuffix(base, ".tsv"):
		return CSV, nil
	case strings.HasSuffix(base, ".af"):
		return Letta, nil
	}
	if strings.HasPrefix(string(head), "PK\x03\x04") {
		return "", invalid("", name+" is an archive", "Unpack it, and import the file in it, such as conversations.json.")
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	line, _, _ := strings.Cut(text, "\n")
	var first map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(line), &first) == nil && first["text"] != nil {
		return Claims, nil
	}
	for _, m := range marks {
		if m.has.MatchString(text) {
			return m.format, nil
		}
	}
	if strings.HasSuffix(base, ".jsonl") || strings.HasPrefix(text, "{") && json.Valid([]byte(line)) {
		return Claims, nil
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "--from", Msg: "the format of " + name + " can't be told from the file",
		Try: "Say --from and one of " + names() + "."}
}

// instructions reports whether a file name is that of instructions for coding agents.
func instructions(base string) bool {
	switch base {
	case "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "copilot-instructions.md":
		return true
	}
	return false
}

// Wanted reports whether a file of a folder is to be read in a format. name is
// slash-separated and relative to the folder.
func Wanted(f Format, name string) bool {
	name = strings.ToLower(name)
	base, markdown := path.Base(name), strings.HasSuffix(name, ".md")
	switch f {
	case ClaudeCode:
		return instructions(base) || markdown && ruleFolder.MatchString(name)
	case Cursor:
		return base == ".cursorrules" || strings.Contains("/"+name, ".cursor/rules/") && (strings.HasSuffix(name, ".mdc") || markdown)
	case Obsidian:
		return markdown && !hidden.MatchString(name)
	}
	return false
}

var (
	ruleFolder = lazyregexp.New(`(^|/)(\.claude/rules|rules|memory)/`)
	hidden     = lazyregexp.New(`(^|/)\.`)
)

// GuessFolder returns a folder's format, determined from the names in it: slash-separated
// and relative.
func GuessFolder(files []string) (Format, error) {
	var cursor, claude, notes bool
	for _, name := range files {
		cursor = cursor || Wanted(Cursor, name)
		claude = claude || instructions(strings.ToLower(path.Base(name)))
		notes = notes || Wanted(Obsidian, name)
		if strings.HasPrefix(name, ".obsidian/") {
			return Obsidian, nil
		}
	}
	switch {
	case cursor && claude:
		return "", invalid("--from", "the folder has the rules of two agents", "Say --from claude-code or --from cursor.")
	case cursor:
		return Cursor, nil
	case claude:
		return ClaudeCode, nil
	case notes:
		return Obsidian, nil
	}
	return "", invalid("--from", "the folder has nothing that is known", "Name the files.")
}
