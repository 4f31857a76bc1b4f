package scip

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// languages maps names of languages in SCIP to those of codegraph.
var languages = map[string]string{
	"TypeScript": "typescript", "TypeScriptReact": "typescript", "typescript": "typescript", "JavaScript": "javascript", "JavaScriptReact": "javascript",
	"javascript": "javascript", "Python": "python", "python": "python", "Java": "java", "java": "java", "CSharp": "csharp", "C#": "csharp", "Rust": "rust",
	"rust": "rust", "Go": "go", "go": "go", "C": "c", "c": "c", "CPP": "cpp", "cpp": "cpp", "Kotlin": "kotlin", "Scala": "scala", "Ruby": "ruby",
}

var extensions = map[string]string{
	".ts": "typescript", ".tsx": "typescript", ".mts": "typescript", ".cts": "typescript", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
	".cjs": "javascript", ".py": "python", ".pyi": "python", ".java": "java", ".cs": "csharp", ".rs": "rust", ".go": "go", ".c": "c", ".h": "cpp", ".cc": "cpp",
	".cpp": "cpp", ".hpp": "cpp", ".kt": "kotlin", ".scala": "scala", ".rb": "ruby",
}

func byExtension(p string) string { return extensions[path.Ext(p)] }

// Kinds of symbols that are more precise than the suffix, by their numbers in SCIP.
var (
	interfaces = set(21, 42, 53, 56)            // Interface, Protocol, Trait, TypeClass
	properties = set(4, 12, 15, 41, 77, 79, 81) // Attribute, EnumMember, Field, Property, StaticDataMember, StaticField, StaticProperty
	accessors  = set(18, 45, 72)                // Getter, Setter, Accessor; their suffix is that of methods
)

func set(numbers ...uint64) map[uint64]bool {
	m := map[uint64]bool{}
	for _, n := range numbers {
		m[n] = true
	}
	return m
}

// packaged are the languages whose namespaces are packages.
var packaged = map[string]bool{"go": true, "java": true, "python": true, "rust": true, "kotlin": true, "scala": true}

// kindOf returns the kind of a symbol's node; "" for a symbol without one. before is the word before its name in the
// source.
func kindOf(s symbol, kind uint64, language, before string) codegraph.Kind {
	n := len(s.descriptors)
	member := false
	for _, d := range s.descriptors[:n-1] {
		switch d.suffix {
		case method, parameter:
			return "" // within a function
		case meta: // a type without a name
		default:
			member = d.suffix == typeName
		}
	}
	switch s.descriptors[n-1].suffix {
	case namespace:
		if packaged[language] {
			return codegraph.KindPackage
		}
		return codegraph.KindNamespace
	case typeName:
		if interfaces[kind] || before == "interface" || before == "trait" || before == "protocol" {
			return codegraph.KindInterface
		}
		return codegraph.KindType
	case method:
		if member {
			return codegraph.KindMethod
		}
		return codegraph.KindFunction
	case macro:
		return codegraph.KindFunction
	case term:
		if member || properties[kind] || accessors[kind] {
			return codegraph.KindProperty
		}
		return codegraph.KindVariable
	}
	return ""
}

// qualified returns the qualified name of a symbol. In languages where the file is the unit of scope, the path comes
// first; in others, the namespaces.
func qualified(s symbol, file, language string) string {
	var spaces, names []string
	for i, d := range s.descriptors {
		if d.suffix == namespace && len(names) == 0 {
			spaces = append(spaces, d.name)
		} else if n := sourceName(d.name); n != "" && (d.suffix != meta || i == len(s.descriptors)-1) {
			names = append(names, n)
		}
	}
	switch language {
	case "go":
		spaces = []string{strings.Join(spaces, "/")}
	case "c", "cpp":
		spaces = append([]string{strings.TrimSuffix(file, path.Ext(file))}, spaces...)
	case "typescript", "javascript": // the file is among the namespaces
		after := slices.Index(spaces, path.Base(file)) + 1
		spaces = append([]string{strings.TrimSuffix(file, path.Ext(file))}, spaces[after:]...)
	}
	return strings.TrimPrefix(strings.Join(append(spaces, names...), "."), ".")
}
