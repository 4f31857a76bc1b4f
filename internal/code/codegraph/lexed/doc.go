// Package lexed reads source files of TypeScript, JavaScript, Python, Java, C#, Rust, C
// and C++ for codegraph: what they declare, what they import, and which names they use.
//
// One scanner cuts all of these languages into tokens: it knows comments, strings with
// and without expressions in them, regular expressions, tags, lines for a preprocessor.
// Brackets get their partners, by the layout of the lines where they do not fit together.
// A reader for each family of languages then finds declarations by what they begin
// with, and says which names are a function's own; what is left over are uses. There
// is no grammar and no type checker: a declaration is found by its shape, a use by its
// name. That is why most edges that come of it are guesses.
//
//	set := lexed.New(lexed.Options{Files: paths, Read: read})
//	file := set.Extract("src/cart.ts", content)
//
// # What is declared
//
// What is at the level of a file, of a namespace or of a type, with the members of types;
// not what is inside of functions. A constant that holds a function is a function; the
// fields of records and of constructors that declare them are properties; so is what a
// method of Python assigns to self; enumerators are properties. What CommonJS assigns to
// exports is declared by that name. A value without a name that a file exports is called
// "default". Macros of C count as functions and variables.
//
// A method that is defined apart from its type (impl blocks, "void Cart::add()") has the
// type as its Parent where the same file declares it. Members made by macros, decorators
// or a preprocessor's concatenation are not seen.
//
// # What is used
//
// Calls, types in headings and signatures, and bare names that the file declares or
// imports, each once a declaration and kind. A name that the function around declares for
// itself is no use, nor is one in a string or a comment, nor one of a library that comes
// with the language. A test uses (Tests) what it is named after, if it uses that at all.
//
// # Where names come from
//
// Qualified names are as package codegraph has them: the dotted package in Java, the
// namespace in C#, the module in Python and Rust (the file's own, crate first), and
// else the path of the file without its extension. File.Scopes holds what is imported
// whole: packages with a star, modules whose default value is used under a name of the
// file's own, what a file hands on ("export * from"), included headers.
package lexed
