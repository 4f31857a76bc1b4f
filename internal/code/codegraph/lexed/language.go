package lexed

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// family is the languages that one reader reads.
type family uint8

const (
	script family = iota + 1 // JavaScript, TypeScript
	python
	java
	csharp
	rust
	cfamily
)

// language is what is peculiar to one.
type language struct {
	name       string
	family     family
	types      bool // TypeScript
	tags       bool // JSX
	plusplus   bool // C++
	directives bool // lines for a preprocessor
	nested     bool // block comments nest
	keywords   map[string]bool
	builtin    map[string]bool // names that come with the language, and are no uses
}

var (
	javascript = &language{name: "javascript", family: script, tags: true, keywords: scriptWords, builtin: scriptBuiltin}
	typescript = &language{name: "typescript", family: script, types: true, keywords: scriptWords, builtin: scriptBuiltin}
	tsx        = &language{name: "typescript", family: script, types: true, tags: true, keywords: scriptWords, builtin: scriptBuiltin}
	pythonLang = &language{name: "python", family: python, keywords: pythonWords, builtin: pythonBuiltin}
	javaLang   = &language{name: "java", family: java, keywords: javaWords, builtin: javaBuiltin}
	csharpLang = &language{name: "csharp", family: csharp, directives: true, keywords: csharpWords, builtin: csharpBuiltin}
	rustLang   = &language{name: "rust", family: rust, nested: true, keywords: rustWords, builtin: rustBuiltin}
	cLang      = &language{name: "c", family: cfamily, directives: true, keywords: cWords, builtin: cBuiltin}
	cppLang    = &language{name: "cpp", family: cfamily, plusplus: true, directives: true, keywords: cppWords, builtin: cBuiltin}
)

var languages = map[string]*language{
	".js": javascript, ".jsx": javascript, ".mjs": javascript, ".cjs": javascript,
	".ts": typescript, ".mts": typescript, ".cts": typescript, ".tsx": tsx,
	".py": pythonLang, ".pyi": pythonLang, ".pyw": pythonLang,
	".java": javaLang,
	".cs":   csharpLang,
	".rs":   rustLang,
	".c":    cLang,
	".h":    cppLang, // or C: see headerLanguage
	".cc":   cppLang, ".cpp": cppLang, ".cxx": cppLang, ".c++": cppLang,
	".hh": cppLang, ".hpp": cppLang, ".hxx": cppLang, ".h++": cppLang, ".ipp": cppLang, ".inl": cppLang, ".tcc": cppLang,
}

// Language names the language of a file by its path, as in File.Language: "typescript",
// "javascript", "python", "java", "csharp", "rust", "c" or "cpp"; empty for a file that
// this package does not read. What a file ending in .h holds is seen from its content;
// by its path alone it counts as "cpp".
func Language(file string) string {
	if l := byPath(file); l != nil {
		return l.name
	}
	return ""
}

func byPath(file string) *language {
	ext := path.Ext(file)
	if l := languages[ext]; l != nil {
		return l
	}
	return languages[strings.ToLower(ext)]
}

// headerLanguage tells a header of C++ from one of C by words that C has not.
func headerLanguage(toks []token, src string) *language {
	for i, t := range toks {
		if t.kind != word {
			if t.op == opPath {
				return cppLang
			}
			continue
		}
		switch src[t.start:t.end] {
		case "namespace", "template", "class", "constexpr", "nullptr", "virtual", "typename", "noexcept":
			return cppLang
		case "public", "private", "protected":
			if i+1 < len(toks) && toks[i+1].op == ':' {
				return cppLang
			}
		}
	}
	return cLang
}

// words makes a set of words that blanks separate.
func words(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			set[w] = true
		}
	}
	return set
}

// Extensions lists the endings of the files that this package reads, in lower case with
// their dot, in order.
func Extensions() []string { return slices.Sorted(maps.Keys(languages)) }
