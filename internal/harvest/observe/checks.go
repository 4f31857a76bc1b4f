package observe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Names of the validators under which results are recorded.
const (
	byCommand = "ken run"
	byTests   = "ken run: tests"
	byFiles   = "ken run: files"
	byEnd     = "ken run: end"
)

// Bounds of what is recorded of one run.
const (
	maxTests  = 60 // test results that are evidence of one claim
	maxGroups = 50 // groups of tests that get a claim of their own
	maxKept   = 50 // files that are evidence of one claim
	maxNamed  = 5  // names in one sentence
)

// Report holds the result of a run and the files that changed.
type Report struct {
	Result
	Changes Changes
	Root    string   // the project's folder, absolute
	Dir     string   // folder in which the command ran, absolute
	About   []string // other things that it is about, the most important first

	ExpiresAt time.Time // for every claim; zero means never
	Actor     ken.Actor // who ran it
}

// Checks returns the verdicts on the run, to be recorded in this order:
//
//   - that the command succeeds or fails, with its exit status and the tests as
//     evidence;
//   - for each package or file of tests, that they pass or fail. With a filter such as
//     -run, only that the selected ones pass;
//   - which files it changed; valid as long as they have the content that it left;
//   - that it was interrupted, which is neither success nor failure.
func (s *Report) Checks() []provenance.Check {
	line := Line(s.Args)
	exit := ken.FromExitCode(line, s.Exit)
	exit.FetchedAt = s.Started.Add(s.Took).Round(0).UTC()
	exit.Detail = s.ending()
	out := []provenance.Check{s.end(line, exit)}
	if s.Interrupted == nil {
		out = append(out, s.command(line, exit))
		out = append(out, s.groups(line, exit)...)
	}
	if c, ok := s.files(line, exit); ok {
		out = append(out, c)
	}
	for i := range out {
		out[i].ExpiresAt, out[i].Actor = s.ExpiresAt, s.Actor
		out[i].About = slices.Concat(s.About, out[i].About)
	}
	return out
}

// Passed reports whether the command ended without interruption and with exit status 0.
func (s *Report) Passed() bool { return s.Interrupted == nil && s.Err == nil && s.Exit == 0 }

// ending describes how the command ended in a few words.
func (s *Report) ending() string {
	took := " after " + s.Took.Round(time.Millisecond).String()
	switch {
	case s.Err != nil:
		return "could not be started"
	case s.Interrupted != nil:
		return "interrupted (" + s.Interrupted.String() + ")" + took
	case s.Signal != nil:
		return "ended by the signal " + s.Signal.String() + took
	}
	return fmt.Sprintf("exit status %d%s", s.Exit, took)
}

func (s *Report) end(line string, exit ken.Evidence) provenance.Check {
	c := provenance.Check{Validator: byEnd, Target: line, Passed: s.Interrupted == nil, Settles: true, Evidence: []ken.Evidence{exit},
		Statement: "The command `" + line + "` ends by itself."}
	if !c.Passed {
		c.Statement = fmt.Sprintf("The command `%s` did not end by itself: it was interrupted (%s) after %s.", line, s.Interrupted, s.Took.Round(time.Second))
	}
	c.About = s.arguments()
	return c
}

func (s *Report) command(line string, exit ken.Evidence) provenance.Check {
	c := provenance.Check{Validator: byCommand, Target: line, Passed: s.Passed(), Evidence: []ken.Evidence{exit}, About: s.arguments()}
	verb := "succeeds"
	var failed []string
	for _, t := range s.Tests {
		if !t.Passed {
			failed = append(failed, clean.Text(t.Name))
		}
		if t.Passed == c.Passed && len(c.Evidence) <= maxTests && !subtest(t) {
			c.Evidence = append(c.Evidence, s.result(&t, exit.FetchedAt, line))
		}
		if t.Group && len(c.About) < maxGroups {
			c.About = append(c.About, s.places(t.Name)...)
		}
	}
	switch {
	case s.Err != nil:
		verb = "can't be started"
	case s.Signal != nil:
		verb = "is ended by the signal " + s.Signal.String()
	case !c.Passed:
		verb = fmt.Sprintf("fails with exit status %d", s.Exit)
	}
	c.Statement = "The command `" + line + "` " + verb
	if !c.Passed && len(failed) > 0 {
		c.Statement += ": failing are " + firstNames(failed)
	}
	c.Statement += "."
	return c
}

// groups returns the verdicts on packages and files of tests.
func (s *Report) groups(line string, exit ken.Evidence) (out []provenance.Check) {
	speaks := s.Err == nil && exitIsReliable(s.Args)
	filter := shell.Parse(line, "").Filter
	for _, t := range s.Tests {
		if !t.Group || len(out) == maxGroups {
			continue
		}
		c := provenance.Check{Validator: byTests, Target: t.Name, Passed: t.Passed, About: s.places(t.Name),
			Evidence: []ken.Evidence{s.result(&t, exit.FetchedAt, line)}, Statement: "The tests of " + t.Name + " pass."}
		if !t.Passed {
			c.Statement = "The tests of " + t.Name + " fail."
		} else if filter != "" {
			c.Target += " " + filter
			c.Statement = "The tests of " + t.Name + " that `" + filter + "` selects pass."
		}
		if speaks && t.Passed == (s.Exit == 0) {
			c.Evidence = append(c.Evidence, exit)
		}
		out = append(out, c)
	}
	return out
}

// result returns the result of a test as evidence.
func (s *Report) result(t *outcome.Test, at time.Time, line string) ken.Evidence {
	said := "passed"
	if !t.Passed {
		said = "failed"
	}
	e := ken.FromTestResult(clean.Text(t.Name), said+" in `"+line+"`")
	e.FetchedAt = at
	return e
}

// files returns the verdict that lists the changed files.
func (s *Report) files(line string, exit ken.Evidence) (provenance.Check, bool) {
	c := provenance.Check{Validator: byFiles, Target: line, Passed: true, Evidence: []ken.Evidence{exit}}
	var names []string
	for _, f := range s.Changes.Files {
		name := f.Path
		if f.Deleted {
			name += " (deleted)"
		}
		names = append(names, name)
		if len(c.About) < maxKept {
			c.About = append(c.About, f.Path)
		}
		if !f.Deleted && len(c.Evidence) <= maxKept {
			e := ken.FromFile(f.Path, "", "")
			e.ContentHash, e.FetchedAt, e.Detail, e.Trust = f.Hash, exit.FetchedAt, "left by `"+line+"`", ken.TrustAgent
			c.Evidence = append(c.Evidence, e)
		}
	}
	n := len(names) + s.Changes.More
	if n == 0 {
		return c, false
	}
	c.Statement = fmt.Sprintf("The command `%s` changed %s: %s.", line, counted(n, "file"), firstNames(names))
	if extra := n - len(names); extra > 0 && len(names) <= maxNamed {
		c.Statement = strings.TrimSuffix(c.Statement, ".") + fmt.Sprintf(" and %d more.", extra)
	}
	return c, true
}

// arguments returns the files and folders of the project that the command line names.
func (s *Report) arguments() (out []string) {
	for _, a := range s.Args[1:] {
		a = strings.TrimSuffix(a, "/...")
		if p, ok := s.inProject(a); ok && p != "." && exists(s.Root, p) && !slices.Contains(out, p) && len(out) < maxGroups {
			out = append(out, p)
		}
	}
	return out
}

// inProject converts a path as the command names it to one relative to the project. ok is
// false for a path outside of it.
func (s *Report) inProject(name string) (string, bool) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\n\x00") {
		return "", false
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir, name)
	}
	rel, err := filepath.Rel(s.Root, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// subtest reports whether a test is part of another one that is listed as well.
func subtest(t outcome.Test) bool {
	return !t.Group && strings.Contains(t.Name, "/") && !strings.Contains(t.Name, "::") && !strings.Contains(t.Name, " ") && t.Passed
}

// firstNames lists the first maxNamed names of a list.
func firstNames(list []string) string {
	if len(list) > maxNamed {
		return strings.Join(list[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(list)-maxNamed)
	}
	return strings.Join(list, ", ")
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
