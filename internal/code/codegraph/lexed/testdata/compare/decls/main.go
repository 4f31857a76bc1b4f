// Command decls prints what package lexed finds in files, one JSON object a declaration,
// for the comparison with a parser.
//
//	go run ./codegraph/lexed/testdata/compare/decls ROOT [-uses] > ours.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
)

func main() {
	uses := flag.Bool("uses", false, "print whole files")
	flag.Parse()
	root := flag.Arg(0)
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start := time.Now()
	read := func(p string) ([]byte, error) { return os.ReadFile(filepath.Join(root, filepath.FromSlash(p))) }
	set := lexed.New(lexed.Options{Files: files, Read: read})
	made := time.Since(start)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	enc := json.NewEncoder(out)
	var spent time.Duration
	lines, bytes, decls, used, problems := 0, 0, 0, 0, 0
	for _, p := range files {
		if lexed.Language(p) == "" {
			continue
		}
		src, err := read(p)
		if err != nil {
			continue
		}
		start := time.Now()
		f := set.Extract(p, src)
		took := time.Since(start)
		spent += took
		if took > 200*time.Millisecond {
			fmt.Fprintf(os.Stderr, "slow: %s %v %d bytes\n", p, took, len(src))
		}
		lines += strings.Count(string(src), "\n")
		bytes += len(src)
		decls += len(f.Decls)
		used += len(f.Uses)
		for _, pr := range f.Problems {
			problems++
			fmt.Fprintf(os.Stderr, "%s:%d: %s\n", p, pr.Line, pr.Text)
		}
		if *uses {
			enc.SetIndent("", " ")
			_ = enc.Encode(f)
			continue
		}
		for _, d := range f.Decls {
			if d.Kind == codegraph.KindNamespace && f.Language == "csharp" {
				continue
			}
			parent := ""
			if d.Parent >= 0 {
				parent = f.Decls[d.Parent].Name
				if f.Decls[d.Parent].Kind == codegraph.KindNamespace && f.Language == "csharp" {
					parent = ""
				}
			}
			_ = enc.Encode(map[string]any{"file": p, "kind": d.Kind, "name": d.Name, "parent": parent, "line": d.Line, "end": d.End, "top": d.Parent < 0, "q": strings.TrimPrefix(d.Qualified, strings.TrimPrefix(f.Within, string(codegraph.KindPackage)+":")+".")})
		}
		if len(f.Decls) == 0 {
			_ = enc.Encode(map[string]any{"file": p, "kind": "", "name": "", "parent": "", "line": 0})
		}
	}
	fmt.Fprintf(os.Stderr, "%d lines, %.1f MB, %d declarations, %d uses, %d problems; New %v, Extract %v, %.2f s per 100k lines\n",
		lines, float64(bytes)/1e6, decls, used, problems, made, spent, spent.Seconds()/float64(max(lines, 1))*1e5)
}
