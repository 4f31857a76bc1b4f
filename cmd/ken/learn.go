package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// learnOptions are the fields of a claim, as flags.
type learnOptions struct {
	kind, heading, status  string
	confidence, importance float64
	tags, entities         []string
	domain, scope, key     string
	aspect                 string
	expires, source        string
	constraint             bool
	evidence               evidenceFlags
}

func (a *app) learnCommand() *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:   "learn [TEXT|-]",
		Short: "Keep a claim",
		Long: "Keep a claim and print its id. Without any evidence, the claim is the word of whoever runs the command. " +
			"A claim with a known --key is a new version of that claim, and no change when nothing differs.\n\n" +
			"What it is about, under which aspect, and whether it is a rule is read from the text, and told beside the id. --entity, --aspect and " +
			"--constraint say so instead, on an operator's word: no model changes that.",
		Example: `  ken learn "Payments are idempotent by request id" --file payments/handler.go --tag payments
  ken learn "The flaky test is fixed" --test TestRetry --command "go test ./..." --exit 0
  ken learn "never deploy the payments service on Fridays; it depends on the ledger"
  ken learn - --key runbook/restart --kind playbook < restart.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.text(args)
			if err != nil {
				return err
			}
			return a.learn(cmd.Context(), text, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kind, "kind", string(ken.KindFact), "what `kind` of claim: fact, hot, playbook, decision, … or a kind of your own")
	f.StringVar(&o.heading, "heading", "", "a `line` above the text")
	f.StringVar(&o.status, "status", string(ken.StatusObserved), "its `status`: observed, inferred, hypothesis or verified")
	f.Float64Var(&o.confidence, "confidence", 1, "a `number` from 0 to 1: that it is true")
	f.Float64Var(&o.importance, "importance", 0.5, "a `number` from 0 to 1: of knowing it")
	f.StringArrayVar(&o.tags, "tag", nil, "a `tag` (repeatable)")
	f.StringArrayVar(&o.entities, "entity", nil, "a named `thing` that it is about, the most important first (repeatable)")
	f.StringVar(&o.aspect, "aspect", "", "which `side` of that it is about, such as deployment or security")
	f.StringVar(&o.domain, "domain", "", "a `field` of knowledge, such as api or policy")
	f.StringVar(&o.scope, "scope", "", "where it applies, as `type:id`; default everywhere")
	f.StringVar(&o.key, "key", "", "a `name` of your own, which makes the command safe to repeat")
	f.StringVar(&o.expires, "expires", "", "when it ends: a length of `time` such as 12h or 30d, or a date")
	f.StringVar(&o.source, "source", "", "`where` it came from, for people")
	f.BoolVar(&o.constraint, "constraint", false, "a rule that always surfaces where its entity is in scope")
	o.evidence.add(f)
	a.completeFlag(cmd, "entity", entityNames)
	a.completeFlag(cmd, "aspect", words(suggestedAspects()...))
	return cmd
}

// learnedView is a claim as it was kept, and the dependencies that it states.
type learnedView struct {
	claimView
	Dependencies []claimView `json:"dependencies,omitempty"`
}

func (a *app) learn(ctx context.Context, text string, o *learnOptions) error {
	root, err := a.project()
	if err != nil {
		return err
	}
	c, err := o.claim(text, root, time.Now().UTC())
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c.Owner = s.Owner()
		o.file(&c, s)
		id, err := s.WriteClaim(ctx, c)
		if err != nil {
			return err
		}
		if err := l.Derive(ctx, a.owner, id); err != nil {
			fmt.Fprintln(a.err, "ken: the claim is kept; what it depends on is found out later:", err)
		}
		if c, err = s.Get(ctx, id); err != nil {
			return err
		}
		deps, err := stated(ctx, s, &c)
		if err != nil {
			return err
		}
		a.tellCleaned(text, &c)
		if a.json {
			v := learnedView{claimView: l.View(c)}
			for _, d := range deps {
				v.Dependencies = append(v.Dependencies, l.View(d))
			}
			return a.printJSON(v)
		}
		fmt.Fprintln(a.out, id)
		a.tell(understood(&c, deps))
		return nil
	})
}

// claim builds the claim that the flags describe.
func (o *learnOptions) claim(text, root string, now time.Time) (ken.Claim, error) {
	ev, err := o.evidence.mechanical(root, now)
	if err != nil {
		return ken.Claim{}, err
	}
	if o.evidence.asserts() || len(ev) == 0 {
		ev = append(ev, o.evidence.assertion(now))
	}
	c := ken.Claim{Text: text, Evidence: ev, Kind: ken.Kind(o.kind), Heading: o.heading, Status: ken.Status(o.status),
		Confidence: o.confidence, Importance: o.importance, Tags: o.tags, Entities: o.entities, Aspect: o.aspect, Domain: o.domain, Key: o.key,
		Source: o.source, Constraint: o.constraint, Actor: ken.Actor{Type: "user", ID: o.evidence.person()}}
	if c.Scope, c.ExpiresAt, err = applies(o.scope, o.expires, now); err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		return c, usage{err}
	}
	return c, nil
}

// applies reads where something applies and when it ends, of flags that are empty where
// nobody says so.
func applies(scope, expires string, now time.Time) (in ken.Scope, until time.Time, err error) {
	if scope != "" {
		if in, err = ken.ParseScope(scope); err != nil {
			return in, until, usage{err}
		}
	}
	if expires != "" {
		until, err = parseExpiry(expires, now)
	}
	return in, until, err
}

// parseExpiry reads a length of time from now on, in Go's units or days or
// weeks, or a moment. A date is its midnight, UTC, as in an import.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	at, ok := time.Time{}, false
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			at, ok = t.UTC(), true
		}
	}
	if !ok {
		if d, err := parseLength(s); err == nil {
			at, ok = now.Add(d), true
		}
	}
	if ok && at.After(now) {
		return at, nil
	}
	e := &ken.Error{Code: ken.CodeInvalid, Field: "--expires", Msg: strconv.Quote(s) + " is not a time",
		Try: "Give a length of time such as 12h, 30d or 2w, or a date such as 2031-05-01."}
	if ok {
		e.Msg = s + " is over already"
	}
	return at, usage{e}
}

// parseLength is time.ParseDuration with days and weeks, alone, not mixed.
func parseLength(s string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			days, err := strconv.ParseUint(n, 10, 12)
			return time.Duration(days) * unit, err
		}
	}
	return time.ParseDuration(s)
}

// file files a claim as its flags say. What they leave open is read from the text, so
// that a rule on an operator's word has an aspect as any other.
func (o *learnOptions) file(c *ken.Claim, names reading.Names) {
	if len(o.entities) == 0 && o.aspect == "" && !o.constraint {
		return // the store does that
	}
	reading.Assign(c, names)
	if given := spelled(o.entities); len(given) > 0 {
		c.Entities = given // whatever else the text names
	}
	if !c.Kind.Structural() {
		c.AssignedBy = ken.AssignedByOperator
	}
}

// spelled are names as entities are compared by, each once.
func spelled(names []string) (out []string) {
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// stated are the dependencies that were read from a claim.
func stated(ctx context.Context, s store.Engine, c *ken.Claim) ([]ken.Claim, error) {
	f := &ken.Filter{Unscoped: true}
	outlines, err := s.Outlines(ctx, c.Entities, f, store.OutlineOptions{Aspects: 1, Top: 1})
	if err != nil {
		return nil, err
	}
	var out []ken.Claim
	seen := map[store.Ref]bool{}
	for i := range outlines {
		for _, l := range outlines[i].Links {
			if l.Kind != ken.KindDependency || seen[l.Ref] {
				continue
			}
			seen[l.Ref] = true
			d, err := s.Claim(ctx, l.Ref)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(d.Evidence, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceRepositoryMemory && e.ID == c.ID }) {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b ken.Claim) int { return strings.Compare(a.Text, b.Text) })
	return out, nil
}

// understood says how a claim was filed: "constraint on payments (also: ledger);
// payments requires ledger".
func understood(c *ken.Claim, dependencies []ken.Claim) string {
	what := string(c.Kind)
	if c.Constraint {
		what = "constraint"
	}
	switch {
	case len(c.Entities) > 0:
		what += " on " + cell(c.Entities[0])
	case c.Constraint:
		what += " on nothing in particular: it is in every turn"
	default:
		what += " on nothing in particular"
	}
	if len(c.Entities) > 0 && c.Aspect != "" {
		what += ", " + cell(c.Aspect)
	}
	if len(c.Entities) > 1 {
		what += " (also: " + cell(strings.Join(c.Entities[1:], ", ")) + ")"
	}
	for i := range dependencies {
		what += "; " + cell(dependencies[i].Text)
	}
	return what
}

// tell says something to a person, beside the output.
func (a *app) tell(text string) {
	if !a.quiet {
		fmt.Fprintln(a.err, "ken:", text)
	}
}

// tellCleaned says that what was kept is not all that was given.
func (a *app) tellCleaned(text string, c *ken.Claim) {
	if c.Text != text {
		fmt.Fprintln(a.err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
}

// evidenceFlags are the flags that say what backs a claim.
type evidenceFlags struct {
	files, urls, tests []string
	command            string
	exit               int
	by, note           string

	flags *pflag.FlagSet
}

func (e *evidenceFlags) add(f *pflag.FlagSet) {
	e.flags = f
	f.StringArrayVar(&e.files, "file", nil, "evidence: a `file` of the project, as it is now (repeatable)")
	f.StringArrayVar(&e.urls, "url", nil, "evidence: the `address` of a web page (repeatable)")
	f.StringArrayVar(&e.tests, "test", nil, "evidence: the `name` of a test that was run (repeatable)")
	f.StringVar(&e.command, "command", "", "evidence: a `command` that was run")
	f.IntVar(&e.exit, "exit", 0, "the exit `status` of --command")
	f.StringVar(&e.by, "by", "", "evidence: the `name` of the person who vouches for it")
	f.StringVar(&e.note, "note", "", "`what` that person checked")
}

// mechanical returns the evidence that is not somebody's word.
func (e *evidenceFlags) mechanical(root string, now time.Time) ([]ken.Evidence, error) {
	if e.flags.Changed("exit") && e.command == "" {
		return nil, usagef("--exit is the status of a --command, and there is none")
	}
	var out []ken.Evidence
	for _, path := range e.files {
		ev, err := fileEvidence(root, path)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	for _, url := range e.urls {
		out = append(out, ken.FromURL(url, now, ""))
	}
	for _, id := range e.tests {
		out = append(out, ken.FromTestResult(id, ""))
	}
	if e.command != "" {
		out = append(out, ken.FromExitCode(e.command, e.exit))
	}
	for i := range out {
		out[i].FetchedAt = now
	}
	return out, nil
}

// asserts reports whether somebody's word was given as evidence.
func (e *evidenceFlags) asserts() bool { return e.by != "" || e.note != "" }

// person is who vouches: the one that was named, else who runs the command.
func (e *evidenceFlags) person() string {
	if e.by != "" {
		return e.by
	}
	return currentUser()
}

// assertion is that person's word.
func (e *evidenceFlags) assertion(now time.Time) ken.Evidence {
	return ken.FromHumanAssertion(e.person(), now, e.note)
}

func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// fileEvidence is a file of the project, named from where the command runs.
func fileEvidence(root, path string) (ken.Evidence, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ken.Evidence{}, fmt.Errorf("find %s: %w", path, err)
	}
	e, err := provenance.Evidence(root, abs)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "--file"
		if why.Code == ken.CodeInvalid {
			return e, usage{why}
		}
	}
	return e, err
}
