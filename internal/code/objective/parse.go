package objective

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/projectfile"
)

// document is an objective with the positions of its parts in the file.
type document struct {
	Objective
	src      []byte
	fields   []plainyaml.Field
	problems []Problem // if there are any, the file is not written
}

// Parse parses the YAML of an objective. path is the file's path from the root, with slashes. What can't be read
// becomes a Problem; the rest is still returned. Parse depends only on its arguments, is safe for concurrent use, and
// does not panic on any input.
func Parse(path string, src []byte) (Objective, []Problem) {
	d := parse(path, src)
	return d.Objective, d.problems
}

func (d *document) problem(line int, text, try string) {
	d.problems = append(d.problems, Problem{d.Path, line, text, try})
}

func parse(p string, src []byte) *document {
	d := &document{Objective: Objective{Path: p, Hash: projectfile.Hash(src), ID: idOf(p)}, src: src}
	text := string(src)
	switch {
	case len(src) > maxFile:
		d.problem(0, fmt.Sprintf("%d bytes; at most %d are read", len(src), maxFile), "Keep long texts in files of their own, and link to them.")
		return d
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")), bytes.IndexByte(src, 0) >= 0, !utf8.Valid(src):
		d.problem(0, "not UTF-8", "Save it as UTF-8.")
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if at := strings.IndexByte(text, '\r'); at >= 0 {
		d.problem(1+strings.Count(text[:at], "\n"), "a carriage return without a line feed", "Save it with the line ends of Unix or Windows.")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	n, faults := plainyaml.Parse(text, maxFile)
	for _, f := range faults {
		d.problem(f.Line, f.Text, f.Try)
	}
	d.fields = n.Fields
	for _, f := range n.Fields {
		d.field(f)
	}
	d.check()
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return d
}

// foldKey maps the spellings of a key to one: "CompletedTasks" and "completed_tasks" are the same.
func foldKey(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// keyMeanings maps folded keys to their meanings.
var keyMeanings = map[string]string{
	"id": "id", "title": "title", "name": "title", "goal": "title", "description": "description", "status": "status", "state": "status",
	"owner": "owner", "tags": "tags", "created": "created", "createdat": "created", "updated": "updated", "updatedat": "updated", "links": "links",
	"decisions": "decisions", "sessions": "sessions", "tasks": "tasks", "completed": "completed", "completedtasks": "completed", "donetasks": "completed",
	"remaining": "remaining", "remainingtasks": "remaining", "opentasks": "remaining",
}

func (d *document) field(f plainyaml.Field) {
	v := f.Value
	switch keyMeanings[foldKey(f.Key)] {
	case "id":
		d.id(v)
	case "title":
		d.Title = oneLine(d.text(f.Key, v))
	case "description":
		d.Description = strings.TrimSpace(d.text(f.Key, v))
	case "status":
		d.status(v)
	case "owner":
		d.Owner = oneLine(d.text(f.Key, v))
	case "tags":
		d.Tags = d.names(f.Key, v)
	case "decisions":
		d.Decisions = append(d.Decisions, d.names(f.Key, v)...)
	case "sessions":
		d.Sessions = append(d.Sessions, d.names(f.Key, v)...)
	case "created":
		d.Created = d.time(f.Key, v)
	case "updated":
		d.Updated = d.time(f.Key, v)
	case "links":
		for _, l := range v.Fields {
			if m := keyMeanings[foldKey(l.Key)]; m == "decisions" || m == "sessions" {
				d.field(l)
			}
		}
	case "tasks":
		d.tasks(f.Key, v, false)
	case "completed":
		d.tasks(f.Key, v, true)
	case "remaining":
		d.tasks(f.Key, v, false)
	}
}

func (d *document) id(v plainyaml.Node) {
	switch id := strings.TrimSpace(v.Text); {
	case id == "":
	case d.ID != "" && !strings.EqualFold(id, d.ID):
		d.problem(v.Line, fmt.Sprintf("the id is %q, the file's name says %s", id, d.ID), "Give both the same id.")
	default:
		d.ID = strings.ToUpper(id)
	}
}

// statusWords maps words of other tools to statuses.
var statusWords = map[string]Status{
	"active": Active, "open": Active, "inprogress": Active, "new": Active, "notstarted": Active, "paused": Paused, "onhold": Paused, "blocked": Paused,
	"done": Done, "completed": Done, "complete": Done, "closed": Done, "finished": Done, "abandoned": Abandoned, "cancelled": Abandoned, "canceled": Abandoned, "dropped": Abandoned,
}

func (d *document) status(v plainyaml.Node) {
	s, ok := statusWords[foldKey(v.Text)]
	if !ok {
		d.problem(v.Line, fmt.Sprintf("unknown status %q", v.Text), "Use active, paused, done or abandoned.")
		return
	}
	d.Status = s
}

func (d *document) text(name string, v plainyaml.Node) string {
	if v.Kind == plainyaml.List || v.Kind == plainyaml.Map {
		d.problem(v.Line, name+" is not text", "Write a text after it, in quotes.")
		return ""
	}
	return strings.TrimSpace(v.Text)
}

func (d *document) names(name string, v plainyaml.Node) (out []string) {
	if v.Kind == plainyaml.Map {
		d.problem(v.Line, name+" is not a list", "Write a list such as [a, b].")
	}
	for _, w := range v.Words(",;") {
		out = append(out, oneLine(w.Text))
	}
	return out
}

// timeForms are the accepted formats of times.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}

func (d *document) time(name string, v plainyaml.Node) time.Time {
	text := strings.TrimSpace(v.Text)
	if text == "" && v.Kind != plainyaml.List && v.Kind != plainyaml.Map {
		return time.Time{}
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil && t.Year() > 0 && t.Year() < 10_000 {
			return t.UTC()
		}
	}
	d.problem(v.Line, fmt.Sprintf("%s is not a time: %q", name, text), "Write it as 2026-11-22T09:00:00Z.")
	return time.Time{}
}

func (d *document) tasks(name string, v plainyaml.Node, done bool) {
	if v.Kind == plainyaml.Map || v.Kind == plainyaml.Scalar && strings.TrimSpace(v.Text) != "" {
		d.problem(v.Line, name+" is not a list", "Write a list with one task per item.")
		return
	}
	for _, i := range v.Items {
		if t, ok := d.task(i, done); ok {
			d.Tasks = append(d.Tasks, t)
		}
	}
}

var checkbox = lazyregexp.New(`^\[([ xX])\]\s+`)

func (d *document) task(n plainyaml.Node, done bool) (Task, bool) {
	t := Task{Done: done, Line: n.Line}
	switch n.Kind {
	case plainyaml.Scalar:
		t.Text = oneLine(n.Text)
		if m := checkbox.FindStringSubmatch(t.Text); m != nil {
			t.Text, t.Done = t.Text[len(m[0]):], done || m[1] != " "
		}
	case plainyaml.Map:
		for _, f := range n.Fields {
			switch taskKeys[foldKey(f.Key)] {
			case "text":
				if t.Text == "" {
					t.Text = oneLine(d.text(f.Key, f.Value))
				}
			case "done":
				t.Done = t.Done || d.isDone(f.Value)
			case "done_at":
				t.DoneAt = d.time(f.Key, f.Value)
			case "by":
				t.By = oneLine(d.text(f.Key, f.Value))
			case "claim":
				t.Claim = oneLine(d.text(f.Key, f.Value))
			}
		}
	case plainyaml.Null:
		return t, false
	}
	if t.Text == "" {
		d.problem(n.Line, "a task without a text", "Write \"- text: what is to be done\".")
		return t, false
	}
	return t, true
}

func (d *document) isDone(v plainyaml.Node) bool {
	switch foldKey(v.Text) {
	case "true", "yes", "on", "x", "done", "completed", "complete", "1":
		return true
	case "false", "no", "off", "", "open", "todo", "pending", "remaining", "active", "inprogress", "0":
		return false
	}
	d.problem(v.Line, fmt.Sprintf("done is %q", v.Text), "Write true or false.")
	return false
}

// check reports required fields that are missing.
func (d *document) check() {
	if d.Title == "" && (d.at("title") < 0 || len(d.problems) == 0) && (len(d.fields) > 0 || len(d.problems) == 0) {
		d.problem(0, "no title", "Add a line such as \"title: Ship the new login\".")
	}
	if d.Status == "" && d.at("status") < 0 {
		d.Status = Active
	}
	if len(d.Tasks) > maxTasks {
		d.problem(d.Tasks[maxTasks].Line, fmt.Sprintf("%d tasks; at most %d", len(d.Tasks), maxTasks), "Split it into several objectives.")
	}
}

var fileID = lazyregexp.New(`(?i)^obj-?0*(\d{1,6})$`)

// idOf returns the id in a file's name; "" for none.
func idOf(p string) string {
	if n := numberOf(strings.TrimSuffix(path.Base(p), path.Ext(p))); n > 0 {
		return spellID(n)
	}
	return ""
}

func numberOf(id string) int {
	m := fileID.FindStringSubmatch(strings.TrimSpace(id))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func spellID(n int) string { return fmt.Sprintf("OBJ-%04d", n) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
