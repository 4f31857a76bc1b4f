package repository

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/sourcemap"
	"github.com/kenlayer/ken/store"
)

// clockGranularity is the minimum time between two writes that modification times can distinguish: two seconds on the
// coarsest file systems in use.
const clockGranularity = 2 * time.Second

// isCurrent reports whether a file is unchanged without reading it: same size, same time, and not written so shortly
// before the last read that a second write could have the same time.
func isCurrent(k Known, f file, cut string) bool {
	return k.Cut == cut && k.Size == f.size && k.ModTime.Equal(f.modTime) && k.ModTime.Add(clockGranularity).Before(k.ReadAt)
}

// reading is the result of reading one file.
type reading struct {
	doc       Document
	unchanged bool   // the content is that in the sink; only doc.Known is set
	failed    Reason // the file could not be read
}

// readAll reads files in parallel and returns the results in order.
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
	if got.Size > x.o.MaxFileBytes {
		return reading{failed: ReasonTooLarge}
	}
	doc := Document{Path: f.path, Known: Known{Hash: got.Hash, Size: got.Size, ModTime: got.ModTime, ReadAt: at, Cut: x.cut}}
	if k, ok := x.known[f.path]; ok && k.Hash == doc.Hash && k.Cut == x.cut {
		doc.Skip, doc.Withheld = k.Skip, k.Withheld
		return reading{doc: doc, unchanged: true}
	}
	if why := contentReason(f.path, got.Bytes, x.lim); why != "" {
		doc.Skip = string(why)
		if why == ReasonSecret {
			doc.Withheld = []Withheld{{What: "token"}}
		}
		return reading{doc: doc}
	}
	text := sourcemap.Trim(string(got.Bytes))
	s := source{path: f.path, text: text, hash: doc.Hash, lastChanged: x.dates.of(f.path, got.Bytes, got.ModTime)}
	if x.o.Declarations != nil {
		s.declared = x.o.Declarations(f.path, got.Bytes)
	}
	doc.Chunks, doc.Withheld = withhold(text, s.chunks(x.lim))
	if x.o.Standing != nil {
		if status := x.o.Standing(f.path, got.Bytes); status != "" {
			for i := range doc.Chunks {
				doc.Chunks[i].Status = status
			}
		}
	}
	return reading{doc: doc}
}

// contentReason returns the reason to skip a file because of its content; "" for none.
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
	case !markdownFile(rel) && !proseFile(rel) && mostlyLongLines(sourcemap.Trim(text), lim.line()):
		return ReasonData
	}
	return ""
}

// mostlyLongLines reports whether more than half of a text is in lines that are too long for a chunk.
func mostlyLongLines(text string, limit int) bool {
	long := 0
	for l := range strings.Lines(text) {
		if len(l) > limit && utf8.RuneCountInString(l) > limit {
			long += len(l)
		}
	}
	return 2*long > len(text)
}

// line is one line of a source, without its end. A wrapped line becomes several with the same number.
type line struct {
	no     int // from 1
	text   string
	chars  int // code points, plus one for the line end
	indent int // columns before the first character; a tab counts as four
}

func newLine(no int, text string) line {
	l := line{no: no, text: text, chars: utf8.RuneCountInString(text) + 1}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ':
			l.indent++
		case '\t':
			l.indent += 4
		default:
			return l
		}
	}
	return l
}

func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// trimmed returns the line without surrounding white space.
func (l line) trimmed() string { return strings.TrimSpace(l.text) }

const byteOrderMark = "\ufeff"

// splitLines splits src at line feeds. A byte order mark and carriage returns before line feeds are removed.
func splitLines(src string) []line {
	src = strings.TrimPrefix(src, byteOrderMark)
	lines := make([]line, 0, strings.Count(src, "\n")+1)
	for no := 1; src != ""; no++ {
		var text string
		text, src, _ = strings.Cut(src, "\n")
		lines = append(lines, newLine(no, strings.TrimSuffix(text, "\r")))
	}
	return lines
}

// render joins lines as they were in the source, without blanks at their ends.
func render(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && l.no != lines[i-1].no {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return strings.TrimRight(b.String(), " \t\r\n")
}

func width(lines []line) int {
	n := 0
	for _, l := range lines {
		n += l.chars
	}
	return n
}

// span is lines[from:to].
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

// trim removes blank lines from both ends.
func (s span) trim(lines []line) span {
	for s.from < s.to && lines[s.from].blank() {
		s.from++
	}
	for s.from < s.to && lines[s.to-1].blank() {
		s.to--
	}
	return s
}

// clip shortens s to at most n characters on one line, with an ellipsis.
func clip(s string, n int) string {
	return analysis.Clip(strings.Join(strings.Fields(s), " "), n)
}

// cutGo cuts a Go file by declaration, each with its doc comment. It returns false for a file that can't be parsed. The
// package comment is a chunk. Build constraints, licence headers, imports and a package clause without a comment are
// not. A declaration that is too long is cut where its indentation is least, and each further part begins with the
// declaration's first line.
func cutGo(src string, lines []line, lim limits) ([]line, []piece, bool) {
	src = strings.TrimPrefix(src, byteOrderMark)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, false
	}
	g := goFile{lines: lines, lim: lim, line: func(p token.Pos) int {
		return fset.PositionFor(p, false).Line - 1 // the real line in the file, ignoring //line
	}}
	g.preamble(file)
	for _, d := range file.Decls {
		g.declaration(d)
	}
	g.comments(span{g.done, len(lines)})
	return lines, merge(lines, g.pieces, lim), true
}

type goFile struct {
	lines  []line
	lim    limits
	line   func(token.Pos) int // index into lines
	pieces []piece
	done   int // the lines before this one are processed
}

func (g *goFile) preamble(file *ast.File) {
	clause := g.line(file.Name.End())
	path := []string{"package " + file.Name.Name}
	if file.Doc != nil {
		g.add(span{g.line(file.Doc.Pos()), clause + 1}, "", path, nil)
	}
	g.done = clause + 1
}

// declaration adds one declaration and the free-standing comments before it.
func (g *goFile) declaration(d ast.Decl) {
	doc, title, names := describe(d)
	from, to := g.line(d.Pos()), g.line(d.End()-1)+1
	head := from
	if doc != nil {
		from = g.line(doc.Pos())
	}
	from = max(from, g.done) // two declarations may be on one line
	if from >= to {
		if n := len(g.pieces); n > 0 {
			g.pieces[n-1].names = append(g.pieces[n-1].names, names...)
		}
		return
	}
	g.comments(span{g.done, from})
	g.done = to
	if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
		return
	}
	g.add(span{from, to}, g.lines[head].text, []string{title}, names)
}

// comments adds the text between two declarations.
func (g *goFile) comments(s span) {
	if s = s.trim(g.lines); !s.empty() {
		g.add(s, "", nil, nil)
	}
}

// add appends a span as one piece, or as several that begin with lead.
func (g *goFile) add(s span, lead string, path, names []string) {
	lim := g.lim
	if lead == "" { // a free-standing comment
		lim.maxDeclaration = lim.max
	}
	g.pieces = append(g.pieces, declarationParts(g.lines, s, lead, path, names, lim)...)
}

// describe returns a declaration's doc comment, its title, and the names that it declares. A method has two names: with
// and without its receiver's type.
func describe(d ast.Decl) (doc *ast.CommentGroup, title string, names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Doc, "func " + d.Name.Name, declared(d.Name.Name)
		}
		recv := d.Recv.List[0]
		variable := ""
		if len(recv.Names) > 0 {
			variable = recv.Names[0].Name + " "
		}
		star, typ := receiver(recv.Type)
		names = declared(typ+"."+d.Name.Name, d.Name.Name)
		return d.Doc, "func (" + variable + star + typ + ") " + d.Name.Name, names
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, declared(s.Name.Name)...)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, declared(n.Name)...)
				}
			}
		}
		shown := names
		if len(shown) > 3 {
			shown = append(slices.Clone(shown[:3]), "…")
		}
		return d.Doc, strings.TrimSpace(d.Tok.String() + " " + strings.Join(shown, ", ")), names
	}
	return nil, "", nil
}

// receiver returns "*" or "", and the name of a receiver's type without type parameters.
func receiver(t ast.Expr) (star, name string) {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			star, t = "*", x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return star, x.Name
		default:
			return star, ""
		}
	}
}

func declared(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == "_" })
}

// ownFolders are never entered and not counted.
var ownFolders = map[string]bool{".git": true, ".ken": true, ".hg": true, ".svn": true, ".jj": true}

var vendoredFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "vendor": true, "third_party": true, "thirdparty": true,
	"site-packages": true, ".venv": true, "Pods": true, "Carthage": true,
}

var toolFolders = map[string]bool{
	"__pycache__": true, ".tox": true, ".nox": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".gradle": true, ".terraform": true, ".next": true, ".nuxt": true, ".svelte-kit": true, ".turbo": true,
	".parcel-cache": true, ".cache": true, ".eggs": true, ".dart_tool": true, ".idea": true, ".vs": true, "DerivedData": true,
}

// outputFolders maps names of folders to files: a folder contains build output if one of these files is next to it.
// Otherwise it may be a package.
var outputFolders = map[string][]string{
	"dist":     {"package.json", "pyproject.toml", "setup.py", ".goreleaser.yaml", ".goreleaser.yml"},
	"build":    {"build.gradle", "build.gradle.kts", "setup.py", "pubspec.yaml"},
	"target":   {"Cargo.toml", "pom.xml", "build.sbt"},
	"out":      {"next.config.js", "next.config.mjs", "next.config.ts", "foundry.toml"},
	"bin":      {"*.csproj", "*.fsproj", "*.vbproj"},
	"obj":      {"*.csproj", "*.fsproj", "*.vbproj"},
	"_build":   {"mix.exs", "dune-project", "conf.py"},
	"deps":     {"mix.exs"},
	"coverage": {"package.json"},
}

// folderConvention returns the reason to skip a folder with this name; "" for none. siblings are the names in the
// parent folder.
func folderConvention(name string, siblings []string) Reason {
	switch {
	case vendoredFolders[name]:
		return ReasonVendored
	case toolFolders[name] || strings.HasSuffix(name, ".egg-info"):
		return ReasonGenerated
	}
	for _, mark := range outputFolders[name] {
		if slices.ContainsFunc(siblings, func(s string) bool { return globMatch(mark, s) }) {
			return ReasonGenerated
		}
	}
	return ""
}

// cacheTag is a file with which many build tools mark folders as caches.
const cacheTag = "CACHEDIR.TAG"

var lockFiles = map[string]bool{
	"go.sum": true, "go.work.sum": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true,
	"pnpm-lock.yaml": true, "bun.lock": true, "deno.lock": true, "Cargo.lock": true, "poetry.lock": true, "uv.lock": true,
	"pdm.lock": true, "Pipfile.lock": true, "composer.lock": true, "Gemfile.lock": true, "flake.lock": true, "mix.lock": true,
	"pubspec.lock": true, "Podfile.lock": true, "Package.resolved": true, "gradle.lockfile": true, "packages.lock.json": true,
	"MODULE.bazel.lock": true, ".terraform.lock.hcl": true,
}

var generatedGlobs = []string{
	"*.min.js", "*.min.css", "*.min.mjs", "*-min.js", "*.map", "*.bundle.js", "*.pb.go", "*.pb.cc", "*.pb.h", "*_pb2.py",
	"*_pb2_grpc.py", "*_pb2.pyi", "*.g.dart", "*.freezed.dart", "*.designer.cs", "*.g.cs", "zz_generated*", "*.generated.*",
}

var binaryExtensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`png jpg jpeg gif bmp ico icns webp avif tif tiff psd heic mp3 mp4 m4a mov avi mkv webm wav
		ogg flac woff woff2 ttf otf eot pdf doc docx xls xlsx ppt pptx odt ods zip gz tgz bz2 xz zst 7z rar tar jar war whl
		egg gem deb rpm dmg iso apk aab ipa exe dll so dylib a o obj lib class pyc pyo wasm node db sqlite sqlite3 mdb bin
		dat pack idx parquet arrow npy npz pt pth onnx safetensors gguf h5 pkl pickle`) {
		m["."+e] = true
	}
	return m
}()

// dataExtensions are extensions of files that hold data rather than sentences. Files with structuredExtensions do so
// from structuredLimit bytes on.
var (
	dataExtensions       = map[string]bool{".csv": true, ".tsv": true, ".jsonl": true, ".ndjson": true, ".svg": true, ".ipynb": true, ".log": true, ".lcov": true, ".geojson": true}
	structuredExtensions = map[string]bool{".json": true, ".xml": true, ".yaml": true, ".yml": true, ".sql": true, ".txt": true}
)

const structuredLimit = 256 << 10

// fileConvention returns the reason to skip a file because of its name or size; "" for none.
func fileConvention(name string, size int64) Reason {
	ext := strings.ToLower(path.Ext(name))
	switch {
	case binaryExtensions[ext]:
		return ReasonBinary
	case lockFiles[name]:
		return ReasonGenerated
	case dataExtensions[ext], structuredExtensions[ext] && size > structuredLimit:
		return ReasonData
	}
	lower := strings.ToLower(name)
	if slices.ContainsFunc(generatedGlobs, func(g string) bool { return globMatch(g, lower) }) {
		return ReasonGenerated
	}
	return ""
}

var (
	// goGenerated is the rule of the go command: https://go.dev/s/generatedcode.
	goGenerated = lazyregexp.New(`^// Code generated .* DO NOT EDIT\.$`)
	generated   = lazyregexp.New(`(?i)@generated\b|\bcode generated\b.*\bdo not edit\b|\bauto-?(matically )?generated\b.*\bdo not (edit|modify)\b|\bthis file (is|was) (auto-?|automatically )generated\b`)
)

// generatedLines is the number of lines at the top that are searched for a generator's mark.
const generatedLines = 10

// generatedText reports whether a tool wrote the file, according to its first lines. In prose, only a comment counts,
// since prose may mention generated files.
func generatedText(name, text string) bool {
	ext := strings.ToLower(path.Ext(name))
	prose := proseFile(name) || markdownFile(name)
	n := 0
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if ext == ".go" {
			if strings.HasPrefix(l, "package ") {
				return false
			}
			if goGenerated.MatchString(l) {
				return true
			}
			continue
		}
		if n++; n > generatedLines {
			return false
		}
		if t := strings.TrimSpace(l); generated.MatchString(t) && (comment(t) && !prose || strings.HasPrefix(t, "<!--")) {
			return true
		}
	}
	return false
}

// Document is one source file or commit, cut into chunks. Known is what a sink stores about it in addition to the
// chunks. Package store defines both types.
type (
	Document = store.Document
	Known    = store.Known
)

// Sink is the part of a store that Index uses. Index calls it from one goroutine at a time. Each call must be atomic,
// so an interrupted run leaves only complete documents, some of them outdated.
type Sink interface {
	// DocumentHashes returns the stored documents, by path. The caller owns the map.
	DocumentHashes(ctx context.Context) (map[string]Known, error)
	// PutDocuments stores the documents. Each one replaces all chunks with its path. A path occurs at most once in a
	// call. The sink may keep the slices.
	PutDocuments(ctx context.Context, docs []Document) error
	// TouchDocuments replaces the Known of documents whose chunks are unchanged. Unknown paths are ignored.
	TouchDocuments(ctx context.Context, known map[string]Known) error
	// RemoveDocuments removes the documents and their chunks. Unknown paths are ignored.
	RemoveDocuments(ctx context.Context, paths []string) error
}
