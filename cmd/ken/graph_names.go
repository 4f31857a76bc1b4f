package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// completing is how long a shell waits for names.
const completing = time.Second

// completesNodes completes names of the code from the graph as it was saved: a bare
// name, the end of a longer one, or an ID, whichever was begun.
func (a *app) completesNodes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 && cmd.Name() != "neighbours" {
		return nil, noFiles
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completing)
	defer stop()
	quiet := &app{streams: streams{in: a.in, out: a.out, err: io.Discard}, dir: a.dir, quiet: true}
	c, err := quiet.loadCodebase(ctx, quiet.progress())
	if err != nil {
		return nil, noFiles
	}
	defer c.Close() // it was only read
	return nodeNames(c.View(), begun), noFiles
}

func nodeNames(v *codegraph.View, begun string) (out []string) {
	const most = 200 // more than a person reads
	found := v.Beginning(begun, most)
	seen := map[string]bool{}
	for i := range found {
		n := &found[i]
		for _, form := range forms(n) {
			if strings.HasPrefix(form, begun) && !seen[form] {
				seen[form] = true
				out = append(out, form+"\t"+cell(string(n.Kind)+" "+place(n.Path, n.Line)))
				break
			}
		}
	}
	return out
}

// forms are the ways to say a node, the shortest first.
func forms(n *codegraph.Node) []string {
	out := []string{n.Name}
	for i := len(n.Qualified) - len(n.Name) - 2; i > 0; i-- {
		if n.Qualified[i] == '.' || n.Qualified[i] == '/' {
			out = append(out, n.Qualified[i+1:])
		}
	}
	return append(out, n.Qualified, n.ID)
}
