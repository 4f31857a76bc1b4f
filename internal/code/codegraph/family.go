package codegraph

import (
	"slices"
	"strings"
)

// families are languages whose files use each other's names.
var families = map[string]string{
	"typescript": "javascript", "tsx": "javascript", "jsx": "javascript", "vue": "javascript", "svelte": "javascript",
	"c": "c", "cpp": "c", "c++": "c", "objective-c": "c", "kotlin": "java", "scala": "java", "groovy": "java", "c#": "csharp",
}

// family returns the number of a language's family.
func (g *Graph) family(language string) uint8 {
	f := strings.ToLower(language)
	if of, ok := families[f]; ok {
		f = of
	}
	if i := slices.Index(g.fams, f); i >= 0 {
		return uint8(i)
	}
	if len(g.fams) == 255 {
		return 0
	}
	g.fams = append(g.fams, strings.Clone(f))
	return uint8(len(g.fams) - 1)
}

// moduleFiles is, by family, what may stand behind the name of a file that is imported
// without its extension, or with that of the language it is compiled to.
var moduleFiles = map[string][]string{
	"javascript": {".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte",
		"/index.ts", "/index.tsx", "/index.d.ts", "/index.js", "/index.jsx", "/index.mjs"},
	"python": {".py", ".pyi", "/__init__.py"},
	"rust":   {".rs", "/mod.rs", "/lib.rs"},
	"c":      {".h", ".hpp", ".hh", ".hxx"},
}

// compiled are extensions that an import may have although the file has another.
var compiled = []string{".js", ".jsx", ".mjs", ".cjs"}
