package repository

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// ownFolders are never entered and never counted.
var ownFolders = map[string]bool{".git": true, ".ken": true, ".hg": true, ".svn": true, ".jj": true}

var vendoredFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "vendor": true, "third_party": true, "thirdparty": true,
	"site-packages": true, ".venv": true, "Pods": true, "Carthage": true,
}

var toolFolders = map[string]bool{
	"__pycache__": true, ".tox": true, ".nox": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".gradle": true, ".terraform": true, ".next": true, ".nuxt": true, ".svelte-kit": true, ".turbo": true,
	".parcel-cache": true, ".cache": true, ".eggs": true, ".dart_tool": true, ".idea": true, ".vs": true, "DerivedData": true,
}

// outputFolders hold build output when one of the named files lies beside them;
// anywhere else the name may be a package's own.
var outputFolders = map[string][]string{
	"dist":     {"package.json", "pyproject.toml", "setup.py", ".goreleaser.yaml", ".goreleaser.yml"},
	"build":    {"build.gradle", "build.gradle.kts", "setup.py", "pubspec.yaml"},
	"target":   {"Cargo.toml", "pom.xml", "build.sbt"},
	"out":      {"next.config.js", "next.config.mjs", "next.config.ts", "foundry.toml"},
	"bin":      {"*.csproj", "*.fsproj", "*.vbproj"},
	"obj":      {"*.csproj", "*.fsproj", "*.vbproj"},
	"_build":   {"mix.exs", "dune-project", "conf.py"},
	"deps":     {"mix.exs"},
	"coverage": {"package.json"},
}

// folderConvention says why a folder of that name is skipped, "" when it is not;
// siblings are the names beside it, inside the names in it.
func folderConvention(name string, siblings []string) Reason {
	switch {
	case vendoredFolders[name]:
		return ReasonVendored
	case toolFolders[name] || strings.HasSuffix(name, ".egg-info"):
		return ReasonGenerated
	}
	for _, mark := range outputFolders[name] {
		if slices.ContainsFunc(siblings, func(s string) bool { return globMatch(mark, s) }) {
			return ReasonGenerated
		}
	}
	return ""
}

// cacheTag marks the folders of many build tools as disposable.
const cacheTag = "CACHEDIR.TAG"

var lockFiles = map[string]bool{
	"go.sum": true, "go.work.sum": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true,
	"pnpm-lock.yaml": true, "bun.lock": true, "deno.lock": true, "Cargo.lock": true, "poetry.lock": true, "uv.lock": true,
	"pdm.lock": true, "Pipfile.lock": true, "composer.lock": true, "Gemfile.lock": true, "flake.lock": true, "mix.lock": true,
	"pubspec.lock": true, "Podfile.lock": true, "Package.resolved": true, "gradle.lockfile": true, "packages.lock.json": true,
	"MODULE.bazel.lock": true, ".terraform.lock.hcl": true,
}

var generatedGlobs = []string{
	"*.min.js", "*.min.css", "*.min.mjs", "*-min.js", "*.map", "*.bundle.js", "*.pb.go", "*.pb.cc", "*.pb.h", "*_pb2.py",
	"*_pb2_grpc.py", "*_pb2.pyi", "*.g.dart", "*.freezed.dart", "*.designer.cs", "*.g.cs", "zz_generated*", "*.generated.*",
}

var binaryExtensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`png jpg jpeg gif bmp ico icns webp avif tif tiff psd heic mp3 mp4 m4a mov avi mkv webm wav
		ogg flac woff woff2 ttf otf eot pdf doc docx xls xlsx ppt pptx odt ods zip gz tgz bz2 xz zst 7z rar tar jar war whl
		egg gem deb rpm dmg iso apk aab ipa exe dll so dylib a o obj lib class pyc pyo wasm node db sqlite sqlite3 mdb bin
		dat pack idx parquet arrow npy npz pt pth onnx safetensors gguf h5 pkl pickle`) {
		m["."+e] = true
	}
	return m
}()

// dataExtensions hold rows rather than sentences, whatever their size; the
// formats of structuredExtensions do so from structuredLimit bytes.
var (
	dataExtensions       = map[string]bool{".csv": true, ".tsv": true, ".jsonl": true, ".ndjson": true, ".svg": true, ".ipynb": true, ".log": true, ".lcov": true, ".geojson": true}
	structuredExtensions = map[string]bool{".json": true, ".xml": true, ".yaml": true, ".yml": true, ".sql": true, ".txt": true}
)

const structuredLimit = 256 << 10

// fileConvention says why a file is skipped by its name and size alone.
func fileConvention(name string, size int64) Reason {
	ext := strings.ToLower(path.Ext(name))
	switch {
	case binaryExtensions[ext]:
		return ReasonBinary
	case lockFiles[name]:
		return ReasonGenerated
	case dataExtensions[ext], structuredExtensions[ext] && size > structuredLimit:
		return ReasonData
	}
	lower := strings.ToLower(name)
	for _, g := range generatedGlobs {
		if globMatch(g, lower) {
			return ReasonGenerated
		}
	}
	return ""
}

var (
	// goGenerated is the rule of the go command: https://go.dev/s/generatedcode.
	goGenerated = lazyregexp.New(`^// Code generated .* DO NOT EDIT\.$`)
	generated   = lazyregexp.New(`(?i)@generated\b|\bcode generated\b.*\bdo not edit\b|\bauto-?(matically )?generated\b.*\bdo not (edit|modify)\b|\bthis file (is|was) (auto-?|automatically )generated\b`)
)

// generatedLines is how far from the top a generator leaves its mark.
const generatedLines = 10

// generatedText reports whether a file says in its head that a tool wrote it. In
// prose only a comment counts, since a text may speak of generated files.
func generatedText(name, text string) bool {
	ext := strings.ToLower(path.Ext(name))
	prose := proseFile(name) || markdownFile(name)
	n := 0
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if ext == ".go" {
			if strings.HasPrefix(l, "package ") {
				return false
			}
			if goGenerated.MatchString(l) {
				return true
			}
			continue
		}
		if n++; n > generatedLines {
			return false
		}
		if t := strings.TrimSpace(l); generated.MatchString(t) && (comment(t) && !prose || strings.HasPrefix(t, "<!--")) {
			return true
		}
	}
	return false
}
