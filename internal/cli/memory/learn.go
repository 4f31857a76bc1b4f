// Package memory provides the commands that add, find, judge and remove claims.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{
		c.learnCommand(), c.recallCommand(), c.verifyCommand(), c.disputeCommand(), c.supersedeCommand(), c.historyCommand(),
		c.forgetCommand(), c.memoryCommand(), c.skillCommand(), c.attentionCommand(), c.knowledgeCommand(), c.importCommand(),
		c.exportCommand(),
	}
}

type learnOptions struct {
	kind, heading, status  string
	confidence, importance float64
	tags, entities         []string
	domain, scope, key     string
	aspect                 string
	expires, source        string
	rule                   bool
	ruleGiven              bool // whether the flag was set
	evidence               evidenceFlags
}

func (a *commands) learnCommand() *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:        "learn [TEXT|-]",
		SuggestFor: []string{"add", "remember"},
		Short:      "Store a claim",
		Long: "Store a claim and print its id. Without any evidence, the current user's statement is its evidence. " +
			"A claim with a known --key is a new version of that claim; if nothing differs, nothing changes.\n\n" +
			"What it is about, its aspect, and whether it is a rule is read from the text, and printed with the id. --about, --aspect and " +
			"--rule set these instead, and no model changes them. A possible rule, and a rule about no entity, waits in " +
			"ken memory review and is a fact meanwhile; with --rule it is a rule at once, and with --rule=false never.",
		Example: `  ken learn "The mailer uses SES."
  ken learn "Payments are idempotent by request id" --file payments/handler.go
  ken learn "The flaky test is fixed" --command "go test ./..." --exit 0
  ken learn "never deploy payments on Fridays; it depends on the ledger"
  ken learn "the ledger stays on PostgreSQL 15" --about ledger --rule
  ken learn - --key runbook/restart --kind playbook < restart.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			o.ruleGiven = cmd.Flags().Changed("rule") || cmd.Flags().Changed("constraint")
			return a.learn(cmd.Context(), text, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kind, "kind", string(ken.KindFact), "what `KIND` of claim: fact, hot, playbook, decision, … or a kind of your own")
	f.StringVar(&o.heading, "heading", "", "a `TEXT` above the statement, one line")
	f.StringVar(&o.status, "status", string(ken.StatusObserved), "its `STATUS`: observed, inferred, hypothesis or verified")
	f.Float64Var(&o.confidence, "confidence", 1, "`N` from 0 to 1: how sure it is")
	f.Float64Var(&o.importance, "importance", 0.5, "`N` from 0 to 1: how important it is")
	f.StringArrayVar(&o.tags, "tag", nil, "a `TAG` (repeatable)")
	f.StringArrayVar(&o.entities, "about", nil, "a named `THING` that it is about, the most important first (repeatable)")
	f.StringArrayVar(&o.entities, "entity", nil, "a `THING`: another name of --about")
	f.StringVar(&o.aspect, "aspect", "", "which `ASPECT` of that it is about, such as deployment or security")
	f.StringVar(&o.domain, "domain", "", "a `FIELD` of knowledge, such as api or policy")
	f.StringVar(&o.scope, "scope", "", "where it applies, as `TYPE:ID`; default everywhere")
	f.StringVar(&o.key, "key", "", "a `NAME` of your own, which makes the command safe to repeat")
	f.StringVar(&o.expires, "expires", "", "the `TIME` when it ends: a length such as 12h or 30d, or a date")
	f.StringVar(&o.source, "source", "", "a `TEXT`: where it came from, for people")
	f.BoolVar(&o.rule, "rule", false, "a rule that is in every turn about its thing; --rule=false: no rule, whatever its words are")
	f.BoolVar(&o.rule, "constraint", false, "another name of --rule")
	o.evidence.add(f)
	a.CompleteFlag(cmd, "about", cli.EntityNames)
	a.CompleteFlag(cmd, "entity", cli.EntityNames)
	cli.CompleteWords(cmd, "kind", claimKinds...)
	cli.CompleteWords(cmd, "status", "observed", "inferred", "hypothesis", "verified")
	cli.CompleteWords(cmd, "aspect", cli.SuggestedAspects()...)
	return cmd
}

// learnedView is the stored claim, with the dependencies that it states.
type learnedView struct {
	inspect.Claim
	Understood   structure.Understanding `json:"understood"`
	Dependencies []inspect.Claim         `json:"dependencies,omitempty"`
	Known        bool                    `json:"known,omitempty"` // it was there already, and got the evidence that it lacked
}

func (a *commands) learn(ctx context.Context, text string, o *learnOptions) error {
	root, err := a.Project()
	if err != nil {
		return err
	}
	c, err := o.claim(text, root, time.Now().UTC())
	if err != nil {
		return err
	}
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c.Owner = s.Owner()
		o.file(&c, s)
		id, err := operator.Repeat(ctx, s, c, time.Now().UTC())
		known := id != ""
		var replaced []string
		if err == nil && !known {
			id, replaced, err = cli.DeskOf(l, s, c.Actor.ID).Learn(ctx, c)
		}
		if err != nil {
			return err
		}
		if err := l.Operator().Derive(ctx, a.Owner, id); err != nil {
			fmt.Fprintln(a.Err, "ken: the claim is stored; its dependencies are determined later:", err)
		}
		if c, err = s.Get(ctx, id); err != nil {
			return err
		}
		deps, err := storedDependencies(ctx, s, &c)
		if err != nil {
			return err
		}
		a.NoteCleaned(text, &c)
		if a.JSON {
			return a.PrintJSON(learnedView{Claim: l.Operator().View(c), Understood: structure.Understand(&c), Dependencies: views(l, deps), Known: known})
		}
		fmt.Fprintln(a.Out, id)
		if known {
			a.Note("That is known already; what is new of the evidence was added.")
		}
		a.Note(cli.DescribeFiled(&c, deps))
		for _, old := range replaced {
			was, err := s.Get(ctx, old)
			if err == nil && was.SupersededBy != "" { // one value of its list may have changed
				if is, err := s.Get(ctx, was.SupersededBy); err == nil && analysis.WithoutPastNotes(is.Text) == analysis.WithoutPastNotes(was.Text) {
					a.Note("It changes " + is.ID + ": " + is.Text)
					continue
				}
			}
			if err == nil {
				a.Note("It replaces " + old + ": " + was.Text)
			}
		}
		return nil
	})
}

func views(l *middleware.Layer, claims []ken.Claim) []inspect.Claim {
	return cli.Map(claims, func(c *ken.Claim) inspect.Claim { return l.Operator().View(*c) })
}

func (o *learnOptions) claim(text, root string, now time.Time) (ken.Claim, error) {
	ev, err := o.evidence.mechanicalEvidence(root, now)
	if err != nil {
		return ken.Claim{}, err
	}
	if o.evidence.by != "" || o.evidence.note != "" || len(ev) == 0 {
		ev = append(ev, ken.FromHumanAssertion(o.evidence.person(), now, o.evidence.note))
	}
	c := ken.Claim{Text: text, Evidence: ev, Kind: ken.Kind(o.kind), Heading: o.heading, Status: ken.Status(o.status),
		Confidence: o.confidence, Importance: o.importance, Tags: o.tags, Entities: o.entities, Aspect: o.aspect, Domain: o.domain, Key: o.key,
		Source: o.source, Constraint: o.rule, Actor: ken.Actor{Type: "user", ID: o.evidence.person()}}
	if c.Scope, c.ExpiresAt, err = cli.ScopeAndExpiry(o.scope, o.expires, now); err != nil {
		return c, err
	}
	if c.Status != "" && !slices.Contains(ken.Statuses(), c.Status) {
		return c, cli.UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("unknown status %q", o.status),
			Try: "Use one of observed, inferred, hypothesis, verified."})
	}
	if err := c.Validate(); err != nil {
		return c, cli.UsageError(err)
	}
	if c.Status == ken.StatusDisputed || c.Status == ken.StatusSuperseded {
		return c, cli.UsageError(&ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "nothing is learned as " + string(c.Status),
			Try: "Learn it as observed, inferred, hypothesis or verified; then use ken dispute or ken supersede."})
	}
	return c, nil
}

// file files a claim by the flags. What they leave open is taken from the text, so
// that a rule on a person's word gets an aspect like any other.
func (o *learnOptions) file(c *ken.Claim, names reading.Names) {
	if len(o.entities) == 0 && o.aspect == "" && !o.ruleGiven {
		return // the store files it
	}
	reading.Assign(c, names)
	if o.ruleGiven {
		c.Constraint, c.RuleCandidate = o.rule, false
	}
	if given := normalNames(o.entities); len(given) > 0 {
		c.Entities = given // instead of the entities that the text names
	}
	if !c.Kind.Structural() {
		c.AssignedBy = ken.AssignedByOperator
	}
}

// normalNames returns names in the normal form by which entities are compared, without
// duplicates.
func normalNames(names []string) (out []string) {
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// storedDependencies returns the stored dependencies that were read from a claim.
func storedDependencies(ctx context.Context, s store.Engine, c *ken.Claim) ([]ken.Claim, error) {
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

type evidenceFlags struct {
	files, urls, tests []string
	command            string
	exit               int
	by, note           string

	flags *pflag.FlagSet
}

func (e *evidenceFlags) add(f *pflag.FlagSet) {
	e.flags = f
	f.StringArrayVar(&e.files, "file", nil, "evidence: a `FILE` of the project, as it is now (repeatable)")
	f.StringArrayVar(&e.urls, "url", nil, "evidence: the `ADDRESS` of a web page (repeatable)")
	f.StringArrayVar(&e.tests, "test", nil, "evidence: the `NAME` of a test that was run (repeatable)")
	f.StringVar(&e.command, "command", "", "evidence: a `COMMAND` that was run")
	f.IntVar(&e.exit, "exit", 0, "`N`, the exit status of --command")
	f.StringVar(&e.by, "by", "", "evidence: the `NAME` of the person who vouches for it")
	f.StringVar(&e.note, "note", "", "a `TEXT`: what that person checked")
}

// mechanicalEvidence returns the evidence of files, URLs and tests.
func (e *evidenceFlags) mechanicalEvidence(root string, now time.Time) ([]ken.Evidence, error) {
	if e.flags.Changed("exit") && e.command == "" {
		return nil, cli.Usagef("--exit is the status of a --command, and there is none")
	}
	var out []ken.Evidence
	for _, path := range e.files {
		ev, err := fileEvidence(root, path)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	for _, address := range e.urls {
		ev, err := provenance.Page("--url", address, now)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		out = append(out, ev)
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

// person returns the name given with --by, else the current user.
func (e *evidenceFlags) person() string { return cmp.Or(e.by, cli.CurrentUser()) }

// fileEvidence returns a project's file as evidence. path is relative to the working
// directory.
func fileEvidence(root, path string) (ken.Evidence, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ken.Evidence{}, fmt.Errorf("find %s: %w", path, err)
	}
	e, err := provenance.Evidence(root, abs)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		why.Field = "--file"
		if why.Code == ken.CodeInvalid {
			return e, cli.UsageError(why)
		}
	}
	return e, err
}
