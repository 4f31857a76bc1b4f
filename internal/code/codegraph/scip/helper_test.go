package scip_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

// always is a time for an index that is newer than all files. A checkout does not keep modification times.
var always = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// read reads an index of testdata.
func read(t *testing.T, root, index string, o scip.Options) (codegraph.Refinement, scip.Report) {
	t.Helper()
	f, err := os.Open(root + "/" + index)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if o.Made.IsZero() {
		o.Made = always
	}
	ref, report, err := scip.Read(f, root, o)
	if err != nil {
		t.Fatal(err)
	}
	return ref, report
}

func edges(ref codegraph.Refinement) []string {
	var out []string
	for _, f := range ref.Files {
		for _, e := range f.Edges {
			out = append(out, fmt.Sprintf("%s %s %s %d", e.From, e.Kind, e.To, e.Line))
		}
	}
	slices.Sort(out)
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Functions that build an index.

func bytesField(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func numberField(b []byte, num protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), n)
}

type occ struct {
	symbol string
	roles  uint64
	at     []uint64
}

func (o occ) bytes() []byte {
	var packed []byte
	for _, n := range o.at {
		packed = protowire.AppendVarint(packed, n)
	}
	return numberField(bytesField(bytesField(nil, 1, packed), 2, []byte(o.symbol)), 3, o.roles)
}

// doc returns a document with occurrences and a text, which may be empty.
func doc(path, text string, occs ...occ) []byte {
	b := bytesField(nil, 1, []byte(path))
	for _, o := range occs {
		b = bytesField(b, 2, o.bytes())
	}
	if text != "" {
		b = bytesField(b, 5, []byte(text))
	}
	return b
}

// index returns an index of documents.
func index(docs ...[]byte) []byte {
	b := bytesField(nil, 1, bytesField(nil, 2, bytesField(bytesField(nil, 1, []byte("scip-go")), 2, []byte("1.0"))))
	for _, d := range docs {
		b = bytesField(b, 2, d)
	}
	return b
}

// writeFiles writes files given as pairs of path and content.
func writeFiles(t testing.TB, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for i := 0; i < len(pairs); i += 2 {
		if err := root.WriteFile(pairs[i], []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names reports whether the last part of a name is on a line, counted from 1.
func names(text string, line int, qualified string) bool {
	return strings.Contains(strings.Split(text, "\n")[line-1], qualified[strings.LastIndexAny(qualified, ".:")+1:])
}
