package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/internal/embed/table"
)

func (a *app) embedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "embed",
		Short: "Show, tune and train embedding tables",
		Long: "An embedding table turns texts into vectors inside this process: the built-in one needs no network and no " +
			"configuration. These commands show a table, tune it to a project, and train one.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.embedShowCommand(), a.embedAdaptCommand(), a.embedTrainCommand())
	return cmd
}

func (a *app) embedShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show what an embedding table is",
		Long:  "Show the name, the size and the licence of an embedding table: of FILE, or of the one that is built in.",
		Example: `  ken embed show
  ken embed show --json model.ken`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := openTable(args)
			if err != nil {
				return err
			}
			return a.showTable(m)
		},
	}
}

// openTable opens the file that args name, else the built-in table.
func openTable(args []string) (*table.Model, error) {
	if len(args) == 0 {
		return builtin.Open()
	}
	return table.Read(args[0])
}

// tableSummary is a table in JSON.
type tableSummary struct {
	Model  string     `json:"model"`
	Dim    int        `json:"dim"`
	Tokens int        `json:"tokens"`
	Bytes  int        `json:"bytes"`
	Info   table.Info `json:"info"`
}

func summarise(m *table.Model) tableSummary {
	return tableSummary{Model: m.Model(), Dim: m.Dim(), Tokens: m.Vocabulary().Len(), Bytes: m.Size(), Info: m.Info()}
}

func (a *app) showTable(m *table.Model) error {
	s := summarise(m)
	if a.json {
		return a.printJSON(s)
	}
	for _, line := range [][2]string{
		{"model", s.Model},
		{"dimensions", fmt.Sprint(s.Dim)},
		{"tokens", fmt.Sprint(s.Tokens)},
		{"bytes", fmt.Sprint(s.Bytes)},
		{"about", s.Info.About},
		{"licence", s.Info.Licence},
		{"base", s.Info.Base},
		{"recipe", s.Info.Recipe},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.out, "%-11s %s\n", line[0], line[1])
		}
	}
	return nil
}
