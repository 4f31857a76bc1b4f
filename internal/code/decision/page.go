package decision

import (
	"strings"
	"sync"
	"time"
)

// page is one Markdown file in a folder of decisions. It is never changed.
type page struct {
	doc     *document
	size    int64
	modTime time.Time
	readAt  time.Time
	words   func() words    // of the record, for Search: counted when they are asked for first
	targets func() []Target // of the record, likewise
}

func pageOf(d *document) *page {
	return &page{doc: d, words: sync.OnceValue(func() words { return wordsOf(d.Record) }), targets: sync.OnceValue(func() []Target { return Targets(d.Record) })}
}

// notRecords are names of pages that speak of the records.
var notRecords = map[string]bool{"readme": true, "index": true, "template": true, "adr-template": true, "_template": true, "toc": true, "contributing": true}

// isRecord reports whether a page is a record: it has a number, or an id, or a status and
// a decision. A page of another purpose in the same folder is none.
func (p *page) isRecord() bool {
	d := p.doc
	name := strings.ToLower(stem(d.Path))
	said := d.StatusText.Found() && (d.Decision.Found() || d.Context.Found())
	if notRecords[name] || strings.Contains(name, "template") && (d.Number <= 0 || d.Status == Unknown) {
		return false
	}
	if d.Number >= 1900 && d.Number < 2100 && !said && !d.Decision.Found() { // a year: "2024-roadmap.md"
		return false
	}
	return d.Number >= 0 || d.id().Found() || said
}
