package golang

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxModFile = 16 << 20 // bytes; as much as the go command reads

// skipped folders hold no module of the project.
var skipped = map[string]bool{"node_modules": true, "vendor": true, "testdata": true}

// FindModules finds the go.mod files of a tree: the paths of the modules by folder,
// with slashes, "." for the root. It leaves out vendor, testdata, node_modules and
// folders that start with a dot or an underscore, as the go command does, and does
// not follow links. Files that can't be read, and those that name no module, are left
// out: what they cover belongs to the module around.
func FindModules(root fs.FS) map[string]string {
	found := map[string]string{}
	_ = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil //nolint:nilerr // what can't be read names no module
		case d.IsDir() && p != "." && (skipped[d.Name()] || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case d.Name() == "go.mod" && d.Type().IsRegular():
			if info, err := d.Info(); err != nil || info.Size() > maxModFile {
				return nil //nolint:nilerr // as above
			}
			text, err := fs.ReadFile(root, p)
			if m := ModulePath(text); err == nil && m != "" {
				found[path.Dir(p)] = m
			}
		}
		return nil
	})
	return found
}

// ModulePath returns the path that a go.mod file gives its module, and "" when there
// is none.
func ModulePath(gomod []byte) string {
	for line := range strings.SplitSeq(strings.TrimPrefix(string(gomod), byteOrderMark), "\n") {
		line, _, _ = strings.Cut(line, "//")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module")
		if !ok || rest == "" || !strings.ContainsAny(rest[:1], " \t\"`") {
			continue
		}
		rest = strings.TrimSpace(rest)
		if unquoted, err := strconv.Unquote(rest); err == nil {
			rest = unquoted
		}
		if strings.ContainsFunc(rest, foreignToPaths) {
			return ""
		}
		return strings.Clone(rest)
	}
	return ""
}

// foreignToPaths reports whether no module path has a character.
func foreignToPaths(c rune) bool {
	return c == utf8.RuneError || unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("\"`()", c)
}

// importPath returns the path of the package in a folder, and "" for the root of a
// tree that no module covers. "std" is the module of the standard library, which
// stands in no import path.
func importPath(modules map[string]string, dir string) string {
	if i := strings.LastIndex("/"+dir, "/vendor/"); i >= 0 {
		return dir[i+len("vendor/"):]
	}
	for at := dir; ; at = path.Dir(at) {
		if m, ok := modules[at]; ok {
			rest := dir
			if at != "." {
				rest = strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")
			} else if dir == "." {
				rest = ""
			}
			if m == "std" {
				m = ""
			}
			return path.Join(m, rest)
		}
		if at == "." || at == "/" {
			break
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}
