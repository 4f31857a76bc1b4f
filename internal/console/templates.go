package console

import (
	"embed"
	"fmt"
	"html/template"
	"sync"
)

//go:embed pages/*.html parts/*.html
var files embed.FS

// templates are parsed when they are first asked for: a process that serves no page
// pays nothing for them.
var templates = library{pages: map[string]*template.Template{}}

// library is safe for concurrent use.
type library struct {
	mu    sync.Mutex
	parts *template.Template // the frame and what pages share
	pages map[string]*template.Template
}

// page returns the template of a page, with the frame and the parts around it.
func (l *library) page(name string) (*template.Template, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.pages[name]; t != nil {
		return t, nil
	}
	if l.parts == nil {
		parts, err := template.New("parts").Funcs(funcs).ParseFS(files, "parts/*.html")
		if err != nil {
			return nil, fmt.Errorf("parse the parts of pages: %w", err)
		}
		l.parts = parts
	}
	t, err := l.parts.Clone()
	if err == nil {
		t, err = t.ParseFS(files, "pages/"+name+".html")
	}
	if err != nil {
		return nil, fmt.Errorf("parse page %s: %w", name, err)
	}
	l.pages[name] = t
	return t, nil
}
