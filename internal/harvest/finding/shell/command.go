package shell

import (
	"path"
	"strings"
)

// maxText is the maximum length of a command that is remembered, in bytes. Longer
// commands are one-off scripts.
const maxText = 300

// Command is the result of parsing a command line.
type Command struct {
	// Text is the line in the form that is remembered. Changes to the project's
	// folder, environment variables, time limits, redirections and output filters
	// are removed. Parts that differ from run to run are replaced by a name in
	// angle brackets. It is "" for a script, and if nothing is left.
	Text string
	// OwnExit says that the exit status is that of Text: not of a filter after a
	// pipe, of "|| true", or of the last of several commands.
	OwnExit bool
	// OwnEnd says that the end of the output is the end of Text's output, where
	// its summary is.
	OwnEnd bool
	// Trivial says that nothing is learned from success or failure: the line shows
	// something, is a shell's housekeeping, or contains its own code.
	Trivial bool
	// Filter is the part of the line that limits a test run to some of the tests,
	// such as "-run TestGood"; "" if all are run.
	Filter string
	// Routine says that success is not worth remembering, such as that of a commit.
	// Repeated failure is.
	Routine bool
}

// Parse parses a command line. root is the project's folder as the line may name
// it, or empty. Paths below root become relative to it.
func Parse(line, root string) Command {
	p := parse(line)
	if inner, ok := innerCommand(p); ok {
		p = parse(inner)
	}
	pipefail := strings.Contains(line, "pipefail")
	p.commands = entered(p.commands, root)
	c := Command{Trivial: true, Routine: true}
	for i := range p.commands {
		w := stripped(p.commands[i].words)
		p.commands[i].words = w
		if c.Filter == "" {
			c.Filter = testFilter(w)
		}
		t, r := class(w)
		c.Trivial, c.Routine = c.Trivial && t, c.Routine && (t || r)
		c.Trivial = c.Trivial || hasOwnCode(w)
	}
	if p.script || p.hasHeredoc {
		return Command{Trivial: true, Routine: true}
	}
	p.commands, c.OwnExit, c.OwnEnd = unfiltered(p.commands, pipefail)
	if c.Text = text(p.commands, root); len(c.Text) > maxText {
		c.Text = ""
	}
	if c.Text == "" {
		c.Trivial, c.OwnExit, c.OwnEnd = true, false, false
	}
	return c
}

// innerCommand returns the command line that a line passes to another shell.
func innerCommand(p parsed) (inner string, ok bool) {
	if len(p.commands) != 1 || p.hasHeredoc {
		return "", false
	}
	c := &p.commands[0]
	switch path.Base(c.value(0)) {
	case "bash", "sh", "zsh", "dash":
	default:
		return "", false
	}
	flag := c.value(1)
	if len(c.words) != 3 || !strings.HasPrefix(flag, "-") || !strings.HasSuffix(flag, "c") {
		return "", false
	}
	return c.value(2), true
}

// entered removes the commands that prepare the shell: changing to the project's
// folder, exports, options, activating an environment. A cd to a folder within the
// project is kept, since it changes the meaning of the command.
func entered(cs []simple, root string) []simple {
	for len(cs) > 1 && (cs[0].op == "&&" || cs[0].op == ";") {
		switch cs[0].value(0) {
		case "cd", "pushd":
			if inside(cs[0].value(1), root) {
				return cs
			}
		case "export", "set", "unset", "source", ".", "ulimit", "umask":
		default:
			return cs
		}
		cs = cs[1:]
	}
	return cs
}

// inside reports whether dir is a folder below the project's folder.
func inside(dir, root string) bool {
	dir = relative(path.Clean(dir), root)
	return dir != "." && !path.IsAbs(dir) && !strings.HasPrefix(dir, "..") && !strings.HasPrefix(dir, "~") && !strings.HasPrefix(dir, "$")
}

// relative returns p relative to root if p is below it, and p otherwise.
func relative(p, root string) string {
	if root = strings.TrimSuffix(root, "/"); root == "" {
		return p
	}
	if p == root {
		return "."
	}
	return strings.TrimPrefix(p, root+"/")
}

// prefixes holds programs that run the command in their arguments.
var prefixes = set("env time nice nohup command exec stdbuf")

// stripped removes what precedes a program's name, and redirections.
func stripped(words []word) []word {
	for len(words) > 0 {
		switch v := words[0].value; {
		case assignment(v), prefixes[v]:
			words = words[1:]
			for len(words) > 0 && prefixes[v] && strings.HasPrefix(words[0].value, "-") {
				words = words[1:]
			}
		case v == "timeout" || v == "gtimeout":
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0].value, "-") {
				if takesValue := words[0].value == "-k" || words[0].value == "-s"; takesValue && len(words) > 1 {
					words = words[1:]
				}
				words = words[1:]
			}
			if len(words) > 0 { // the duration
				words = words[1:]
			}
		default:
			return unredirected(words)
		}
	}
	return nil
}

// assignment reports whether a word sets an environment variable for a command.
func assignment(v string) bool {
	name, _, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// unredirected removes redirections of the output.
func unredirected(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		v := strings.TrimLeft(words[i].raw, "0123456789&")
		if !strings.HasPrefix(v, ">") {
			out = append(out, words[i])
			continue
		}
		if v = strings.TrimLeft(v, ">&|"); v == "" { // the target is the next word
			i++
		}
	}
	return out
}

// filters holds programs that show a part of another command's output.
var filters = set("tail head less more cat tee grep egrep rg sed awk cut sort uniq wc jq column tr nl xargs fold")

// unfiltered removes commands that only show output of the one before. ownExit
// reports whether the exit status is still that of the rest, and ownEnd whether the
// end of its output is shown.
func unfiltered(cs []simple, pipefail bool) (rest []simple, ownExit, ownEnd bool) {
	ownExit, ownEnd = true, true
	for len(cs) > 1 {
		last, before := &cs[len(cs)-1], &cs[len(cs)-2]
		name := last.value(0)
		shown := before.op == "|" && filters[name]
		said := name == "echo" || name == "true" || name == "printf" || name == "exit" || name == ":"
		if !shown && (!said || before.op == "|") {
			break
		}
		if before.op == "|" && !pipefail || before.op == "||" || before.op == ";" {
			ownExit = false
		}
		ownEnd = ownEnd && (!shown || name == "tail" || name == "cat" || name == "tee")
		cs = cs[:len(cs)-1]
	}
	for i := range cs {
		if op := cs[i].op; op == "&" || i < len(cs)-1 && (op == ";" || op == "|" && !pipefail) {
			ownExit = false
		}
	}
	return cs, ownExit, ownEnd
}

func text(cs []simple, root string) string {
	var b strings.Builder
	for i, c := range cs {
		if len(c.words) == 0 {
			continue
		}
		if b.Len() > 0 {
			if b.WriteByte(' '); cs[i-1].op != ";" {
				b.WriteString(cs[i-1].op + " ")
			}
		}
		b.WriteString(stableForm(c.words, root))
		if c.op == ";" && i < len(cs)-1 {
			b.WriteByte(';')
		}
	}
	return b.String()
}
