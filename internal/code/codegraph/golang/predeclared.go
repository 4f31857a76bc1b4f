package golang

// predeclared are the names of the language's own scope.
var predeclared = set("any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64",
	"int", "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
	"true", "false", "iota", "nil",
	"append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new", "panic",
	"print", "println", "real", "recover")

// late came to the language late, so that packages have their own of that name. A use
// is taken for the package's; where it has none, it leads nowhere.
var late = set("clear", "max", "min")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
