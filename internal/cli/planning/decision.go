package planning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	adr "github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/repository"
)

// decisionCommand groups the commands for architecture decisions. They read only the files and
// don't open the store.
func (a *commands) decisionCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "decision",
		Short: "Keep architecture decisions as Markdown in the repository",
		Long: "Keep architecture decisions as the Markdown files in which teams keep them: read from docs/adr, docs/decisions and other usual " +
			"folders, or those of decisions.folders, in the forms of MADR and Nygard and what comes near; written in that of MADR. Turns that are " +
			"about what a decision governs are told of it. A change edits the lines that it must and no other byte; a file that is broken is left alone.",
		Example: `  ken decision list --status accepted
  ken decision search retry policy`,
	}, a.decisionListCommand(), a.decisionSearchCommand(), a.decisionShowCommand(), a.decisionHistoryCommand(), a.decisionCreateCommand(),
		a.decisionSupersedeCommand(), a.decisionAcceptCommand(), a.decisionStatusCommand(), a.decisionArchiveCommand(), a.decisionCheckCommand(),
		a.decisionExportCommand(), a.decisionImportCommand())
}

// withDecisions runs fn on the project's decisions, read from their files.
func (a *commands) withDecisions(ctx context.Context, fn func(*adr.Registry) error) error {
	r, err := a.Configuration()
	if err != nil {
		return err
	}
	registry, err := adr.Open(ctx, r.Root, adr.Options{Folders: r.Config.Decisions.Folders})
	if err != nil {
		return cli.AsUsageError(err)
	}
	return errors.Join(cli.AsUsageError(fn(registry)), registry.Close())
}

// completeNames completes arguments from the project's files: an id and, after a tab, a
// description. Each argument has a list of its own. If more is true, the last list also serves all
// further arguments.
func (a *commands) completeNames(more bool, lists ...func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		i := len(args)
		if more {
			i = min(i, len(lists)-1)
		}
		if i >= len(lists) {
			return nil, noFiles
		}
		return slices.DeleteFunc(slices.Clone(lists[i](cmd.Context())), func(c string) bool {
			return !strings.HasPrefix(strings.ToLower(c), strings.ToLower(begun))
		}), noFiles
	}
}

// completeFlagWith completes the values of a flag from the project's files.
func (a *commands) completeFlagWith(cmd *cobra.Command, flag string, list func(context.Context) []string) {
	cli.CompleteFlag(cmd, flag, a.completeNames(true, list))
}

// decisionIDs lists the ids of all decisions that can be read.
func (a *commands) decisionIDs(ctx context.Context) (out []string) {
	_ = a.withDecisions(ctx, func(r *adr.Registry) error {
		for _, d := range r.List() {
			out = append(out, d.Handle+"\t"+cli.Truncate(cli.Cell(d.Title.Text), 60))
		}
		return nil
	})
	return out
}

// decisionStatuses lists the statuses. Without all, it leaves out superseded, because that needs a
// successor.
func decisionStatuses(all bool) []string {
	return cli.Words(slices.DeleteFunc(adr.Statuses(), func(s adr.Status) bool { return !all && s == adr.Superseded }))
}

func fixed(list ...string) func(context.Context) []string {
	return func(context.Context) []string { return list }
}

func (a *commands) decisionAcceptCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "accept ID…",
		Short:             "Accept proposed decisions",
		Long:              "Accept decisions: ken decision status ID accepted, for each.",
		Example:           `  ken decision accept ADR-0042`,
		Args:              cli.AtLeastOne("accept: ID is missing"),
		ValidArgsFunction: a.completeNames(true, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDecisions(cmd.Context(), args, func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.SetStatus(ctx, id, adr.Accepted)
			})
		},
	}
}

func (a *commands) decisionStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID STATUS",
		Short: "Change the status of a decision",
		Long: "Change the status of a decision to proposed, accepted, rejected or deprecated, where its file has it and as it is written there. " +
			"ken decision supersede is for what has a successor.",
		Example:           `  ken decision status 42 deprecated`,
		Args:              cli.ExactArgs("ID", "STATUS"),
		ValidArgsFunction: a.completeNames(false, a.decisionIDs, fixed(decisionStatuses(false)...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := decisionStatus(args[1], false)
			if err != nil {
				return err
			}
			return a.changeDecisions(cmd.Context(), args[:1], func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.SetStatus(ctx, id, to)
			})
		},
	}
}

func (a *commands) decisionArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "archive ID…",
		Short: "Move decisions that are no longer valid into the archive",
		Long: "Move decisions that are superseded, deprecated or rejected into a folder named archive beside them, with the links that lead to " +
			"them. They stay in lists and searches, marked, and reach no turn by themselves.",
		Example:           `  ken decision archive ADR-0007 ADR-0009`,
		Args:              cli.AtLeastOne("archive: ID is missing"),
		ValidArgsFunction: a.completeNames(true, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDecisions(cmd.Context(), args, func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.Archive(ctx, id)
			})
		},
	}
}

// changeDecisions changes decisions one by one, stops at the first error, and prints those that
// were changed.
func (a *commands) changeDecisions(ctx context.Context, ids []string, change func(context.Context, *adr.Registry, string) (adr.Record, error)) error {
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		var done []adr.Record
		for _, id := range ids {
			d, err := change(ctx, r, id)
			if err != nil {
				if len(done) > 0 {
					err = errors.Join(a.printChanged(r, done...), err)
				}
				return err
			}
			done = append(done, d)
		}
		return a.printChanged(r, done...)
	})
}

// fileProblem is a problem at a position in a file.
type fileProblem struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1; 0 for the whole file
	Text string `json:"text"`
	Try  string `json:"try,omitempty"`
}

// String formats the problem as compilers do, so that editors can jump to it.
func (p fileProblem) String() string {
	at := cli.Printable(p.Path)
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	return at + ": " + cli.Cell(p.Text)
}

func (a *commands) printProblems(list []fileProblem, none string) error {
	err := a.Show(map[string]any{"problems": list}, func() {
		for _, p := range list {
			fmt.Fprintln(a.Out, p)
			if p.Try != "" {
				fmt.Fprintln(a.Out, "    Try: "+cli.Cell(p.Try))
			}
		}
		if len(list) > 0 {
			none = cli.Count(len(list), "problem")
		}
		fmt.Fprintln(a.Err, "ken: "+none)
	})
	if err == nil && len(list) > 0 {
		return cli.ErrReported
	}
	return err
}

// projectFile returns a function that reports whether the project has a file, by its path or the end of it.
func (a *commands) projectFile(ctx context.Context) (func(string) bool, error) {
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	tree, err := repository.Files(ctx, root, repository.Options{})
	if err != nil {
		return nil, err
	}
	return func(p string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))) // it may be ignored
		return err == nil || slices.ContainsFunc(tree.Files, func(f repository.File) bool { return strings.HasSuffix("/"+f.Path, "/"+p) })
	}, tree.Close()
}

func (a *commands) decisionCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the files of decisions",
		Long: "Check the files of decisions, and print each problem with its line and a hint: unreadable files, missing or unknown statuses, two " +
			"decisions with one number, missing links, successors and governed files, cycles of supersession. The exit status is 1 if there are problems.",
		Example: `  ken decision check
  ken decision check --json`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				found, err := a.projectFile(cmd.Context())
				if err != nil {
					return err
				}
				list := cli.Map(append(r.Problems(), r.MissingFiles(found)...), func(p *adr.Problem) fileProblem { return fileProblem(*p) })
				return a.printProblems(list, "nothing is wrong in "+cli.Count(len(r.List()), "decision"))
			})
		},
	}
}

type decisionFilter struct {
	statuses     []string
	tag, governs string
	since, until string
	noArchive    bool
	limit        int // 0 lists all
}

func (a *commands) decisionFilterFlags(cmd *cobra.Command, o *decisionFilter) {
	f := cmd.Flags()
	f.StringArrayVar(&o.statuses, "status", nil, "only those of this `STATUS`: "+strings.Join(decisionStatuses(true), ", ")+" (repeatable)")
	f.StringVar(&o.tag, "tag", "", "only those with this `TAG`")
	f.StringVar(&o.governs, "governs", "", "only those that govern this `PATH` or symbol, as they list it or their text names it")
	f.StringVar(&o.since, "since", "", "only those of this `DATE`, as YYYY-MM-DD, or later")
	f.StringVar(&o.until, "until", "", "only those of this `DATE` or earlier")
	f.BoolVar(&o.noArchive, "no-archive", false, "leave out what is in the archive")
	a.completeFlagWith(cmd, "status", fixed(decisionStatuses(true)...))
}

func (a *commands) decisionListCommand() *cobra.Command {
	var o decisionFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the decisions by number",
		Long:  "List the decisions by their numbers: id, status, date, file and title. What could not be read is counted; ken decision check says why.",
		Example: `  ken decision list --status accepted --status proposed
  ken decision list --governs internal/store/file.go`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listDecisions(cmd.Context(), "", &o) },
	}
	a.decisionFilterFlags(cmd, &o)
	return cmd
}

func (a *commands) decisionSearchCommand() *cobra.Command {
	var o decisionFilter
	cmd := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Search the decisions",
		Long: "Search title, tags and text of all decisions, those in the archive as well, and list what fits best first. Any of the words may " +
			"be there; the more, the better.",
		Example: `  ken decision search how do we retry
  ken decision search --governs store.Shelf --status accepted cache`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := cli.Between("--limit", o.limit, 1, 200); err != nil {
				return err
			}
			return a.listDecisions(cmd.Context(), text, &o)
		},
	}
	a.decisionFilterFlags(cmd, &o)
	cmd.Flags().IntVar(&o.limit, "limit", 20, "list at most `N`")
	return cmd
}

func (a *commands) listDecisions(ctx context.Context, text string, o *decisionFilter) error {
	q := adr.Query{Words: text, Tag: o.tag, Governs: o.governs, NoArchive: o.noArchive, Limit: o.limit}
	for _, s := range o.statuses {
		st, err := decisionStatus(s, true)
		if err != nil {
			return err
		}
		q.Statuses = append(q.Statuses, st)
	}
	var err error
	if q.Since, err = dayFlag("--since", o.since); err != nil {
		return err
	}
	if q.Until, err = dayFlag("--until", o.until); err != nil {
		return err
	}
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		var found []adr.Hit
		total := 0
		for more := true; more; {
			page := r.Search(q)
			found, total = append(found, page.Hits...), page.Total
			q.Offset += len(page.Hits)
			more = o.limit == 0 && len(page.Hits) > 0
		}
		if n := len(r.Problems()); n > 0 {
			a.Note(cli.Count(n, "problem") + " in the files of decisions; see ken decision check")
		}
		views := cli.Map(found, func(h *adr.Hit) decisionRow {
			row := rowOf(&h.Record)
			row.Score = h.Score
			return row
		})
		if len(views) == 0 && !a.JSON {
			fmt.Fprintln(a.Err, "ken: there are no such decisions")
			return nil
		}
		return a.Show(map[string]any{"decisions": views, "total": total}, func() { a.printDecisions(views) })
	})
}

type decisionRow struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Date     string   `json:"date,omitempty"`
	Path     string   `json:"path"`
	Tags     []string `json:"tags,omitempty"`
	Archived bool     `json:"archived,omitempty"`
	Score    float64  `json:"score,omitempty"` // of a search; comparable only within it
}

func rowOf(r *adr.Record) decisionRow {
	return decisionRow{ID: r.Handle, Title: r.Title.Text, Status: string(r.Status), Date: day(r.Date), Path: r.Path, Tags: textsOf(r.Tags), Archived: r.Archived}
}

func (a *commands) printDecisions(list []decisionRow) {
	a.PrintTable([]string{"ID", "STATUS", "DATE", "FILE", "TITLE"}, cli.Map(list, func(d *decisionRow) []string {
		status := d.Status
		if d.Archived {
			status += ", archived"
		}
		return []string{d.ID, status, d.Date, d.Path, d.Title}
	}))
}

func textsOf(values []adr.Value) []string {
	return cli.Map(values, func(v *adr.Value) string { return v.Text })
}

// decisionStatus parses a status in any case. It accepts superseded only if superseded is true.
func decisionStatus(s string, superseded bool) (adr.Status, error) {
	st := adr.Status(strings.ToLower(strings.TrimSpace(s)))
	if slices.Contains(decisionStatuses(superseded), string(st)) {
		return st, nil
	}
	if st == adr.Superseded {
		return "", cli.Invalid("status", "a decision is superseded by another one", "Use ken decision supersede OLD --by NEW.")
	}
	return "", cli.Invalid("status", fmt.Sprintf("%q is not a status of a decision", s), "Use one of "+strings.Join(decisionStatuses(superseded), ", ")+".")
}

// dayFlag parses a day; "" gives the zero time.
func dayFlag(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return t, cli.Invalid(flag, fmt.Sprintf("%q is not a date", s), "Write it as 2026-11-22.")
	}
	return t, nil
}

func (a *commands) decisionExportCommand() *cobra.Command {
	var out, folder string
	cmd := &cobra.Command{
		Use:   "export [ID…]",
		Short: "Write decisions as JSON",
		Long: "Write all decisions, or those that are named, as a JSON list: id, title, status, context, decision, alternatives, consequences, " +
			"governs, supersedes, supersededBy. With --folder each becomes a file ADR-0042.json of its own. ken decision import reads both.",
		Example: `  ken decision export --out decisions.json
  ken decision export ADR-0042 | jq '.[0].decision'`,
		ValidArgsFunction: a.completeNames(true, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" && folder != "" {
				return cli.Usagef("--out and --folder: give one of the two")
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error { return a.exportDecisions(r, args, out, folder) })
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write this `FILE`, whole or not at all; default standard output")
	cmd.Flags().StringVar(&folder, "folder", "", "write a file for each decision into this `FOLDER`")
	return cmd
}

func (a *commands) exportDecisions(r *adr.Registry, ids []string, out, folder string) error {
	chosen := r.List()
	if len(ids) > 0 {
		chosen = nil
		for _, id := range ids {
			d, err := r.Find(id)
			if err != nil {
				return err
			}
			chosen = append(chosen, d)
		}
	}
	list := cli.Map(chosen, func(d *adr.Record) adr.Exchange { return adr.Export(*d) })
	switch {
	case folder != "":
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		for i := range list {
			name := strings.NewReplacer("/", "-", "\\", "-").Replace(chosen[i].Handle) + ".json"
			if err := cli.ReplaceFile(filepath.Join(folder, name), func(w io.Writer) error { return cli.WriteJSON(w, list[i]) }); err != nil {
				return err
			}
		}
	case out != "" && out != "-":
		if err := cli.ReplaceFile(out, func(w io.Writer) error { return cli.WriteJSON(w, list) }); err != nil {
			return err
		}
	default:
		return a.PrintJSON(list)
	}
	return a.Show(map[string]any{"decisions": len(list), "written": out + folder}, func() {
		a.Note(cli.Count(len(list), "decision") + " written to " + out + folder)
	})
}

func (a *commands) decisionImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE|FOLDER|- …",
		Short: "Write decisions from JSON",
		Long: "Write a Markdown file for each decision in files of JSON, in folders of such files, or on standard input: single decisions, lists of " +
			"them, or one after the other. An id is kept when it is free, and the next free one given when it is not; a decision with the id and " +
			"the title of one that is there changes nothing. What can't be read is reported and the rest is imported; the exit status is then 1.",
		Example: `  ken decision import decisions.json
  curl https://example.com/adr.json | ken decision import -`,
		Args: cli.AtLeastOne("import: FILE is missing; - is standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []foundDecision
			for _, name := range args {
				list, err := a.readDecisions(cmd.Context(), name)
				if err != nil {
					return err
				}
				found = append(found, list...)
			}
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error { return a.importDecisions(cmd.Context(), r, found) })
		},
	}
}

// foundDecision is a decision read from JSON, and its position.
type foundDecision struct {
	at  string
	src json.RawMessage
	err error // it could not be read
}

// readDecisions reads decisions from a file, a folder, or standard input.
func (a *commands) readDecisions(ctx context.Context, name string) (out []foundDecision, err error) {
	if fi, err := os.Stat(name); name != "-" && err == nil && fi.IsDir() {
		files, err := filepath.Glob(filepath.Join(name, "*.json"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			list, err := a.readDecisions(ctx, f)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
		return out, nil
	}
	in, err := a.OpenInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	dec := json.NewDecoder(in)
	for {
		var src json.RawMessage
		if err := dec.Decode(&src); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return append(out, foundDecision{at: name, err: fmt.Errorf("behind %s: %w", cli.Count(len(out), "decision"), err)}), nil
		}
		if !bytes.HasPrefix(src, []byte("[")) {
			out = append(out, foundDecision{at: name, src: src})
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(src, &list); err != nil {
			return nil, err
		}
		for _, one := range list {
			out = append(out, foundDecision{at: name, src: one})
		}
	}
}

func (a *commands) importDecisions(ctx context.Context, r *adr.Registry, found []foundDecision) error {
	there := map[string]adr.Record{} // existing decisions, by id and title
	same := func(id, title string) string { return strings.ToLower(id) + "\x00" + strings.ToLower(title) }
	for _, d := range r.List() {
		there[same(d.ID.Text, d.Title.Text)] = d
	}
	var made []adr.Record
	failed, known := 0, 0
	for i, f := range found {
		x, err := adr.Exchange{}, f.err
		if err == nil {
			x, err = adr.ParseExchange(f.src)
		}
		if _, ok := there[same(x.ID, x.Title)]; ok && err == nil {
			known++
			continue
		}
		var d adr.Record
		if err == nil {
			d, err = r.Import(ctx, x)
		}
		if ctx.Err() != nil {
			return errors.Join(a.printChanged(r, made...), ctx.Err())
		}
		if err != nil {
			failed++
			fmt.Fprintf(a.Err, "ken: %s, decision %d: %v\n", f.at, i+1, err)
			continue
		}
		if x.ID != "" && !strings.EqualFold(x.ID, d.ID.Text) {
			a.Note(cli.Cell(x.ID) + " is taken; it became " + d.ID.Text)
		}
		there[same(x.ID, x.Title)] = d
		made = append(made, d)
	}
	if known > 0 {
		a.Note(cli.Count(known, "decision") + " there already")
	}
	if err := a.printChanged(r, made...); err != nil {
		return err
	}
	if failed > 0 {
		fmt.Fprintf(a.Err, "ken: %s could not be imported\nTry: Correct what is wrong, and import the file again: what is there already stays as it is.\n", cli.Count(failed, "decision"))
		return cli.ErrReported
	}
	return nil
}
