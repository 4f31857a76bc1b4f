// Command embedder plugs an embedder of its own into the layer. This one counts groups of
// three letters, so that a misspelled word is still found.
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/middleware"
)

// dim is the number of dimensions.
const dim = 256

// trigrams is an embed.Embedder. Texts that share many groups of three letters are near to
// each other.
type trigrams struct{}

func (trigrams) Model() string { return "example:trigrams" }
func (trigrams) Dim() int      { return dim }

// Local says that no network is needed, so turns may call it directly.
func (trigrams) Local() bool { return true }

func (trigrams) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return embed.Batch(ctx, texts, func(text string) []float32 {
		v := make([]float32, dim)
		found := false
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			word = " " + word + " "
			for i := 0; i+3 <= len(word); i++ {
				h := fnv.New32a()
				h.Write([]byte(word[i : i+3]))
				v[h.Sum32()%dim]++
				found = true
			}
		}
		if !found || embed.Unit(v) != nil {
			return nil // there is nothing to embed
		}
		return v
	})
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "embedder:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	// A project of its own; a real program names its project's folder.
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true, Embedder: trigrams{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()
	session := layer.Session(ken.Turn{Session: "s1"})
	for _, text := range []string{"Kubernetes upgrades are announced a week before.", "The office closes at six."} {
		if _, err := session.Learn(ctx, text, []ken.Evidence{ken.FromUserStatement("s1", "m1")}); err != nil {
			return err
		}
	}
	answer, err := layer.Recall(ctx, "kubernets upgrade anounced", func(q *middleware.RecallQuery) { q.Mode, q.Limit = ken.ModeVector, 1 })
	if err != nil {
		return err
	}
	for _, found := range answer.Claims {
		fmt.Println(found.Text)
	}
	return nil
}
