package dataset

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// qrels reads the judgements of a split: grades by question and record, and the
// questions that only other splits judge. A missing folder is no judgement.
func qrels(ctx context.Context, dir, split string) (judged map[string]map[string]int, others map[string]bool, err error) {
	names, err := splits(dir)
	if err != nil {
		return nil, nil, err
	}
	if split == "" && slices.Contains(names, "test") {
		split = "test"
	}
	if split != "" && !slices.Contains(names, split) {
		return nil, nil, &ken.Error{Code: ken.CodeInvalid, Field: "split", Msg: "there is no qrels/" + split + ".tsv", Try: "Use one of: " + strings.Join(names, ", ") + "."}
	}
	judged, others = map[string]map[string]int{}, map[string]bool{}
	for _, name := range names {
		into := judged
		if split != "" && name != split {
			into = map[string]map[string]int{}
		}
		if err := judgements(linesOf(ctx, filepath.Join(dir, name+".tsv")), into); err != nil {
			return nil, nil, err
		}
		for id := range into {
			others[id] = true
		}
	}
	return judged, others, nil
}

func splits(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".tsv"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// judgements reads one file: question, record and grade in three columns, or the
// four of TREC, whose second says nothing. The first line may name the columns.
func judgements(lines iter.Seq2[*line, error], into map[string]map[string]int) error {
	first := true
	for l, err := range lines {
		if err != nil {
			return err
		}
		header := first
		first = false
		cols := columns(string(l.text))
		if len(cols) == 4 {
			cols = []string{cols[0], cols[2], cols[3]}
		}
		if len(cols) != 3 {
			return l.fault("", strconv.Itoa(len(cols))+" columns; three belong there", "Write the ids of question and record and the score, with tabs between them.")
		}
		grade, err := strconv.ParseFloat(cols[2], 64)
		switch {
		case err != nil && header:
			continue
		case err != nil || grade != float64(int(grade)):
			return l.fault("score", strconv.Quote(cols[2])+" is not a whole number", "Write 0 for what is not relevant, and 1 or more for what is.")
		case cols[0] == "" || cols[1] == "":
			return l.fault("", "an id is empty", "Give both ids.")
		}
		if into[cols[0]] == nil {
			into[cols[0]] = map[string]int{}
		}
		into[cols[0]][cols[1]] = max(into[cols[0]][cols[1]], int(grade))
	}
	return nil
}

// columns splits at tabs, and at any white space where there are no tabs.
func columns(s string) []string {
	if !strings.Contains(s, "\t") {
		return strings.Fields(s)
	}
	cols := strings.Split(s, "\t")
	for i := range cols {
		cols[i] = strings.TrimSpace(cols[i])
	}
	return cols
}
