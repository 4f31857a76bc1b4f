// Package drift compares the imports of a project's files with its architecture. A manifest lists layers, their paths,
// and the layers on which each may depend.
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
// A path starts at the root and names a file, or a folder with everything below it; "." is everything. An element may
// have wildcards: * and ? within the element, ** for any number of elements. Brackets are ordinary characters. A file
// belongs to the layer whose path has the most elements (** not counted), then to the one with the most bytes other
// than wildcards, and then to the one that comes first.
//
// A layer may depend on itself and on the layers in its list; "*" in the list means every layer. The relation is not
// transitive: if a may depend on b and b on c, a may not depend on c. Layers that may depend on each other are a
// Warning, not an error.
//
// Files in no layer may import and be imported, and are counted. With strict, each of them is a violation. With "tests:
// false", files that contain tests are not checked: tests often use parts that the tested code itself must not import.
// They still belong to their layers, so other files may not import them against the rules.
//
// # The layer of an import
//
// An import is an edge of the code graph that leads to something in the repository. A file, a package of one folder or
// a declaration is in one layer. A namespace may be in several: then the layers are those of the files that declare
// what the importing file uses of it. If the uses are not known, it is the layer with most of its files; a tie is
// decided by the first file's path. Each Violation says whether this choice, or the edge, was a guess.
//
// # Baseline
//
// Violations that exist when a team starts to use the check go into a baseline file. They are counted, but only others
// fail. A violation is identified by its rule, the file and the import, not by its line or the names of layers. Record
// stores violations as claims.
//
// All functions are safe for concurrent use and do not change their arguments.
package drift
