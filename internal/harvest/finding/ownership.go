package finding

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// owned is a part of the project and who looks after it.
type owned struct {
	entity, owners string
}

// maxOwned bounds what one file says of ownership.
const maxOwned = 12

var (
	handle = lazyregexp.New(`^(?:@[\w./-]+|[\w.+-]+@[\w.-]+\.\w+)$`)
	// ownerLine is a line that names an owner in a descriptor or in a comment. Code
	// has such lines with types and variables behind them.
	ownerLine = lazyregexp.New(`(?i)^\s*(?:(?:#|//|--|\*|<!--|-)\s*)?(?:code\s?owners?|owners?|owned by|maintainers?|team)\s*:\s*["']?([@\w][\w@./:+ -]{1,60}?)["']?\s*(?:-->)?\s*$`)
	ownerItem = lazyregexp.New(`(?m)^\s*-\s*["']?([\w@./-]{2,60})["']?\s*$`)
	typeWord  = lazyregexp.New(`(?i)^(?:string|str|int|bool|true|false|null|none|object|user|todo|tbd|n/a|required|optional|any)$`)
)

// owners returns what a file says of who owns what.
func owners(name, text string) []owned {
	base := path.Base(name)
	switch base {
	case "CODEOWNERS":
		return codeowners(text)
	case "OWNERS":
		if list := captures(ownerItem, text, 6); len(list) > 0 {
			return []owned{{path.Dir(name) + "/", strings.Join(list, ", ")}}
		}
		return nil
	}
	descriptor := false
	switch path.Ext(base) {
	case ".yaml", ".yml", ".toml", ".md", ".rst", ".txt":
		descriptor = true
	}
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > 60 {
			break
		}
		line = strings.TrimRight(line, "\r\n ")
		m := ownerLine.FindStringSubmatch(line)
		commented := strings.IndexAny(strings.TrimSpace(line)+" ", "#/*<") == 0 || strings.HasPrefix(line, "--")
		if m == nil || !descriptor && !commented || typeWord.MatchString(m[1]) {
			continue
		}
		return []owned{{name, oneLine(m[1])}}
	}
	return nil
}

// codeowners reads the format of GitHub and GitLab: a pattern and its owners a
// line.
func codeowners(text string) (out []owned) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "[") || strings.HasPrefix(fields[0], "^[") {
			continue
		}
		var names []string
		for _, f := range fields[1:] {
			if handle.MatchString(f) {
				names = append(names, f)
			}
		}
		if len(names) > 0 && len(out) < maxOwned {
			out = append(out, owned{fields[0], strings.Join(names, ", ")})
		}
	}
	return out
}
