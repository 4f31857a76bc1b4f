package shell

import (
	"path"
	"strings"
)

// maxText is the longest command that is remembered, in bytes: longer ones are
// one-off scripts.
const maxText = 300

// Command is what a line says about itself.
type Command struct {
	// Text is the line as it is remembered: without the way into the project,
	// environment, time limit, redirections and filters of the output, and with
	// what differs from run to run replaced by a name in angle brackets. It is ""
	// for a script, and for a line of nothing but that.
	Text string
	// Honest says that the exit status is that of Text: not of a filter behind a
	// pipe, of "|| true", or of the last of several commands.
	Honest bool
	// Whole says that the output ends with what Text prints last: where its summary
	// would be.
	Whole bool
	// Trivial says that nothing is to be learned from it, success or failure: it
	// looks at something, or is a shell's housekeeping, or code of its own.
	Trivial bool
	// Filter is the part of the line that has a test runner run some of the tests
	// alone, such as "-run TestGood"; "" where it runs all that it is pointed at.
	Filter string
	// Routine says that its success is nothing to remember, such as that of a
	// commit; that it keeps failing is.
	Routine bool
}

// Parse reads a line. root is the project's folder, as the line may spell it,
// and may be empty: paths below it become relative to it.
func Parse(line, root string) Command {
	p := parse(line)
	if inner, ok := wrapped(p); ok {
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
		c.Trivial = c.Trivial || inline(w)
	}
	if p.script || p.hasHeredoc {
		return Command{Trivial: true, Routine: true}
	}
	p.commands, c.Honest, c.Whole = unfiltered(p.commands, pipefail)
	if c.Text = text(p.commands, root); len(c.Text) > maxText {
		c.Text = ""
	}
	if c.Text == "" {
		c.Trivial, c.Honest, c.Whole = true, false, false
	}
	return c
}

// wrapped returns the line that a line hands to another shell.
func wrapped(p parsed) (inner string, ok bool) {
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

// entered drops the commands that prepare the shell: going to the project's
// folder, exports, options, activating an environment. A cd to a folder within
// the project stays, since the command means something else there.
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

// inside reports whether dir is a folder below the project's.
func inside(dir, root string) bool {
	dir = relative(path.Clean(dir), root)
	return dir != "." && !path.IsAbs(dir) && !strings.HasPrefix(dir, "..") && !strings.HasPrefix(dir, "~") && !strings.HasPrefix(dir, "$")
}

// relative cuts root off a path below it.
func relative(p, root string) string {
	if root = strings.TrimSuffix(root, "/"); root == "" {
		return p
	}
	if p == root {
		return "."
	}
	return strings.TrimPrefix(p, root+"/")
}

// prefixes are programs that run what stands behind them.
var prefixes = set("env time nice nohup command exec stdbuf")

// stripped drops what stands before a program's name and where its output goes.
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
			if len(words) > 0 { // how long
				words = words[1:]
			}
		default:
			return unredirected(words)
		}
	}
	return nil
}

// assignment reports whether a word sets a variable for the command behind it.
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

// unredirected drops redirections of the output.
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

// filters show part of what another command prints.
var filters = set("tail head less more cat tee grep egrep rg sed awk cut sort uniq wc jq column tr nl xargs fold")

// unfiltered drops what stands behind a command only to look at its output, and
// says whether the exit status is still that of what is left, and the end of the
// output too.
func unfiltered(cs []simple, pipefail bool) (rest []simple, honest, whole bool) {
	honest, whole = true, true
	for len(cs) > 1 {
		last, before := &cs[len(cs)-1], &cs[len(cs)-2]
		name := last.value(0)
		shown := before.op == "|" && filters[name]
		said := name == "echo" || name == "true" || name == "printf" || name == "exit" || name == ":"
		if !shown && (!said || before.op == "|") {
			break
		}
		if before.op == "|" && !pipefail || before.op == "||" || before.op == ";" {
			honest = false
		}
		whole = whole && (!shown || name == "tail" || name == "cat" || name == "tee")
		cs = cs[:len(cs)-1]
	}
	for i := range cs {
		if op := cs[i].op; op == "&" || i < len(cs)-1 && (op == ";" || op == "|" && !pipefail) {
			honest = false
		}
	}
	return cs, honest, whole
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
		b.WriteString(steady(c.words, root))
		if c.op == ";" && i < len(cs)-1 {
			b.WriteByte(';')
		}
	}
	return b.String()
}
