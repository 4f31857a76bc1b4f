package planning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

func (a *commands) planCommand() *cobra.Command {
	var mermaid bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show in which order agents work, and who waits for whom",
		Long: "Show the agents of the configuration in stages: those of a stage need nothing of each other. Each says what it produces and what " +
			"it requires: artifact:NAME, file:PATH or symbol:NAME. A file that exists and a symbol that the code has need no producer. Without an agent that " +
			"declares either there is no plan.\n\n" +
			"Errors are: a cycle, two producers of one thing, and a required thing that does not exist and that no agent produces.",
		Example: `  ken plan
  ken plan --mermaid > plan.mmd
  ken plan run`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showPlan(cmd.Context(), mermaid) },
	}
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a Mermaid flowchart, for Markdown")
	cmd.AddCommand(a.planRunCommand())
	return cmd
}

// stageView and stepView are a plan in JSON.
type stageView struct {
	Stage  int        `json:"stage"`
	Agents []stepView `json:"agents"`
}

type stepView struct {
	Name     string       `json:"name"`
	Requires []needView   `json:"requires"`
	Produces []plan.Token `json:"produces"`
	Command  []string     `json:"command,omitempty"`
	Timeout  string       `json:"timeout,omitempty"`
}

type needView struct {
	Token plan.Token `json:"token"`
	From  string     `json:"from,omitempty"`  // the agent that produces it
	There bool       `json:"there,omitempty"` // it exists already, outside of the plan
}

func (a *commands) showPlan(ctx context.Context, mermaid bool) error {
	if mermaid && a.JSON {
		return cli.Usagef("--mermaid and --json: give one of the two")
	}
	p, r, err := a.configuredPlan(ctx)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]any{"stages": planView(p)})
	case p == nil && agentsWithheld(r):
		a.Note("there is no plan: the project's agents are not trusted")
	case p == nil:
		a.Note(noPlan)
	case mermaid:
		fmt.Fprint(a.Out, p.Mermaid())
	default:
		a.printPlan(p)
	}
	return nil
}

// configuredPlan returns the plan of the configuration, which may be nil, with the configuration.
func (a *commands) configuredPlan(ctx context.Context) (*plan.Plan, *config.Resolved, error) {
	r, err := a.Configuration()
	if err != nil {
		return nil, nil, err
	}
	p, err := a.Plan(ctx, &r.Config)
	return p, r, err
}

// agentsWithheld reports whether the project's agents wait for the user's consent.
func agentsWithheld(r *config.Resolved) bool {
	return slices.ContainsFunc(r.Withheld, func(w config.Withheld) bool { return w.Key == "agents" })
}

const noPlan = "there is no plan: no agent of the configuration declares what it produces or requires"

func planView(p *plan.Plan) []stageView {
	stages := []stageView{}
	for i, steps := range p.Stages() {
		v := stageView{Stage: i + 1}
		for _, s := range steps {
			sv := stepView{Name: s.Agent.Name, Requires: []needView{}, Produces: append([]plan.Token{}, s.Agent.Produces...), Command: s.Agent.Command}
			if s.Agent.Timeout > 0 {
				sv.Timeout = s.Agent.Timeout.String()
			}
			for _, n := range s.Needs {
				sv.Requires = append(sv.Requires, needView{Token: n.Token, From: n.From, There: n.From == ""})
			}
			v.Agents = append(v.Agents, sv)
		}
		stages = append(stages, v)
	}
	return stages
}

func (a *commands) printPlan(p *plan.Plan) {
	var rows [][]string
	for _, s := range p.Steps() {
		var requires, there, produces []string
		for _, n := range s.Needs {
			if n.From == "" {
				there = append(there, n.Token.String())
			} else {
				requires = append(requires, n.Token.String()+" of "+n.From)
			}
		}
		produces = cli.Map(s.Agent.Produces, func(t *plan.Token) string { return t.String() })
		rows = append(rows, []string{strconv.Itoa(s.Stage), s.Agent.Name, strings.Join(requires, ", "), strings.Join(there, ", "), strings.Join(produces, ", ")})
	}
	a.PrintTable([]string{"STAGE", "AGENT", "REQUIRES", "REQUIRES, AND IS THERE", "PRODUCES"}, rows)
}

// planProgress shows the progress of a run: its events, for people or as JSON lines, and
// the output of the commands.
type planProgress struct {
	app   *commands
	root  string
	width int // length of the longest name

	mu sync.Mutex // guards the streams
}

func newPlanProgress(a *commands, root string, p *plan.Plan) *planProgress {
	v := &planProgress{app: a, root: root}
	for _, s := range p.Steps() {
		v.width = max(v.width, len(s.Agent.Name))
	}
	return v
}

type planEventView struct {
	Time    time.Time    `json:"time"`
	Event   runner.State `json:"event"`
	Agent   string       `json:"agent"`
	Stage   int          `json:"stage"`
	Reason  string       `json:"reason,omitempty"`
	Seconds float64      `json:"seconds,omitempty"`
	Log     string       `json:"log,omitempty"`
	Done    int          `json:"done"`
	Total   int          `json:"total"`
}

func (v *planProgress) event(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	log := v.file(e.Log)
	if v.app.JSON {
		enc := json.NewEncoder(v.app.Out)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(planEventView{e.Time.UTC(), e.State, e.Agent, e.Stage, e.Reason, e.Took.Seconds(), log, e.Done, e.Total}) // output errors are ignored
		return
	}
	if v.app.Quiet {
		return
	}
	text := string(e.State)
	switch e.State {
	case runner.Kept:
		text = "was done before"
	case runner.Succeeded, runner.Failed, runner.Stopped:
		if e.Took > 0 {
			text += " after " + formatDuration(e.Took)
		}
	}
	if e.Reason != "" {
		text += ": " + cli.Cell(e.Reason)
	}
	if e.State == runner.Failed && log != "" {
		text += "; see " + log
	}
	if e.State != runner.Running {
		text += fmt.Sprintf(" (%d of %d)", e.Done, e.Total)
	}
	v.print(e.Agent, "*", text)
}

// line prints a line of a command's output, with the agent's name before it.
func (v *planProgress) line(agent, line string) {
	if v.app.Quiet {
		return
	}
	if i := strings.LastIndexByte(line, '\r'); i >= 0 { // a line that overwrote itself: keep its last text
		line = line[i+1:]
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(agent, "|", line)
}

func (v *planProgress) print(agent, mark, text string) {
	_, _ = io.WriteString(v.app.Err, fmt.Sprintf("%-*s %s %s\n", v.width, agent, mark, text)) // output errors are ignored
}

// file returns a project's file relative to the project's root.
func (v *planProgress) file(path string) string {
	if rel, err := filepath.Rel(v.root, path); path != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

type planRunOptions struct {
	workers          int
	resume, failFast bool
}

func (a *commands) planRunCommand() *cobra.Command {
	var o planRunOptions
	cmd := &cobra.Command{
		Use:   "run [AGENT...]",
		Short: "Run the agents' commands in the order of the plan",
		Long: "Run the commands of all agents, or of those that are named and of those whose work they need: each as soon as what it requires is " +
			"there. An agent is done when its command ends with status 0 and the files that it produces exist. When one fails, those that need its " +
			"work are skipped, and the others go on.\n\n" +
			"Commands run in the project's folder, with KEN_AGENT and KEN_PLAN in their environment. What they print is shown line by line and kept in " +
			"plan/AGENT.log in the folder for state, without what looks like a secret. Ctrl-C asks them to end, and kills them after some seconds.\n\n" +
			"--resume skips the agents that an earlier run finished, if their declaration, their files and what they require are unchanged. " +
			"The exit status is 1 if an agent is not done.\n\n" +
			"--json prints a line for each thing that happens, and one at the end.",
		Example: `  ken plan run
  ken plan run writer --workers 2
  ken plan run --resume`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			r, err := a.Configuration()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, agent := range r.Config.Agents {
				if !slices.Contains(args, agent.Name) {
					names = append(names, agent.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.workers, "workers", runner.DefaultWorkers, fmt.Sprintf("run at most `N` agents at a time, 1 to %d", runner.MaxWorkers))
	f.BoolVar(&o.resume, "resume", false, "run no agent that was done in an earlier run")
	f.BoolVar(&o.failFast, "fail-fast", false, "stop everything when an agent fails")
	return cmd
}

func (a *commands) runPlan(ctx context.Context, names []string, o *planRunOptions) error {
	if o.workers < 1 || o.workers > runner.MaxWorkers {
		return cli.Usagef("--workers: %d is not from 1 to %d", o.workers, runner.MaxWorkers)
	}
	p, r, err := a.configuredPlan(ctx)
	if err != nil {
		return err
	}
	if p == nil && agentsWithheld(r) {
		return &ken.Error{Code: ken.CodeRefused, Field: "agents", Msg: "the project's configuration is not trusted, so no agent was run", Try: "Look at what it asks for with ken trust, and agree with ken trust --yes."}
	}
	if _, err := p.With(names...); err != nil {
		return cli.UsageError(err)
	}
	if p == nil {
		a.Note(noPlan)
		if a.JSON {
			return json.NewEncoder(a.Out).Encode(planEndView{Event: "end", OK: true, Counts: map[runner.State]int{}})
		}
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("name the run: %w", err)
	}
	show := newPlanProgress(a, r.Root, p)
	report, err := runner.Run(ctx, p, runner.Options{Root: r.Root, State: r.Config.State(r.Root), ID: id.String(), Agents: names,
		Workers: o.workers, Resume: o.resume, FailFast: o.failFast, Progress: show.event, Output: show.line})
	if report == nil {
		return err
	}
	return cmp.Or(err, a.printRun(report), notDone(report))
}

// notDone returns the error of a run in which not all agents succeeded.
func notDone(r *runner.Report) error {
	if r.OK() {
		return nil
	}
	var parts []string
	for _, s := range []runner.State{runner.Failed, runner.Skipped, runner.Stopped} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("of %s: %s", cli.Count(len(r.Outcomes), "agent"), strings.Join(parts, ", ")),
		Try: "Fix the cause, and continue with ken plan run --resume."}
}

type planEndView struct {
	Event   string               `json:"event"`
	ID      string               `json:"id"`
	OK      bool                 `json:"ok"`
	Seconds float64              `json:"seconds"`
	Agents  int                  `json:"agents"`
	Counts  map[runner.State]int `json:"counts"`
}

func (a *commands) printRun(r *runner.Report) error {
	if a.JSON {
		v := planEndView{Event: "end", ID: r.ID, OK: r.OK(), Seconds: r.Ended.Sub(r.Started).Seconds(), Agents: len(r.Outcomes), Counts: map[runner.State]int{}}
		for _, s := range []runner.State{runner.Succeeded, runner.Kept, runner.Failed, runner.Skipped, runner.Stopped} {
			v.Counts[s] = r.Count(s)
		}
		return json.NewEncoder(a.Out).Encode(v)
	}
	a.PrintTable([]string{"AGENT", "STATE", "TOOK", "WHY"}, cli.Map(r.Outcomes, func(o *runner.Outcome) []string {
		worked := ""
		if !o.Started.IsZero() {
			worked = formatDuration(o.Ended.Sub(o.Started))
		}
		return []string{o.Agent, string(o.State), worked, o.Reason}
	}))
	return nil
}

// formatDuration formats a duration with the precision that people need.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
