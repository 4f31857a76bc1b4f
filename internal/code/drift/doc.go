// Package drift compares what a project's files import with what its architecture
// permits: a manifest names layers, where they lie, and which others each may depend on.
//
//	layers:
//	  - name: core
//	    paths: [src/core/]
//	    may_depend_on: []
//	  - name: web
//	    paths: [src/web/, "apps/*/pages/"]
//	    may_depend_on: [core]
//	tests: false
//	strict: false
//
// Keys may be written in any case: MayDependOn is may_depend_on.
//
// # Layers
//
// A path is one from the root, of a file or of a folder with all that is in it; "." is
// everything. A part of it may have wildcards: * and ? within the part, ** for any number
// of parts; brackets are letters like others. A file belongs to the layer whose path
// has the most parts (** not counted), of those to that with the most letters beside
// wildcards, and then to the one that stands first.
//
// A layer may depend on itself and on what its list names, or on every layer when that is
// "*"; that a may depend on b and b on c does not let a depend on c. Layers that may
// depend on each other are no error, but a Warning.
//
// What is in no layer may import and be imported, and is counted; with strict, each such
// file is a violation. With "tests: false" files that hold tests are not looked at:
// tests often build what they test from parts that the code itself must not know. They
// still belong to their layers, so that no code may import theirs.
//
// # What an import leads to
//
// An import is an edge of the code graph, as far as it leads to something in the
// repository. A file, a package of one folder or a declaration lies in one layer. A
// namespace may lie in several: then those layers count whose files declare what the
// importing file uses of it, and where nothing is known to be used, the one that has
// most of its files; of two with as many, the one of the first file by path. Each Violation
// says whether that, or the edge, was a guess.
//
// # Baseline
//
// Violations that were there when a team began to look go into a baseline file: they are
// counted, and only others fail. A violation is known by its rule, the file and what it
// imports, not by its line or the names of layers. Record writes violations as claims.
//
// All functions are safe for concurrent use, and none changes what it is given.
package drift
