package train

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/kenlayer/ken"
)

// Pair is two texts that belong together: a search for Q should find P.
type Pair struct {
	Q string `json:"q"`
	P string `json:"p"`
	// Src names where the pair comes from. Batches are made of one source in
	// part, and a source's weight decides how often its pairs are seen.
	Src string `json:"src"`
}

// maxLine is how many bytes a line of a file of pairs may have.
const maxLine = 1 << 20

// Read reads files of pairs, one JSON object a line; a name that ends in .gz is
// decompressed. Pairs with an empty side are left out. progress, if not nil, is
// told how many pairs were read. Errors are *ken.Error that name file and line,
// or the context's own.
func Read(ctx context.Context, files []string, progress func(Progress)) ([]Pair, error) {
	var pairs []Pair
	for _, name := range files {
		if err := readFile(ctx, name, func(p Pair) {
			if pairs = append(pairs, p); len(pairs)%10_000 == 0 {
				report(progress, Progress{Stage: "read", Done: len(pairs)})
			}
		}); err != nil {
			return nil, err
		}
	}
	report(progress, Progress{Stage: "read", Done: len(pairs), Total: len(pairs)})
	return pairs, nil
}

func readFile(ctx context.Context, name string, emit func(Pair)) error {
	f, err := os.Open(name)
	if err != nil {
		code := ken.CodeInvalid
		if errors.Is(err, fs.ErrNotExist) {
			code = ken.CodeNotFound
		}
		return &ken.Error{Code: code, Msg: "read pairs", Err: err, Try: "Check the path."}
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return unreadable(name, 0, err)
		}
	}
	return readLines(ctx, r, name, emit)
}

// readLines reads pairs until r or ctx ends.
func readLines(ctx context.Context, r io.Reader, name string, emit func(Pair)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		var p Pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return unreadable(name, n, err)
		}
		if strings.TrimSpace(p.Q) == "" || strings.TrimSpace(p.P) == "" {
			continue
		}
		emit(p)
	}
	if err := lines.Err(); err != nil {
		return unreadable(name, n+1, err)
	}
	return ctx.Err()
}

func unreadable(name string, line int, err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("read pairs: %s, line %d", name, line), Err: err,
		Try: `Each line is one JSON object with the texts "q" and "p" and the source's name "src".`}
}
