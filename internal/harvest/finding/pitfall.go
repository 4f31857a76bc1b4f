package finding

import (
	"path"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// attempt is a run of a command.
type attempt struct {
	call   *Call
	failed bool
}

// runs collects the attempts at each command, and what happened in between.
type runs struct {
	order    []string // commands in order of their first run
	attempts map[string][]attempt
	changed  []uint64 // results of calls that changed files
	others   []attempt
	texts    map[*Call]string
}

func newRuns() *runs { return &runs{attempts: map[string][]attempt{}, texts: map[*Call]string{}} }

// see takes in a call. A command counts only when its exit code is known and is
// its own.
func (r *runs) see(c *Call) {
	switch c.Role {
	case Write, Delete, Move:
		if !c.Failed {
			r.changed = append(r.changed, c.Seq)
		}
		return
	case Run:
	default:
		return
	}
	cmd := c.Shell()
	if cmd.Trivial || cmd.Text == "" {
		return
	}
	r.texts[c] = cmd.Text
	r.others = append(r.others, attempt{call: c})
	if c.Exit == nil || !cmd.Honest {
		return
	}
	if len(r.attempts[cmd.Text]) == 0 {
		r.order = append(r.order, cmd.Text)
	}
	r.attempts[cmd.Text] = append(r.attempts[cmd.Text], attempt{c, *c.Exit != 0})
}

// pitfalls returns the commands that failed for a reason worth knowing. One that
// passed once files had been changed failed because of the work in hand, and that
// is over.
func (r *runs) pitfalls() (out []Finding) {
	for _, text := range r.order {
		tries := r.attempts[text]
		var failed, passed *Call
		times := 0
		for _, a := range tries {
			if a.failed {
				failed, passed = a.call, nil
				times++
			} else if failed != nil && passed == nil {
				passed = a.call
			}
		}
		if failed == nil || failed.Error == "" {
			continue
		}
		why := failed.Error + culprits(failed.Output)
		says := "`" + clip(text, 160) + "` fails with exit code " + strconv.Itoa(*failed.Exit) + ": " + why
		if passed != nil {
			after, ok := r.between(text, failed.Seq, passed.Seq)
			switch {
			case !ok:
				continue
			case after == "":
				says = "`" + clip(text, 160) + "` is unreliable: it failed and then passed with nothing changed; the failure was: " + why
			default:
				says = strings.TrimRight(says, ".") + "; it passed after `" + clip(after, 120) + "`"
			}
		}
		out = append(out, Finding{Entity: text, Kind: Pitfall, Text: clip(says, MaxText), Tool: failed.Name, CallID: failed.ID,
			Seq: failed.Seq, At: failed.At, ExitCode: failed.Exit, External: fetches(failed.Command), weight: 500 + min(times, 9)})
	}
	return out
}

// culprits names the tests that failed, if they are few.
func culprits(output string) string {
	var names []string
	for _, t := range outcome.Tests(output) {
		if !t.Passed && !t.Group && !strings.Contains(t.Name, "/") {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 || len(names) > 3 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// between returns the last command that ran between two attempts, "" when none
// did; ok is false when files were changed.
func (r *runs) between(text string, from, to uint64) (after string, ok bool) {
	for _, seq := range r.changed {
		if from < seq && seq < to {
			return "", false
		}
	}
	for _, a := range r.others {
		if t := r.texts[a.call]; from < a.call.Seq && a.call.Seq < to && t != text && !a.call.Failed {
			after = t
		}
	}
	return after, true
}

// outOfDate is what a tool says when the agent knew an older text of a file than
// the one that is there. That says nothing of the file.
var outOfDate = lazyregexp.New(`(?i)not (?:been )?(?:found|read|unique|match)|no (?:match|such|changes|replacement)|modified since|unexpectedly modified|does not (?:exist|match)|context|multiple|identical|user`)

// failedEdits returns the files that edits kept failing on, for another reason
// than that the agent knew an older text of them.
func failedEdits(calls []Call) (out []Finding) {
	type file struct {
		times int
		last  *Call
	}
	files := map[string]*file{}
	var order []string
	for i := range calls {
		c := &calls[i]
		if c.Role != Write {
			continue
		}
		for _, ch := range c.changes {
			switch f := files[ch.path]; {
			case !c.Failed:
				delete(files, ch.path)
			case f == nil:
				files[ch.path] = &file{1, c}
				order = append(order, ch.path)
			default:
				f.times++
				f.last = c
			}
		}
	}
	for _, name := range order {
		f := files[name]
		if f == nil || f.times < 2 || f.last.Error == "" || outOfDate.MatchString(f.last.Error) || f.last.project.outside(name) {
			continue
		}
		delete(files, name)
		out = append(out, Finding{Entity: name, Kind: Pitfall, Tool: f.last.Name, CallID: f.last.ID, Seq: f.last.Seq, At: f.last.At,
			Text: clip(name+": "+f.last.Name+" failed "+strconv.Itoa(f.times)+" times and was given up: "+f.last.Error, MaxText), weight: 500})
	}
	return out
}

// fetches reports a command that brings in what others wrote.
func fetches(command string) bool {
	for w := range strings.FieldsSeq(command) {
		switch path.Base(w) {
		case "curl", "wget", "gh", "glab", "ssh", "lynx", "http", "httpie":
			return true
		}
	}
	return false
}
