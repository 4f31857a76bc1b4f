package rules

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/config"
)

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	quoted = regexp.MustCompile("`([^`\n]+)`")
	link   = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`) // not to the web, nor within the page

	symbol = regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*)(?:\.(\w+))?(?:\(.*\))?$`)
	file   = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+\.(go|md|ya?ml)$`)
	proof  = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	dotted = regexp.MustCompile(`^([a-z]+)(\.[a-z_0-9]+)+$`)
)

// documentsNameWhatExists checks backquoted text in documents: symbols of the project's packages, tests, keys of the
// configuration, and paths of files. It also checks links between documents. It ignores code blocks.
func documentsNameWhatExists(tr *tree) (faults []string) {
	declared := declarations(tr)
	for _, doc := range slices.Sorted(maps.Keys(tr.docs)) {
		text := fenced.ReplaceAllString(tr.docs[doc], "")
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if fault := missing(tr, declared, m[1]); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: `%s`: %s", doc, m[1], fault))
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if target := path.Join(path.Dir(doc), m[1]); !tr.paths[target] {
				faults = append(faults, fmt.Sprintf("%s: link to %s, which does not exist", doc, m[1]))
			}
		}
	}
	return faults
}

func missing(tr *tree, declared map[string]map[string]bool, s string) string {
	if m := symbol.FindStringSubmatch(s); m != nil {
		names, ours := declared[m[1]]
		if ours && (!names[m[2]] || m[3] != "" && !names[m[2]+"."+m[3]]) {
			return "no such symbol"
		}
		return ""
	}
	if proof.MatchString(s) {
		if !declared[proofs][s] {
			return "no such test"
		}
		return ""
	}
	if file.MatchString(s) {
		folder, _, _ := strings.Cut(s, "/")
		if tr.paths[folder] && !tr.paths[s] {
			return "no such file"
		}
		return ""
	}
	if m := dotted.FindStringSubmatch(s); m != nil {
		switch path.Ext(s) {
		case ".go", ".md", ".yaml", ".mod":
			return ""
		}
		keys := config.Keys()
		section := func(of string) func(string) bool {
			return func(k string) bool { return strings.HasPrefix(k, of+".") }
		}
		if slices.ContainsFunc(keys, section(m[1])) && !slices.Contains(keys, s) && !slices.ContainsFunc(keys, section(s)) {
			return "no such key in the configuration"
		}
	}
	return ""
}

// proofs is the key under which declarations stores the functions of all tests.
const proofs = "_test"

// declarations returns what each package declares: F and T, and T.M for the methods and fields of T.
func declarations(tr *tree) map[string]map[string]bool {
	all := map[string]map[string]bool{proofs: {}}
	for _, f := range tr.files {
		if f.test {
			for _, decl := range f.ast.Decls {
				declare(all[proofs], decl)
			}
			continue
		}
		if f.ast.Name.Name == "main" {
			continue
		}
		names := all[f.ast.Name.Name]
		if names == nil {
			names = map[string]bool{}
			all[f.ast.Name.Name] = names
		}
		for _, decl := range f.ast.Decls {
			declare(names, decl)
		}
	}
	return all
}

func declare(names map[string]bool, decl ast.Decl) {
	if d, ok := decl.(*ast.FuncDecl); ok {
		if d.Recv != nil {
			names[receiver(d)+"."+d.Name.Name] = true
		} else {
			names[d.Name.Name] = true
		}
		return
	}
	for _, spec := range decl.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names[n.Name] = true
			}
		case *ast.TypeSpec:
			names[s.Name.Name] = true
			var members *ast.FieldList
			switch t := s.Type.(type) {
			case *ast.StructType:
				members = t.Fields
			case *ast.InterfaceType:
				members = t.Methods
			}
			if members == nil {
				continue
			}
			for _, m := range members.List {
				for _, n := range m.Names {
					names[s.Name.Name+"."+n.Name] = true
				}
			}
		}
	}
}
