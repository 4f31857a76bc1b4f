package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
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
