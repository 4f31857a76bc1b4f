package repository_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/code/repository"
)

// printer is a sink that prints its arguments and stores nothing.
type printer struct{}

func (printer) DocumentHashes(context.Context) (map[string]repository.Known, error) {
	return nil, nil
}

func (printer) PutDocuments(_ context.Context, docs []repository.Document) error {
	for _, d := range docs {
		for _, c := range d.Chunks {
			fmt.Printf("%s (%s) %v\n", c.Heading, c.Source, c.Entities)
		}
	}
	return nil
}

func (printer) TouchDocuments(context.Context, map[string]repository.Known) error { return nil }

func (printer) RemoveDocuments(context.Context, []string) error { return nil }

func ExampleIndex() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"README.md":  "# Breaker\n\nStops calling what does not answer, and tries again later.\n\n## Install\n\nRun go get, and then import it like any other package that you use.\n",
		"breaker.go": "// Package breaker stops calling what does not answer.\npackage breaker\n\n// Breaker guards one dependency.\ntype Breaker struct{ open bool }\n\n// Do calls f unless the breaker is open.\nfunc (b *Breaker) Do(f func() error) error { return f() }\n",
		".env":       "TOKEN=x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	report, err := repository.Index(context.Background(), dir, printer{}, repository.Options{NoHistory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d files, %d chunks, withheld %v\n", report.Files, report.Chunks, report.Withheld)
	// Output:
	// README.md › Breaker (README.md:1) []
	// README.md › Breaker › Install (README.md:5) []
	// breaker.go › package breaker (breaker.go:1) []
	// breaker.go › type Breaker (breaker.go:4) [Breaker]
	// breaker.go › func (b *Breaker) Do (breaker.go:7) [Breaker.Do Do]
	// 2 files, 5 chunks, withheld [{.env 0 file name}]
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"main.go": "package main\n", "api.pb.go": "package main\n", "notes.tmp": "x", ".gitignore": "*.tmp\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	tree, err := repository.Files(context.Background(), dir, repository.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tree.Close()
	for _, f := range tree.Files {
		fmt.Printf("%s %q\n", f.Path, f.Skip)
	}
	content, err := tree.Read("main.go", 7)
	fmt.Println(string(content.Bytes), content.Size, err)
	// Output:
	// .gitignore ""
	// api.pb.go "generated"
	// main.go ""
	// package 13 <nil>
}
