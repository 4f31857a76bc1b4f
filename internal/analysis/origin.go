package analysis

import (
	"path"
	"slices"
	"strings"
)

// Origin is the kind of file that a record comes from.
type Origin uint8

// Origins.
const (
	OriginNone      Origin = iota // no file: something that was said or learned
	OriginCode                    // source code
	OriginDocument                // documentation
	OriginTest                    // tests
	OriginExample                 // examples
	OriginChangelog               // changes by release
	OriginCommit                  // changes by commit
	OriginSettings                // build files and configuration

	Origins = iota // number of origins
)

// From returns the form with an origin.
func (f Form) From(o Origin) Form {
	f.Traits = f.Traits&(1<<originShift-1) | Traits(o)<<originShift
	return f
}

// Origin returns the origin of the record.
func (t Traits) Origin() Origin { return Origin(t >> originShift) }

// FileForm returns the form of a piece of a file; for any other record it is FormOf of its text.
// The wording of code is not relevant; its form only says whether it declares something.
func FileForm(sourceType, source, text string) Form {
	f, origin := FormOf(text), OriginOf(sourceType, source)
	if origin == OriginCode && strings.HasSuffix(SourcePath(source), ".rs") && testsRust(text) {
		origin = OriginTest
	}
	if origin == OriginCode {
		f.Speaker, f.Traits = 0, 0
		name := strings.ToLower(SourcePath(source))
		if onlyDeclares(name, text) {
			f.Traits = declares
		}
		if hasSuffix(name, stubEnds) {
			f.Traits |= stub
		}
	}
	return f.From(origin)
}

// testsRust reports whether a piece of Rust is a test. Rust has tests beside the code, in the same file.
func testsRust(text string) bool {
	within := false // the next line is what is only for tests
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		switch {
		case within && strings.HasPrefix(l, "mod ") && strings.HasSuffix(l, "{"), strings.HasPrefix(l, "#[test]"), strings.HasPrefix(l, "#[rstest"),
			strings.HasPrefix(l, "#[") && strings.Contains(l, "::test"):
			return true
		}
		within = strings.HasPrefix(l, "#[cfg(test)]")
	}
	return false
}

// In the traits of a piece of code, these replace properties of what people say.
const (
	declares = Asks
	stub     = Dated
)

// Declares reports whether a piece of code only declares something and does nothing: a type
// without methods, a constant, a file of declarations.
func (t Traits) Declares() bool { return t.Origin() == OriginCode && t&declares != 0 }

// Stub reports whether a piece is from a file that declares what another file does, such as
// index.d.ts for index.js.
func (t Traits) Stub() bool { return t.Origin() == OriginCode && t&stub != 0 }

var (
	stubEnds        = []string{".d.ts", ".d.cts", ".d.mts", ".pyi"}
	declarationEnds = []string{".d.ts", ".d.cts", ".d.mts", ".pyi", ".proto", ".thrift", ".graphql"}
	declarationMods = Set("export declare default public private protected internal abstract pub static final sealed")
	typeWords       = Set("type interface enum struct trait protocol typedef union")
	goWords         = Set("type var const")
)

func hasSuffix(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

func onlyDeclares(name, text string) bool {
	if hasSuffix(name, declarationEnds) {
		return true
	}
	words := typeWords
	if strings.HasSuffix(name, ".go") {
		words = goWords
	}
	inComment := false
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		switch {
		case inComment, strings.HasPrefix(l, "/*"):
			inComment = !strings.Contains(l, "*/")
			continue
		case l == "", strings.HasPrefix(l, "//"), strings.HasPrefix(l, "#"), strings.HasPrefix(l, "@"):
			continue
		}
		for w := range strings.FieldsSeq(l) {
			if !declarationMods[w] {
				return words[w]
			}
		}
	}
	return false
}

// OriginOf returns the origin of a record by its source, which is "path:line" for a file of the
// repository, and the source's type.
func OriginOf(sourceType, source string) Origin {
	switch sourceType {
	case "git":
		return OriginCommit
	case "repository":
		return fileOrigin(strings.ToLower(SourcePath(source)))
	}
	return OriginNone
}

// HeadingSeparator separates the titles in the heading of a piece of a file. The first title is
// the file's path.
const HeadingSeparator = " › "

// SourcePath returns the path of a source "path:line", and any other source unchanged.
func SourcePath(source string) string {
	if at := strings.LastIndexByte(source, ':'); at > 0 {
		return source[:at]
	}
	return source
}

var (
	testFolders    = Set("test tests __tests__ spec specs testdata e2e fixtures __fixtures__ __mocks__ mocks bench benches benchmark benchmarks testing_data")
	testEnds       = []string{"_test", ".test", ".spec", "_spec", "-test", ".bench", "_bench", "test-d"}
	exampleFolders = Set("example examples _example _examples demo demos sample samples playground playgrounds tutorial tutorials")
	historyFolders = Set("changelog changelogs changes .changeset history releases release-notes release_notes whatsnew")
	historyNames   = Set("changelog changes history news releases release_notes release-notes releasenotes whatsnew upgrading migration migrating")
	documentEnds   = Set(".md .markdown .mdx .rst .adoc .asciidoc .org .tex .textile .txt .html .htm")
	settingsEnds   = Set(".json .yaml .yml .toml .ini .cfg .conf .xml .properties .lock .mod .sum .gradle .cmake .css .scss .less .tf")
	settingsNames  = Set("makefile dockerfile jenkinsfile procfile rakefile gemfile vagrantfile gruntfile.js gulpfile.js setup.py noxfile.py")
)

func fileOrigin(name string) Origin {
	folder, base := path.Split(name)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	document := documentEnds[ext] || ext == ""
	if document && (historyNames[stem] || strings.HasPrefix(stem, "changelog") || strings.HasPrefix(stem, "release-notes") || strings.HasPrefix(stem, "whatsnew")) {
		return OriginChangelog
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(folder, "/"), "/") {
		switch {
		case testFolders[part]:
			return OriginTest
		case exampleFolders[part]:
			return OriginExample
		case historyFolders[part] && document:
			return OriginChangelog
		}
	}
	switch {
	case hasSuffix(stem, testEnds), strings.HasPrefix(base, "test_"), stem == "conftest", stem == "test" && ext != "":
		return OriginTest
	case documentEnds[ext], ext == "" && !settingsNames[base]:
		return OriginDocument
	case settingsEnds[ext], settingsNames[base], strings.HasPrefix(base, "."), strings.HasPrefix(name, ".github/"), strings.HasPrefix(name, ".circleci/"):
		return OriginSettings
	}
	return OriginCode
}
