package finding

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// project holds the location of the project on the machine of the session, as far
// as the transcript shows it.
type project struct {
	root string // absolute path, "" if unknown
}

// rootOf determines the project's folder by comparing the paths in calls with those
// recorded for the results. Without such paths, it is the folder in which commands
// ran that contains all others.
func rootOf(tr *session.Transcript, t Tools) string {
	asked := map[string][]string{}
	votes := map[string]int{}
	best, ran := "", ""
	for i := range tr.Entries {
		e := &tr.Entries[i]
		for _, c := range e.Message.ToolCalls {
			tool, ok := t.Lookup(c.Name)
			if !ok {
				continue
			}
			asked[callKey(c.ID, c.Name)] = subjectOf(tool, c.Arguments).paths
			if tool.Role != Run {
				continue
			}
			if dir := path.Clean(readArguments(c.Arguments).folder()); strings.HasPrefix(dir, "/") && strings.Count(dir, "/") > 1 && (ran == "" || len(dir) < len(ran)) {
				ran = dir
			}
		}
		for _, name := range asked[callKey(e.Message.ToolCallID, e.Message.Name)] {
			if name = path.Clean(name); !isAbsolute(name) {
				continue
			}
			for file := range e.Files {
				root, ok := strings.CutSuffix(name, "/"+file)
				if !ok {
					continue
				}
				votes[root]++
				if n := votes[root]; n > votes[best] || n == votes[best] && root < best {
					best = root
				}
			}
		}
	}
	if best == "" {
		return ran
	}
	return best
}

// isAbsolute reports whether a path is absolute, in the syntax of Unix or Windows.
func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$") || len(p) > 2 && p[1] == ':' && (p[2] == '/' || p[2] == '\\')
}

// relative returns a path relative to the project's folder. A path outside of it is
// returned cleaned, but otherwise unchanged.
func (p *project) relative(name string) string {
	if name == "" {
		return ""
	}
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if p.root == "" || name == p.root {
		return name
	}
	return strings.TrimPrefix(name, p.root+"/")
}

// outside reports whether a path, made relative before, is outside the project or
// in a folder for temporary or system files. Without any recorded hash the
// project's location is unknown; then an absolute path may be inside.
func (p *project) outside(name string) bool {
	switch {
	case name == "" || name == "." || strings.HasPrefix(name, ".."):
		return true
	case !isAbsolute(name):
		return strings.HasPrefix(name, ".git/")
	}
	for _, passing := range []string{"/tmp/", "/private/", "/var/", "/proc/", "/dev/", "/sys/", "/etc/", "/usr/", "~", "$"} {
		if strings.HasPrefix(name, passing) {
			return true
		}
	}
	return p.root != ""
}

// isSensitive reports whether a file usually holds secrets. Nothing about it is
// recorded. Even a hash could confirm a guess.
func isSensitive(name string) bool {
	base := strings.ToLower(path.Base(name))
	for _, sample := range []string{".example", ".sample", ".template", ".dist"} {
		if strings.HasSuffix(base, sample) {
			return false
		}
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx", ".tfstate", ".tfvars", ".env":
		return true
	}
	return strings.HasPrefix(base, ".env") || strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_ed25519") ||
		base == "credentials" || strings.HasPrefix(base, "credentials.") || strings.HasPrefix(base, "secrets.") ||
		base == ".netrc" || base == ".npmrc" || base == ".pgpass" || base == ".git-credentials"
}

func (x *extractor) read(c *Call) {
	text := shown(c.Output)
	if len(c.Paths) != 1 || strings.TrimSpace(text) == "" {
		return // the contents of several files can't be separated
	}
	name := c.Paths[0]
	hash, noted := c.Files[name]
	if ignored(c, name) || noted && hash == "" {
		return
	}
	x.says(c, name, text)
	f := x.seen[name]
	if f == nil {
		f = &seenFile{}
		x.seen[name] = f
		x.order = append(x.order, name)
	}
	f.reads++
	if f.outdated || f.hash != hash || f.text == "" || headOf(name, text) && !headOf(name, f.text) {
		f.text, f.names = text, nil
	} else {
		for _, n := range analysis.Definitions(text) {
			if len(f.names) < 2*maxSymbols && !slices.Contains(f.names, n) {
				f.names = append(f.names, n)
			}
		}
	}
	f.call, f.hash, f.outdated = c, hash, false
}

// headOf reports whether a piece of a file seems to be its beginning.
func headOf(name, text string) bool {
	return goPackage.MatchString(text) || proseTitle.MatchString(text) || path.Ext(name) != ".go" && comment(text) != ""
}

// says records the decision and the owners that a file names.
func (x *extractor) says(c *Call, name, text string) (special bool) {
	if isDecision(name) {
		if d := decided(name, text); d != "" {
			x.add(onFile(c, Architecture, name, d+" ("+name+")", name, weightDecision))
			special = true
		}
	}
	for _, o := range owners(name, text) {
		x.add(onFile(c, Ownership, o.entity, o.entity+" is owned by "+o.owners+" ("+name+")", name, weightOwner))
		special = true
	}
	return special
}

// observations turns what was read into findings, one for each file.
func (x *extractor) observations() {
	for _, name := range x.order {
		f := x.seen[name]
		if f.outdated || path.Base(name) == "CODEOWNERS" || isDecision(name) {
			continue
		}
		text := f.text
		for _, n := range f.names { // defined in other pieces of the file
			text += "\nfunc " + n + "()"
		}
		what := describe(name, text)
		if what == "" || !isInformative(what) {
			continue
		}
		weight := weightRead
		if f.reads > 1 || x.edits[name] != nil {
			weight = weightFocus + min(f.reads, heaviestRepeats)
		}
		x.add(onFile(f.call, Observation, name, name+": "+what, name, weight))
	}
}

// isInformative reports whether a description says more than the language.
func isInformative(what string) bool {
	return strings.ContainsAny(what, ",.:\"") || strings.Count(what, " ") >= 3
}

// owned is a part of the project and its owners.
type owned struct {
	entity, owners string
}

// maxOwned bounds the owners that are taken from one file.
const maxOwned = 12

var (
	handle = lazyregexp.New(`^(?:@[\w./-]+|[\w.+-]+@[\w.-]+\.\w+)$`)
	// ownerLine matches a line that names an owner in a descriptor or in a comment.
	// Code has similar lines with types and variables after the colon.
	ownerLine = lazyregexp.New(`(?i)^\s*(?:(?:#|//|--|\*|<!--|-)\s*)?(?:code\s?owners?|owners?|owned by|maintainers?|team)\s*:\s*["']?([@\w][\w@./:+ -]{1,60}?)["']?\s*(?:-->)?\s*$`)
	ownerItem = lazyregexp.New(`(?m)^\s*-\s*["']?([\w@./-]{2,60})["']?\s*$`)
	typeWord  = lazyregexp.New(`(?i)^(?:string|str|int|bool|true|false|null|none|object|user|todo|tbd|n/a|required|optional|any)$`)
)

// owners returns the owners that a file names.
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

// codeowners parses the format of GitHub and GitLab, which has a pattern and its
// owners on each line.
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
