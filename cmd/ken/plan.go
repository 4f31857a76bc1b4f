package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/projectfile"
)

func (a *app) planCommand() *cobra.Command {
	var mermaid bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show in which order agents work, and who waits for whom",
		Long: "Show the agents of the configuration in stages: those of a stage need nothing of each other. Each says what it produces and what " +
			"it requires: artifact:NAME, file:PATH or symbol:NAME. A file that exists and a symbol that the code has need no producer. Without an agent that " +
			"declares either there is no plan.\n\n" +
			"Cycles, two producers of one token, and what is required, not there, and produced by nobody are errors.",
		Example: `  ken plan
  ken plan --mermaid > plan.mmd
  ken plan run`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.showPlan(cmd.Context(), mermaid) },
	}
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a Mermaid flowchart, for Markdown")
	cmd.AddCommand(a.planRunCommand())
	return cmd
}

// plan is the plan of the project as it is now, nil if no agent declares anything.
func (a *app) plan(ctx context.Context, cfg *config.Config) (*plan.Plan, error) {
	root, err := a.project()
	if err != nil {
		return nil, err
	}
	files, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	defer files.Close() // it was only read
	symbols := &symbols{app: a}
	p, err := plan.New(cfg.Agents, func(t plan.Token) bool {
		switch t.Kind {
		case plan.File:
			_, err := files.Stat(t.Name)
			return err == nil
		case plan.Symbol:
			return symbols.has(ctx, t.Name)
		}
		return false
	})
	if failed := symbols.close(); failed != nil {
		return nil, failed // what it did not know is no fault of the plan
	}
	return p, err
}

// symbols knows what the code declares; it reads the code when it is asked first.
type symbols struct {
	app  *app
	view *codegraph.View
	err  error
	shut func() error
}

func (s *symbols) has(ctx context.Context, name string) bool {
	if s.view == nil && s.err == nil {
		c, err := s.app.codebase(ctx)
		if err != nil {
			s.err = fmt.Errorf("look for symbols: %w", err)
			return false
		}
		s.view, s.shut = c.View(), c.Close
	}
	if s.err != nil {
		return false
	}
	found, _ := s.view.Find(name, 1)
	return len(found) > 0 && found[0].Kind != codegraph.KindFile
}

func (s *symbols) close() error {
	if s.shut == nil {
		return s.err
	}
	return errors.Join(s.err, s.shut())
}

// stageView and stepView are a plan as programs read it.
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
	From  string     `json:"from,omitempty"`  // the agent
	There bool       `json:"there,omitempty"` // it is met from outside
}

func (a *app) showPlan(ctx context.Context, mermaid bool) error {
	if mermaid && a.json {
		return usagef("--mermaid and --json: give one of the two")
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	p, err := a.plan(ctx, &cfg)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(map[string]any{"stages": planView(p)})
	case p == nil:
		a.tell(noPlan)
	case mermaid:
		fmt.Fprint(a.out, p.Mermaid())
	default:
		a.printPlan(p)
	}
	return nil
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

func (a *app) printPlan(p *plan.Plan) {
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
		for _, t := range s.Agent.Produces {
			produces = append(produces, t.String())
		}
		rows = append(rows, []string{strconv.Itoa(s.Stage), s.Agent.Name, strings.Join(requires, ", "), strings.Join(there, ", "), strings.Join(produces, ", ")})
	}
	a.printTable([]string{"STAGE", "AGENT", "REQUIRES", "REQUIRES, AND IS THERE", "PRODUCES"}, rows)
}
