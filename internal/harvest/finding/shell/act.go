package shell

import (
	"path"
	"strings"
)

// Verb is what a command line does to files.
type Verb string

// Verbs of an Act.
const (
	Reads    Verb = "read"
	Searches Verb = "search"
	Lists    Verb = "list"
	Writes   Verb = "write"
	Patches  Verb = "patch"
	Deletes  Verb = "delete"
	Moves    Verb = "move"
)

// Act is a command line that does what a file tool does. Agents without such tools
// read with cat, search with rg and write with here-documents.
type Act struct {
	Verb    Verb
	Paths   []string // as written; for Moves the old and the new path
	Pattern string   // search pattern, for Searches
	Text    string   // the text that is written, or the patch
	Known   bool     // for Writes: Text is the whole content of the file
}

// Acts parses a command line. ok is false if the line does anything else than one
// such action; a second command makes it an ordinary command.
func Acts(line string) (Act, bool) {
	p := parse(line)
	if inner, ok := innerCommand(p); ok {
		p = parse(inner)
	}
	cs := p.commands
	prefix := ""
	for len(cs) > 1 && cs[0].value(0) == "cd" && (cs[0].op == "&&" || cs[0].op == ";") {
		prefix = path.Join(prefix, cs[0].value(1))
		cs = cs[1:]
	}
	if p.script || len(cs) == 0 {
		return Act{}, false
	}
	a, ok := act(&cs[0], p)
	if !ok || !onlyShown(cs, a.Verb) {
		return Act{}, false
	}
	for i := range a.Paths {
		if prefix != "" && !path.IsAbs(a.Paths[i]) {
			a.Paths[i] = path.Join(prefix, a.Paths[i])
		}
	}
	return a, true
}

// onlyShown reports whether the commands after the first only filter its output.
func onlyShown(cs []simple, v Verb) bool {
	for i := 1; i < len(cs); i++ {
		name := cs[i].value(0)
		shows := name == "head" || name == "tail" || name == "nl" || name == "sed" || name == "less" || name == "cat"
		shows = shows || v != Reads && (name == "sort" || name == "uniq" || name == "wc" || name == "cut")
		if cs[i-1].op != "|" || !shows || name == "sed" && cs[i].value(1) != "-n" {
			return false
		}
	}
	return true
}

func act(c *simple, p parsed) (Act, bool) {
	name := path.Base(c.value(0))
	target, appends := redirected(c.words)
	switch name {
	case "cat", "tee":
		if p.hasHeredoc {
			if paths := operands(unredirected(c.words)[1:], nil); name == "tee" && len(paths) == 1 {
				target = paths[0]
			}
			return Act{Verb: Writes, Paths: []string{target}, Text: p.heredoc, Known: !appends}, target != ""
		}
		if name == "tee" {
			return Act{}, false
		}
		return reads(c, target)
	case "nl", "bat", "less":
		return reads(c, target)
	case "head", "tail":
		return reads(&simple{words: without(c.words, "-n", "-c")}, target)
	case "sed":
		return sed(c)
	case "apply_patch", "applypatch":
		patch := p.heredoc
		if !p.hasHeredoc {
			patch = c.value(1)
		}
		return Act{Verb: Patches, Text: patch}, strings.Contains(patch, "*** Begin Patch")
	case "rg", "grep", "egrep", "ag":
		return searches(c.words[1:])
	case "ls", "tree", "find", "fd":
		paths := operands(c.words[1:], set("-L -I -maxdepth -name -type -path -not"))
		return Act{Verb: Lists, Paths: paths[:min(len(paths), 1)]}, len(paths) <= 1
	case "rm":
		paths := operands(c.words[1:], nil)
		return Act{Verb: Deletes, Paths: paths}, len(paths) > 0
	case "mv":
		paths := operands(c.words[1:], nil)
		return Act{Verb: Moves, Paths: paths}, len(paths) == 2
	case "git":
		return git(c)
	}
	return Act{}, false
}

func git(c *simple) (Act, bool) {
	rest := c.words[min(2, len(c.words)):]
	switch paths := operands(rest, nil); c.value(1) {
	case "grep":
		return searches(rest)
	case "mv":
		return Act{Verb: Moves, Paths: paths}, len(paths) == 2
	case "rm":
		return Act{Verb: Deletes, Paths: paths}, len(paths) > 0
	}
	return Act{}, false
}

func reads(c *simple, target string) (Act, bool) {
	paths := operands(c.words[1:], nil)
	return Act{Verb: Reads, Paths: paths}, target == "" && len(paths) == 1 && !strings.ContainsAny(paths[0], "*?$")
}

// sed reads with -n and writes with -i. The text that it writes is unknown.
func sed(c *simple) (Act, bool) {
	paths := operands(c.words[1:], set("-e"))
	verb := Verb("")
	for _, w := range c.words[1:] {
		switch {
		case w.value == "-n" && verb == "":
			verb = Reads
		case strings.HasPrefix(w.value, "-i"):
			verb = Writes
		}
	}
	if len(paths) != 2 {
		return Act{}, false
	}
	return Act{Verb: verb, Paths: paths[1:]}, verb != ""
}

// optionsWithValue holds options of search programs that take the next word as their value.
var optionsWithValue = set("-A -B -C -g --glob -t --type -T -m --max-count --include --exclude --exclude-dir -M --max-columns -d --max-depth -j -e --regexp")

func searches(words []word) (Act, bool) {
	pattern := ""
	for i, w := range words[:max(len(words)-1, 0)] {
		if w.value == "-e" || w.value == "--regexp" {
			pattern = words[i+1].value
		}
	}
	ops := operands(unredirected(words), optionsWithValue)
	if pattern == "" {
		if len(ops) == 0 {
			return Act{}, false
		}
		pattern, ops = ops[0], ops[1:]
	}
	return Act{Verb: Searches, Pattern: pattern, Paths: ops}, pattern != ""
}

// operands returns the words that are no options. takes names options that are
// followed by a value.
func operands(words []word, takes map[string]bool) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		v := words[i].value
		switch {
		case strings.HasPrefix(words[i].raw, "<<"), strings.HasPrefix(strings.TrimLeft(words[i].raw, "0123456789&"), ">"):
			return out
		case strings.HasPrefix(v, "-") && v != "-":
			if takes[v] {
				i++
			}
		case v != "":
			out = append(out, v)
		}
	}
	return out
}

// without removes options that are followed by a value, together with it.
func without(words []word, options ...string) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		drop := false
		for _, o := range options {
			drop = drop || words[i].value == o
		}
		if drop {
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// redirected returns the file to which the output is redirected, "" for none.
func redirected(words []word) (target string, appends bool) {
	for i, w := range words {
		rest, ok := strings.CutPrefix(w.raw, ">")
		if !ok {
			continue
		}
		if r, two := strings.CutPrefix(rest, ">"); two {
			rest, appends = r, true
		}
		if strings.HasPrefix(rest, "&") {
			continue
		}
		if target = strings.Trim(rest, `"'`); target == "" && i+1 < len(words) {
			target = words[i+1].value
		}
		if target == "/dev/null" {
			target = ""
		}
	}
	return target, appends
}

// Join returns the words of a command as one line, quoted where necessary. It is
// for callers that have the command as a list.
func Join(args []string) string {
	if len(args) == 3 && strings.HasSuffix(args[1], "c") && strings.HasPrefix(args[1], "-") {
		return args[2] // a shell and its line
	}
	out := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'$`\\|&;<>()*?#~") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}
