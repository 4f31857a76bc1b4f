// Package lexed reads source files of TypeScript, JavaScript, Python, Java, C#, Rust, C and C++ for codegraph. It finds
// what they declare, what they import, and which names they use.
//
// One scanner splits all of these languages into tokens. It handles comments, strings with and without embedded
// expressions, regular expressions, JSX tags, and preprocessor lines. Then brackets are paired; if they don't match,
// the layout of the lines decides. A reader for each family of languages finds declarations by their first words and
// records the local names of functions. All other names are uses. There is no grammar and no type checker: a
// declaration is recognized by its shape and a use by its name. That is why most of the resulting edges are guesses.
//
//	set := lexed.New(lexed.Options{Files: paths, Read: read})
//	file := set.Extract("src/cart.ts", content)
//
// # What is declared
//
// Declarations at the level of a file, a namespace or a type, and the members of types, but not declarations inside
// functions, except for classes of Python, JavaScript and TypeScript inside a function that is declared itself. The name
// of that function qualifies theirs, unless it has none ("default"). A class without a name that a function gives back
// has the function's name. A constant that holds a function is a function. Properties are the fields of records, the fields that
// constructors declare, attributes that a method of Python assigns to self, and enumerators. What CommonJS assigns to
// exports is declared under that name. An exported value without a name is called "default". Macros of C are functions
// and variables.
//
// A method defined apart from its type (impl blocks, "void Cart::add()") has the type as its Parent if the same file
// declares the type. Members created by macros, decorators or token pasting are not found.
//
// # What is used
//
// Calls, types in headings and signatures, and bare names that the file declares or imports, each once per declaration
// and kind. Names that are local to the enclosing function are not uses, and neither are names in strings and comments
// or names of the language's own library. A test uses (Tests) what it is named after, if it uses that at all.
//
// # Where names come from
//
// Qualified names follow package codegraph: the dotted package in Java, the namespace in C#, the module in Python and
// Rust (starting with the crate), and otherwise the path of the file without its extension. File.Scopes holds what is
// imported as a whole: packages imported with a star, modules whose default export has a local name, modules that the
// file re-exports ("export * from"), and included headers.
package lexed
