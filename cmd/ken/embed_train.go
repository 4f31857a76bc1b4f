package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/train"
)

type embedTrainOptions struct {
	train.Options
	out       string
	exclude   []string
	even      bool
	questions bool
	holdOut   int
}

func (a *app) embedTrainCommand() *cobra.Command {
	o := embedTrainOptions{}
	cmd := &cobra.Command{
		Use:   "train --out FILE PAIRS …",
		Short: "Train an embedding table on pairs of texts",
		Long: "Train an embedding table on files of pairs: one JSON object a line with the texts q and p, which belong together, and " +
			"src, the name of their source. Files may be compressed (.gz). With the default options and the pairs that its model " +
			"card lists, the built-in table comes out, on the same kind of processor to the byte.\n\n" +
			"A training on a million pairs takes up to an hour. When it is stopped, it continues where the last epoch ended when it " +
			"is started again: its state is in the file beside FILE whose name ends in .part until it is done.",
		Example: `  ken embed train --out model.ken pairs.jsonl.gz
  ken embed train --out model.ken --exclude questions.jsonl --seed 7 pairs.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("train: PAIRS are missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.embedTrain(cmd.Context(), &o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all")
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave out pairs that share 12 words in a row with a text of this `file`, or are its question: JSON lines with the field text (repeatable)")
	f.Uint64Var(&o.Seed, "seed", 1, "the `number` that everything random depends on")
	f.IntVar(&o.Epochs, "epochs", 0, "how often each pair is seen; 0 is the default of the built-in table")
	f.IntVar(&o.Tokens, "tokens", 0, "the most tokens of the vocabulary; 0 makes a file of 8 MB")
	f.IntVar(&o.Dim, "dim", 0, "dimensions, a multiple of 8; 0 is 256")
	f.IntVar(&o.Workers, "workers", 0, "processors to use; 0 is all")
	f.BoolVar(&o.even, "even", false, "let all sources count the same, instead of as for the built-in table")
	f.BoolVar(&o.questions, "questions", true, "make questions of the turns of conversations")
	f.IntVar(&o.holdOut, "hold-out", 64, "keep one in this `number` of passages out of training, and measure the table with their pairs; 0 trains on all")
	f.StringVar(&o.Info.About, "about", "", "one line about the table, kept in it")
	f.StringVar(&o.Info.Licence, "licence", "", "its licence and attributions in one line, kept in it")
	return cmd
}

func (a *app) embedTrain(ctx context.Context, o *embedTrainOptions, files []string) error {
	if o.out == "" {
		return usagef("--out is missing: name the file to write")
	}
	if o.Dim < 0 || o.Dim%8 != 0 {
		return usagef("--dim: %d is not a multiple of 8", o.Dim)
	}
	for _, f := range slices.Concat(o.exclude, files) { // a misspelled one must not show half way
		if err := a.check(f); err != nil {
			return err
		}
	}
	p := a.progress()
	defer p.done()
	o.Progress = func(t train.Progress) { p.update(t.Stage, t.Done, t.Total) }
	o.Checkpoint = o.out + ".part"
	if !o.even {
		o.Weight = train.Mix
	}
	pairs, held, dropped, err := o.pairs(ctx, files)
	if err != nil {
		return err
	}
	m, err := train.Train(ctx, pairs, o.Options)
	if err != nil {
		if _, gone := os.Stat(o.Checkpoint); gone == nil && ctx.Err() != nil {
			p.done()
			fmt.Fprintln(a.err, "The same command continues it after the last whole epoch.")
		}
		return err
	}
	if err := replaceFile(o.out, func(w io.Writer) error { _, err := m.WriteTo(w); return err }); err != nil {
		return err
	}
	if err := os.Remove(o.Checkpoint); err != nil {
		return fmt.Errorf("remove the checkpoint: %w", err)
	}
	score, err := train.Measure(ctx, m, held, o.Options)
	if err != nil {
		return err
	}
	p.done()
	if a.json {
		return a.printJSON(struct {
			tableSummary
			File    string      `json:"file"`
			Pairs   int         `json:"pairs"`
			Dropped int         `json:"dropped"`
			HeldOut train.Score `json:"held_out"`
		}{summarise(m), o.out, len(pairs), dropped, score})
	}
	fmt.Fprintf(a.err, "%d pairs, %d dropped; of %d held out, mean reciprocal rank %.3f, %.3f found among ten\n",
		len(pairs), dropped, score.Pairs, score.MRR, score.Recall10)
	return a.showTable(m)
}

// pairs reads the files, drops what --exclude says, holds some out, and makes
// questions of the rest.
func (o *embedTrainOptions) pairs(ctx context.Context, files []string) (pairs, held []train.Pair, dropped int, err error) {
	if pairs, err = train.Read(ctx, files, o.Progress); err != nil {
		return nil, nil, 0, err
	}
	var texts []string
	for _, f := range o.exclude {
		some, err := readTexts(f)
		if err != nil {
			return nil, nil, 0, err
		}
		texts = append(texts, some...)
	}
	if len(texts) > 0 {
		if pairs, dropped, err = train.Decontaminate(ctx, pairs, texts, o.Options); err != nil {
			return nil, nil, 0, err
		}
	}
	pairs, held = train.HoldOut(pairs, o.holdOut)
	if o.questions {
		made, err := train.Questions(ctx, pairs, o.Seed)
		if err != nil {
			return nil, nil, 0, err
		}
		pairs = append(pairs, made...)
	}
	return pairs, held, dropped, nil
}

// readTexts reads the field text of each line of a file.
func readTexts(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	var texts []string
	for n := 1; lines.Scan(); n++ {
		var line struct{ Text string }
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--exclude", Msg: fmt.Sprintf("read %s, line %d", file, n), Err: err,
				Try: `Give a file with one JSON object a line, with a field "text".`}
		}
		texts = append(texts, line.Text)
	}
	return texts, lines.Err()
}
