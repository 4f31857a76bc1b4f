package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken/internal/caught"
)

// clockGranularity is how far apart two writes must be to be told apart by the
// modification time: two seconds on the coarsest file systems in use.
const clockGranularity = 2 * time.Second

// isCurrent reports whether a file can be taken for what is known of it without
// reading: same size, same time, and not written so close to the last reading
// that a second write could have had the same time.
func isCurrent(k Known, f file, cut string) bool {
	return k.Cut == cut && k.Size == f.size && k.ModTime.Equal(f.modTime) && k.ModTime.Add(clockGranularity).Before(k.ReadAt)
}

// reading is what came of reading one file.
type reading struct {
	doc    Document
	same   bool   // the content is what the sink has: only doc.Known is set
	failed Reason // the file could not be read
}

// readAll reads files in parallel and returns the readings in their order.
func (x *indexer) readAll(ctx context.Context, files []file) ([]reading, error) {
	out := make([]reading, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(x.o.Workers)
	for i, f := range files {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := caught.Run(func() error { out[i] = x.read(f); return nil })
			if err != nil {
				slog.Default().ErrorContext(ctx, "a file can't be read and is left out", "file", f.path, "cause", err, "stack", caught.Stack(err))
				out[i] = reading{failed: ReasonUnreadable}
			}
			return nil
		})
	}
	return out, g.Wait()
}

func (x *indexer) read(f file) reading {
	at := x.o.Now().UTC()
	got, err := readFile(x.root, f.path, x.o.MaxFileBytes)
	if err != nil {
		return reading{failed: ReasonUnreadable}
	}
	if got.tooLarge {
		return reading{failed: ReasonTooLarge}
	}
	doc := Document{Path: f.path, Known: Known{
		Hash: contentHash(got.content), Size: int64(len(got.content)), ModTime: got.modTime, ReadAt: at, Cut: x.cut,
	}}
	if k, ok := x.known[f.path]; ok && k.Hash == doc.Hash && k.Cut == x.cut {
		doc.Skip, doc.Withheld = k.Skip, k.Withheld
		return reading{doc: doc, same: true}
	}
	if why := contentReason(f.path, got.content, x.lim); why != "" {
		doc.Skip = string(why)
		if why == ReasonSecret {
			doc.Withheld = []Withheld{{What: "token"}}
		}
		return reading{doc: doc}
	}
	text := string(got.content)
	s := source{path: f.path, text: text, hash: doc.Hash, modTime: doc.ModTime}
	doc.Chunks, doc.Withheld = withhold(text, s.chunks(x.lim))
	if x.o.Standing != nil {
		if status := x.o.Standing(f.path, got.content); status != "" {
			for i := range doc.Chunks {
				doc.Chunks[i].Status = status
			}
		}
	}
	return reading{doc: doc}
}

func contentHash(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// contentReason says why a file is skipped once its content is known.
func contentReason(rel string, content []byte, lim limits) Reason {
	switch {
	case bytes.HasPrefix(content, []byte("\xff\xfe")), bytes.HasPrefix(content, []byte("\xfe\xff")): // UTF-16
		return ReasonNotUTF8
	case bytes.IndexByte(content, 0) >= 0:
		return ReasonBinary
	case !utf8.Valid(content):
		return ReasonNotUTF8
	}
	text := string(content)
	switch {
	case withholdFile(rel, text):
		return ReasonSecret
	case generatedText(path.Base(rel), text):
		return ReasonGenerated
	case !markdownFile(rel) && !proseFile(rel) && mostlyLongLines(text, lim.line()):
		return ReasonData
	}
	return ""
}

// mostlyLongLines reports whether more than half of a text stands in lines that
// no chunk could hold.
func mostlyLongLines(text string, limit int) bool {
	long := 0
	for l := range strings.Lines(text) {
		if len(l) > limit && utf8.RuneCountInString(l) > limit {
			long += len(l)
		}
	}
	return 2*long > len(text)
}

type readResult struct {
	content  []byte
	modTime  time.Time
	tooLarge bool
}

// readFile reads a regular file of at most limit bytes. The time is from before
// the reading: a write meanwhile shows the next time.
func readFile(root *os.Root, name string, limit int64) (r readResult, err error) {
	f, err := root.Open(name)
	if err != nil {
		return r, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() {
		return r, fmt.Errorf("read %s: %w", name, fs.ErrInvalid)
	}
	r.modTime = info.ModTime().UTC()
	var b bytes.Buffer
	b.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	r.content, r.tooLarge = b.Bytes(), n > limit
	return r, err
}
