package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/witness"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) provenanceCommand() *cobra.Command {
	var q provenance.Query
	cmd := &cobra.Command{
		Use:   "provenance TARGET",
		Short: "Show what stands behind a file, a symbol, a test or a claim",
		Long: "Show the claims that are about a thing or rest on it: a path, a symbol or another entity, the name of a test, a command, an " +
			"artifact, an address, a commit, or a claim by its id or key. Of each, the tier that it has by now and why, its status, when it " +
			"ends, and every piece of evidence: what it points at, when it was collected, and whether the file is still what it was.\n\n" +
			"Expired and superseded claims are counted, and shown where they are asked for.",
		Example: `  ken provenance pay/retry.go
  ken provenance TestRetry --json
  ken provenance 3f9a2c71 --superseded`,
		Args:              takes("TARGET"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return a.provenance(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Expired, "expired", false, "also claims that have expired")
	f.BoolVar(&q.Superseded, "superseded", false, "also claims that were superseded")
	f.IntVar(&q.Limit, "limit", provenance.DefaultLimit, "at most so `many` claims, up to 1000")
	f.IntVar(&q.Offset, "offset", 0, "pass over so `many` claims")
	return cmd
}

func (a *app) provenance(ctx context.Context, q provenance.Query) error {
	if q.Limit < 1 || q.Limit > provenance.MaxLimit {
		return usagef("--limit: %d is outside 1..%d", q.Limit, provenance.MaxLimit)
	}
	if q.Offset < 0 {
		return usagef("--offset: %d is negative", q.Offset)
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if p, ok := fromRoot(l.Root(), a.dir, q.Target); ok {
			q.Names = append(q.Names, p)
		}
		v, err := provenance.Of(ctx, s, q, provenance.Options{DecayDays: l.Config().Knowledge.DecayDays, Root: l.Root()})
		if err != nil {
			return badUsage(err)
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printProvenance(&v)
		return nil
	})
}

// fromRoot spells the name of a file or folder that is there as claims do: from the
// project's root, with slashes. It is false for any other name.
func fromRoot(root, dir, name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	if _, err := os.Lstat(abs); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, abs)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}

func (a *app) printProvenance(v *provenance.View) {
	for i := range v.Claims {
		c := &v.Claims[i]
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		text := c.Text
		if c.Heading != "" {
			text = c.Heading + ": " + text
		}
		fmt.Fprintf(a.out, "%s  %s, %s  %s\n", a.shortID(c.ID), c.Tier, c.Status, cell(text))
		fmt.Fprintf(a.out, "  why: %s\n", cell(c.Why))
		if !c.ExpiresAt.IsZero() {
			word := "expires"
			if c.Expired {
				word = "expired"
			}
			fmt.Fprintf(a.out, "  %s: %s\n", word, c.ExpiresAt.UTC().Format(minute))
		}
		if c.SupersededBy != "" {
			fmt.Fprintf(a.out, "  superseded by: %s\n", a.shortID(c.SupersededBy))
		}
		for j := range c.Evidence {
			fmt.Fprintf(a.out, "  - %s\n", pieceLine(&c.Evidence[j]))
		}
	}
	a.tellProvenance(v)
}

// pieceLine is a piece of evidence on one line.
func pieceLine(p *provenance.Piece) string {
	line := string(p.Kind) + " " + cell(p.Reference)
	if p.ExitCode != nil {
		line += fmt.Sprintf(" = %d", *p.ExitCode)
	}
	if !p.At.IsZero() {
		line += ", " + p.At.UTC().Format(minute)
	}
	switch p.State {
	case provenance.Changed:
		line += ": the file has changed"
	case provenance.Gone:
		line += ": the file is gone"
	case provenance.Unread:
		line += ": the file can't be compared"
	case provenance.Stands:
		if p.Hash != "" {
			line += ": unchanged"
		}
	}
	if p.Detail != "" {
		line += " (" + cell(p.Detail) + ")"
	}
	return line
}

// tellProvenance says what is not shown.
func (a *app) tellProvenance(v *provenance.View) {
	var rest []string
	if n := v.Total - v.Offset - len(v.Claims); n > 0 {
		rest = append(rest, fmt.Sprintf("%d more (--offset %d)", n, v.Offset+len(v.Claims)))
	}
	if n := v.LeftOut.Expired; n > 0 {
		rest = append(rest, fmt.Sprintf("%d expired (--expired)", n))
	}
	if n := v.LeftOut.Superseded; n > 0 {
		rest = append(rest, fmt.Sprintf("%d superseded (--superseded)", n))
	}
	switch {
	case len(rest) > 0:
		fmt.Fprintf(a.err, "ken: not shown: %s\n", strings.Join(rest, ", "))
	case v.Total == 0:
		fmt.Fprintf(a.err, "ken: nothing is known that stands behind %s\n", cell(v.Target))
	}
}

type witnessOptions struct {
	about    []string
	expires  string
	file     string
	noRecord bool
	direct   bool
}

// exitStatus ends the program with another program's status, which that has told about.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func (a *app) runCommand() *cobra.Command {
	var o witnessOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT …]",
		Short: "Run a command and record what came of it",
		Long: "Run a command and record as evidence how it ended, which tests its output tells of, and which files of the project it changed. " +
			"Its input and output are passed on, signals too, and its exit status is that of ken; 127 when there is no such command. What it " +
			"printed is not kept, but for the names of tests.\n\n" +
			"The claims are about the command, its tests, the files that it names and those that it changed: ken provenance shows what stands " +
			"behind each. The same run again adds its evidence to the claim that is there, and a run that ends otherwise supersedes it. Secrets " +
			"in the command line are left out. Whatever goes wrong with the recording, the command runs.\n\n" +
			"Test results are read from go test, pytest, jest, vitest, cargo test, rspec and TAP. For that, the command writes to a pipe; " +
			"--direct gives it the terminal itself.",
		Example: `  ken run -- go test ./...
  ken run --about payments --expires 30d -- make integration
  ken run --record-file run.json -- pytest -q`,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return fmt.Errorf("run: COMMAND is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runAndRecord(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringArrayVar(&o.about, "about", nil, "a named `thing` that this is about: a path, a symbol, an entity (repeatable)")
	f.StringVar(&o.expires, "expires", "", "when what is recorded ends: a length of `time` such as 12h or 30d, or a date")
	f.StringVar(&o.file, "record-file", "", "write what was recorded to this `file`, as JSON")
	f.BoolVar(&o.noRecord, "no-record", false, "run the command and record nothing")
	f.BoolVar(&o.direct, "direct", false, "give the command the terminal itself; its output is not looked at")
	a.completeFlag(cmd, "about", entityNames)
	return cmd
}

// witnessView is what was recorded. It goes to standard error, since standard output is the
// command's.
type witnessView struct {
	Command     string          `json:"command"`
	ExitCode    int             `json:"exit_code"`
	Interrupted string          `json:"interrupted,omitempty"` // the signal
	DurationMS  int64           `json:"duration_ms"`
	Tests       witnessTests    `json:"tests"`
	Changed     witness.Changes `json:"changed"`
	Claims      []witnessClaim  `json:"claims"`
	Warning     string          `json:"warning,omitempty"` // why less was recorded
}

type witnessTests struct {
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Failing  []string `json:"failing,omitempty"`
	Complete bool     `json:"complete"` // these are all
}

type witnessClaim struct {
	provenance.Recorded
	Text string `json:"text"`
}

func (a *app) runAndRecord(ctx context.Context, args []string, o *witnessOptions) error {
	// A signal is for the command: what comes after it is recorded all the same.
	ctx = context.WithoutCancel(ctx)
	root, err := a.project()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	started := time.Now()
	var until time.Time
	if o.expires != "" {
		if until, err = parseExpiry(o.expires, started.UTC()); err != nil {
			return err
		}
	}
	var before *witness.Before
	if !o.noRecord {
		before = witness.Look(ctx, root)
	}
	signals, stop := witness.Signals()
	defer stop()
	s := witness.Seen{Root: root, Dir: dir, About: o.targets(root, dir), ExpiresAt: until, Actor: ken.Actor{Type: "user", ID: currentUser()},
		Result: witness.Run(witness.Command{Args: args, Dir: dir, Stdin: a.in, Stdout: a.out, Stderr: a.err, Direct: o.direct, Signals: signals})}
	if s.Err != nil {
		fmt.Fprintf(a.err, "ken: %s: %v\n", args[0], whyNot(s.Err))
	}
	if !o.noRecord {
		s.Changes = before.Changed(ctx)
		a.witnessed(ctx, &s, o)
	}
	if s.Exit != 0 {
		return exitStatus(s.Exit)
	}
	return nil
}

// whyNot is why a command could not be started, without what Go says around it.
func whyNot(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return errors.New("command not found")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// targets are the names that the caller gave, paths as they are from the root.
func (o *witnessOptions) targets(root, dir string) (out []string) {
	for _, t := range o.about {
		if p, ok := fromRoot(root, dir, t); ok {
			t = p
		}
		out = append(out, t)
	}
	return out
}

// recordFor is how long a recording may take.
const recordFor = time.Minute

// witnessed records what was seen and tells about it. What fails is told, and no more.
func (a *app) witnessed(ctx context.Context, s *witness.Seen, o *witnessOptions) {
	ctx, cancel := context.WithTimeout(ctx, recordFor)
	defer cancel()
	v := witnessView{Command: witness.Line(s.Args), ExitCode: s.Exit, DurationMS: s.Took.Milliseconds(), Changed: s.Changes, Claims: []witnessClaim{},
		Tests: witnessTests{Complete: s.Complete}}
	if s.Interrupted != nil {
		v.Interrupted = s.Interrupted.String()
	}
	for _, t := range s.Tests {
		if t.Passed {
			v.Tests.Passed++
		} else {
			v.Tests.Failed++
			v.Tests.Failing = append(v.Tests.Failing, store.Clean(t.Name))
		}
	}
	var problems []string
	if s.Changes.Err != nil {
		problems = append(problems, fmt.Sprintf("which files were changed is not known: %v", s.Changes.Err))
	}
	if v.Changed.Files == nil {
		v.Changed.Files = []witness.File{}
	}
	quiet := *a
	quiet.quiet = true // no progress on top of what the command prints
	err := quiet.withStore(ctx, func(_ *middleware.Layer, st store.Engine) error {
		now := time.Now()
		for _, c := range s.Checks() {
			r, err := provenance.Record(ctx, st, c, now)
			if err != nil {
				return err
			}
			if r.Outcome != provenance.Nothing {
				v.Claims = append(v.Claims, witnessClaim{r, store.Clean(c.Statement)})
			}
		}
		return nil
	})
	if err != nil {
		problems = append(problems, fmt.Sprintf("not recorded: %v", err))
	}
	v.Warning = strings.Join(problems, "; ")
	if o.file != "" {
		if err := writeRecord(o.file, &v); err != nil {
			problems = append(problems, fmt.Sprintf("--record-file: %v", err))
		}
	}
	for _, p := range problems {
		fmt.Fprintf(a.err, "ken: %s\n", p)
	}
	a.tellRun(&v)
}

func writeRecord(name string, v *witnessView) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// tellRun says on one line of standard error what was recorded.
func (a *app) tellRun(v *witnessView) {
	if a.json {
		if b, err := json.Marshal(v); err == nil {
			fmt.Fprintf(a.err, "%s\n", b)
		}
		return
	}
	if a.quiet || len(v.Claims) == 0 {
		return
	}
	said := fmt.Sprintf("exit status %d", v.ExitCode)
	if v.Interrupted != "" {
		said = "interrupted (" + v.Interrupted + ")"
	}
	if n := v.Tests.Passed + v.Tests.Failed; n > 0 {
		said += fmt.Sprintf(", %d of %s passed", v.Tests.Passed, count(n, "test"))
	}
	if n := len(v.Changed.Files) + v.Changed.More; n > 0 {
		said += ", " + count(n, "file") + " changed"
	}
	fmt.Fprintf(a.err, "ken: recorded: %s; %s\n", said, count(len(v.Claims), "claim"))
}
