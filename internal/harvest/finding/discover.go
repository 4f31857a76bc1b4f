package finding

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
)

var identifier = lazyregexp.New(`[\pL_][\pL\d_]{2,}`)

func (x *extractor) search(c *Call) {
	files, n := matches(c.Output, maxMatches)
	pattern := clip(c.Pattern, 100)
	if n == 0 || n > maxMatching || !identifier.MatchString(pattern) || strings.ContainsAny(pattern, "\x00") {
		return
	}
	var in []string
	hashes := map[string]string{}
	for _, name := range files {
		name = c.project.relative(name)
		if ignored(c, name) {
			n--
			continue
		}
		if h := c.Files[name]; h != "" {
			hashes[name] = h
		}
		in = append(in, name)
	}
	if len(in) == 0 {
		return
	}
	text := "`" + pattern + "` is in " + strings.Join(in, ", ")
	if more := n - len(in); more > 0 {
		text += " and " + strconv.Itoa(more) + " more files"
	}
	f := of(c, Observation, c.Pattern, text, weightSearch)
	if len(c.Pattern) > 200 {
		f.Entity = pattern
	}
	if len(hashes) > 0 {
		f.Files = hashes
	}
	x.add(f)
}

var entry = lazyregexp.New(`^(?:\[(?:FILE|DIR)\] |- |[|├└─│\s]+)?([\w.@+][\w.@+-]{0,60}/?)\s*$`)

func (x *extractor) list(c *Call) {
	if len(c.Paths) != 1 || c.project.outside(c.Paths[0]) || isAbsolute(c.Paths[0]) || strings.HasPrefix(c.Name, "git") {
		return
	}
	var names []string
	for line := range strings.Lines(shown(c.Output)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := entry.FindStringSubmatch(line)
		if m == nil || len(names) == maxListed {
			return
		}
		names = append(names, strings.TrimSpace(m[1]))
	}
	if len(names) > 1 {
		dir := strings.TrimSuffix(c.Paths[0], "/") + "/"
		x.add(of(c, Observation, dir, dir+" holds "+strings.Join(names, ", "), weightList))
	}
}

var pageTitle = lazyregexp.New(`(?i)<title[^>]*>((?s:.{3,200}?))</title>|(?m:^#[ \t]+(.{3,200})$)`)

// fetch records the title of a page. The content of a page is not the project's
// knowledge, and may be written to look like it.
func (x *extractor) fetch(c *Call) {
	m := pageTitle.FindStringSubmatch(shown(c.Output))
	if c.Address == "" || m == nil {
		return
	}
	title := oneLine(m[1] + m[2])
	if planted.MatchString(title) || analysis.FormOf(title).Traits&analysis.Instructs != 0 {
		return
	}
	f := of(c, Observation, c.Address, c.Address+" is the page \""+clip(title, 120)+"\"", weightFetch)
	f.External = true
	x.add(f)
}

// matchLine matches a line of a search's result that names a file: alone, with a
// line number and the line, or as a heading.
var matchLine = lazyregexp.New(`^(?:File: |# |## |- |\./)?((?:[A-Za-z]:)?[\w.@+~/\\-]*[\w@+-](?:\.[\w-]{1,12})?)(?::\d+.*|:\S.*|-\d+-.*|:$)?$`)

// contextLine matches a line around a match, as grep -C prints it.
var contextLine = lazyregexp.New(`^([\w.@+~/\\-]+?\.\w{1,12})-\d+-`)

// maxMatchLine is how many bytes of a line are read. The file's name is at its
// start.
const maxMatchLine = 400

// plainFiles holds names of files without an extension.
var plainFiles = map[string]bool{"Makefile": true, "Dockerfile": true, "CODEOWNERS": true, "LICENSE": true, "Jenkinsfile": true, "Procfile": true, "Gemfile": true, "Rakefile": true, "Justfile": true, "justfile": true, "Vagrantfile": true, "BUILD": true, "OWNERS": true}

// sourceExtensions distinguish a file's name from a call in a line of code.
var sourceExtensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`go py pyi js jsx ts tsx mjs cjs rs java kt kts rb php c h cc cpp hpp cs fs swift scala clj ex exs erl hs ml lua
		r jl dart vue svelte md mdx rst txt adoc json yaml yml toml xml html css scss less sql sh bash ps1 proto graphql mod sum lock cfg ini conf
		gradle tf csproj sln cmake mk nix zig tmpl tpl ipynb csv`) {
		m["."+e] = true
	}
	return m
}()

// matches returns the first limit files that a search's result names, and the
// number of all.
func matches(output string, limit int) (files []string, count int) {
	seen := map[string]bool{}
	for line := range strings.Lines(shown(output)) {
		line = strings.TrimRight(line, " \r\n\t")
		line = line[:min(len(line), maxMatchLine)]
		m := contextLine.FindStringSubmatch(line)
		if m == nil {
			m = matchLine.FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		name := strings.ReplaceAll(m[1], `\`, "/")
		base := path.Base(name)
		ext := path.Ext(base)
		inFolder := strings.Contains(name, "/")
		isFile := plainFiles[base] || sourceExtensions[ext] && ext != base || inFolder && (ext == base || ext != "" && ext == strings.ToLower(ext))
		if !isFile || seen[name] || strings.HasSuffix(name, "/") {
			continue
		}
		seen[name] = true
		if count++; len(files) < limit {
			files = append(files, name)
		}
	}
	return files, count
}

// Bounds of what is ingested from one session.
const (
	MaxIngested     = 100
	minIngested     = 40 // characters; a shorter output is an acknowledgement
	ingestChars     = 4000
	echoWords       = 8   // length of the word sequences that are compared between an injected text and an output
	echoShare       = 0.5 // share of an output's words from which on it is an echo
	ingestImportant = 0.2 // importance of an ingested output
)

// Ingest returns the outputs of a session's calls as claims, at most MaxIngested,
// the latest first. Each is cut to chars characters (0 means 4,000), keeping its
// beginning and end. It runs only if enabled by the user.
//
// Every claim has external trust, whatever the tool, since the author of an output
// is unknown. Secrets and reasoning are removed. The key is derived from the
// content, so that equal outputs are one claim. Failures and acknowledgements are
// left out. So are outputs half of which was injected into this session: what Ken
// said is not learned again.
func Ingest(tr *session.Transcript, t Tools, chars int) []ken.Claim {
	chars = cmp.Or(max(chars, 0), ingestChars)
	var said [][]string
	for _, in := range tr.Injected {
		said = append(said, words(in.Text))
	}
	heard := shingles(said)
	calls := Calls(tr, t)
	var out []ken.Claim
	seen := map[string]bool{}
	for i := len(calls) - 1; i >= 0 && len(out) < MaxIngested; i-- {
		c := &calls[i]
		if c.Failed || c.Role == Write || c.Role == Delete || c.Role == Move || slices.ContainsFunc(c.Paths, isSensitive) {
			continue
		}
		text := strings.TrimSpace(clean.Text(shown(c.Output)))
		if utf8.RuneCountInString(text) < minIngested || echoes(text, heard) {
			continue
		}
		text = middleCut(text, chars)
		sum := sha256.Sum256([]byte(text))
		key := "ingest:" + hex.EncodeToString(sum[:16]) + within(tr.Info)
		if seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, ingested(c, tr.Info, key, text))
	}
	return out
}

func ingested(c *Call, info session.Info, key, text string) ken.Claim {
	f := of(c, Observation, about(c), text, 0)
	e := ken.FromToolResult(c.ID, c.Name+": "+f.Entity)
	if e.ToolCallID == "" {
		e.ToolCallID = f.messageID()
	}
	e.SessionID, e.MessageID, e.FetchedAt, e.Trust = info.ID, f.messageID(), c.At, ken.TrustExternal
	cl := ken.Claim{
		Key: key, Kind: ken.KindFinding, Heading: clip(c.Name+" "+f.Entity, 120), Text: text, Domain: "ingest", Tags: []string{"ingest"},
		Status: ken.StatusObserved, Confidence: Confidence, Importance: ingestImportant, Evidence: []ken.Evidence{e},
		Scope: info.Scope, Project: info.Project, Session: info.ID, Branch: info.Branch, Actor: ken.Actor{Type: "tool", ID: c.Name},
		Source: info.ID, SourceType: "tool:" + c.Name, CreatedAt: c.At,
	}
	if f.Entity != "" {
		cl.Entities = []string{f.Entity}
	}
	return cl
}

// about returns what a call was about.
func about(c *Call) string {
	switch {
	case len(c.Paths) > 0:
		return c.Paths[0]
	case c.Pattern != "":
		return clip(c.Pattern, 100)
	case c.Command != "":
		return clip(oneLine(clean.Text(c.Command)), 100)
	}
	return c.Address
}

// middleCut shortens a text to chars characters by cutting its middle.
func middleCut(s string, chars int) string {
	r := []rune(s)
	if len(r) <= chars {
		return s
	}
	const gap = "\n…\n"
	keep := max(chars-utf8.RuneCountInString(gap), 2)
	head := keep * 2 / 3
	return string(r[:head]) + gap + string(r[len(r)-(keep-head):])
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// shingles returns the sequences of echoWords words in several texts. A shorter
// text is one sequence.
func shingles(texts [][]string) map[string]bool {
	m := map[string]bool{}
	for _, w := range texts {
		if len(w) == 0 {
			continue
		}
		n := min(echoWords, len(w))
		for i := 0; i+n <= len(w); i++ {
			m[strings.Join(w[i:i+n], " ")] = true
		}
	}
	return m
}

// echoes reports whether at least half of a text's words are in sequences of
// heard. A text shorter than a sequence must be one of them.
func echoes(text string, heard map[string]bool) bool {
	w := words(text)
	if len(heard) == 0 || len(w) == 0 {
		return false
	}
	if len(w) < echoWords {
		return heard[strings.Join(w, " ")]
	}
	covered := 0
	until := 0
	for i := 0; i+echoWords <= len(w); i++ {
		if heard[strings.Join(w[i:i+echoWords], " ")] {
			covered += i + echoWords - max(i, until)
			until = i + echoWords
		}
	}
	return float64(covered) >= echoShare*float64(len(w))
}
