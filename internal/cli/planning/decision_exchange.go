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
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	adr "github.com/kenlayer/ken/internal/code/decision"
)

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
				list, err := a.readDecisions(name)
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
func (a *commands) readDecisions(name string) (out []foundDecision, err error) {
	if fi, err := os.Stat(name); name != "-" && err == nil && fi.IsDir() {
		files, err := filepath.Glob(filepath.Join(name, "*.json"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			list, err := a.readDecisions(f)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
		return out, nil
	}
	in, err := a.OpenInput(name)
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
