package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) entitySearchCommand() *cobra.Command {
	var limit int
	var scopes []string
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Find entities by their names",
		Long: "Find entities by their names: exact ones first, then what begins with the text or has it in it, then what is spelled much like " +
			"it; of each, what most claims carry first.",
		Example: `  ken entity search pay`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.text(args)
			if err != nil {
				return err
			}
			return a.findEntities(cmd.Context(), text, "", limit, scopes)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "the `most` entities to find")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	return cmd
}

func (a *app) entityListCommand() *cobra.Command {
	var limit int
	var typ string
	var scopes []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the entities that something is known of",
		Long:    "List the entities that something is known of, those that most claims carry first. Tasks have a list of their own: ken tasks.",
		Example: `  ken entity list --type system`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if typ != "" && !slices.Contains(describable(), typ) {
				return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--type", Msg: fmt.Sprintf("%q is no type of an entity", typ),
					Try: "Use one of " + strings.Join(describable(), ", ") + "; ken tasks lists tasks."}}
			}
			return a.findEntities(cmd.Context(), "", typ, limit, scopes)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "only what is of this `sort`: person, project, system, tool, concept, skill or unknown")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "the `most` entities to list")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	a.completeFlag(cmd, "type", words(describable()...))
	return cmd
}

// findEntities lists what matches; an empty text matches all.
func (a *app) findEntities(ctx context.Context, text, typ string, limit int, scopes []string) error {
	if limit < 1 {
		return usagef("--limit: %d is less than 1", limit)
	}
	f, err := standing(scopes)
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		most := limit
		if typ != "" { // it is known only of what is looked at
			most = math.MaxInt32
		}
		found, err := entity.Search(ctx, s, text, f, most)
		if err != nil {
			return badUsage(err)
		}
		if typ != "" {
			found.Hits = slices.DeleteFunc(found.Hits, func(h entity.Hit) bool { return h.Type != typ })
			found.Total = len(found.Hits)
			found.Hits = found.Hits[:min(limit, len(found.Hits))]
		}
		if a.json {
			return a.printJSON(map[string]any{"entities": found.Hits, "total": found.Total})
		}
		a.printEntities(&found)
		return nil
	})
}

func (a *app) printEntities(found *entity.Matches) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(a.err, "ken: nothing found")
		return
	}
	rows := make([][]string, len(found.Hits))
	for i := range found.Hits {
		h := &found.Hits[i]
		shown := h.Name
		if len(h.Of) > 0 {
			shown += " → " + strings.Join(h.Of, ", ")
		}
		rows[i] = []string{h.Type, fmt.Sprint(h.Records), fmt.Sprint(h.Constraints), h.Match, shown}
	}
	a.printTable([]string{"TYPE", "RECORDS", "RULES", "MATCH", "NAME"}, rows)
	if n := found.Total - len(found.Hits); n > 0 {
		fmt.Fprintf(a.err, "ken: %d more: --limit shows more of them\n", n)
	}
}
