package transformer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/embed/bert"
	"github.com/kenlayer/ken/internal/embed/safetensors"
	"github.com/kenlayer/ken/internal/embed/tokenizer"
)

var _ embed.Embedder = (*embedder)(nil)

// Options configures [Open]. The zero value is the default.
type Options struct {
	// Int8 stores the weights in 8 bits, a quarter of the memory, and computes with them, some three
	// times as fast if the processor has VNNI. Its vectors are a separate space.
	Int8 bool
	// Cores is the maximum number of cores that calls with several texts share; <= 0 means half of the
	// machine's, at least one. A call with one text, such as a turn's question, never waits for them.
	Cores int
}

// embedder is the embed.Embedder of one encoder.
type embedder struct {
	encoder *bert.Encoder
	name    string
	prefix  string
	queries *embedder     // nil: questions are embedded like other texts
	slots   chan struct{} // one is held during each computation of several texts
}

// IsFolder reports whether a folder's config.json describes a transformer of any family rather than a
// static table.
func IsFolder(folder string) bool { return bert.Describes(folder) }

// Open reads a model's folder. The embedder keeps the encoder in memory: 4 bytes per weight, or 1 with
// Options.Int8, and some 15 KB for each token of the texts being embedded. It is safe for concurrent use.
// Errors are *ken.Error: invalid when the folder isn't a model's or the model is not supported, corrupt
// when a file is inconsistent.
func Open(folder string, o Options) (embed.Embedder, error) {
	encoder, err := bert.Read(folder, o.Int8)
	if err != nil {
		return nil, explain(folder, err)
	}
	debug.FreeOSMemory() // releases the file's memory, which is as large as the weights
	o.Cores = cmp.Or(max(o.Cores, 0), max(1, runtime.GOMAXPROCS(0)/2))
	query, passage := encoder.Prefixes()
	e := &embedder{encoder: encoder, name: "transformer:" + encoder.Name(), prefix: passage, slots: make(chan struct{}, o.Cores)}
	if query != passage {
		q := *e
		q.prefix = query
		e.queries = &q
	}
	return e, nil
}

func explain(folder string, err error) error {
	out := &ken.Error{Code: ken.CodeCorrupt, Field: "knowledge.embed_path", Msg: "read the model in " + folder, Err: err,
		Try: "Copy the model again: a file is damaged or incomplete, or of another model."}
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist):
		out.Code, out.Msg = ken.CodeInvalid, folder+" has no "+filepath.Base(missing.Path)
		out.Try = "Name a folder that holds config.json, tokenizer.json (or vocab.txt) and model.safetensors of a sentence encoder."
	case errors.Is(err, bert.ErrUnsupported), errors.Is(err, tokenizer.ErrUnsupported), errors.Is(err, safetensors.ErrUnsupported):
		out.Code = ken.CodeInvalid
		out.Try = "Choose a sentence encoder of the BERT family, such as all-MiniLM-L6-v2, bge-small, gte-small or multilingual-e5-small."
	case errors.As(err, &missing), errors.Is(err, os.ErrPermission):
		out.Code, out.Try = ken.CodeInvalid, "Make the folder readable."
	}
	return out
}

// Model implements embed.Embedder: "transformer:", the folder's name, and a hash of the files
// that vectors follow from.
func (e *embedder) Model() string { return e.name }

// Dim implements embed.Embedder.
func (e *embedder) Dim() int { return e.encoder.Dim() }

// Local reports true: nothing leaves the process.
func (e *embedder) Local() bool { return true }

// Background reports true: a text takes milliseconds, so a write must not wait for its vector.
// See embed.IsInline.
func (e *embedder) Background() bool { return true }

// Queries returns the embedder for questions, in the same space. See embed.Queries.
func (e *embedder) Queries() embed.Embedder {
	if e.queries == nil {
		return e
	}
	return e.queries
}

// groupTokens is the number of tokens from which texts are computed together. Each group reads the
// weights once; with this size, reading costs less than the arithmetic.
const groupTokens = 128

// Embed implements embed.Embedder. The caller's goroutine computes a single text; calls with several
// texts share Options.Cores.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	if len(texts) == 1 {
		return vectors, e.group(ctx, texts, vectors, nil)
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	groups := make(chan [2]int)
	var workers sync.WaitGroup
	for range min(cap(e.slots), len(texts)) {
		workers.Go(func() {
			for g := range groups {
				if err := e.group(work, texts[g[0]:g[1]], vectors[g[0]:g[1]], e.slots); err != nil {
					cancel(err)
				}
			}
		})
	}
	e.split(work, texts, groups)
	close(groups)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := context.Cause(work); err != nil {
		return nil, err
	}
	return vectors, nil
}

// split sends groups of texts of about groupTokens tokens, estimated at four bytes each.
func (e *embedder) split(ctx context.Context, texts []string, groups chan<- [2]int) {
	first, size := 0, 0
	for i, text := range texts {
		size += len(text)/4 + 3
		if size < groupTokens && i < len(texts)-1 {
			continue
		}
		select {
		case groups <- [2]int{first, i + 1}:
		case <-ctx.Done():
			return
		}
		first, size = i+1, 0
	}
}

// group embeds texts on this goroutine. It holds one of slots, unless slots is nil.
func (e *embedder) group(ctx context.Context, texts []string, vectors [][]float32, slots chan struct{}) error {
	if slots != nil {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return caught.Run(func() error {
		var tokens [][]int32
		var at []int
		for i, text := range texts {
			if strings.TrimSpace(text) == "" {
				continue
			}
			if ids := e.encoder.Tokens(e.prefix + text); !e.encoder.Blank(ids) {
				tokens, at = append(tokens, ids), append(at, i)
			}
		}
		if len(tokens) == 0 {
			return ctx.Err()
		}
		out, err := e.encoder.Encode(ctx, tokens)
		if err != nil {
			return err
		}
		for i, v := range out {
			if embed.Unit(v) == nil {
				vectors[at[i]] = v
			}
		}
		return nil
	})
}
