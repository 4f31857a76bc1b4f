package finding

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// requirement is a package that a project needs, and which version.
type requirement struct {
	name, version string
}

// requirementLines read the lines of a manifest that require something.
var requirementLines = []struct {
	file *lazyregexp.Regexp
	line *lazyregexp.Regexp // name and version
}{
	{lazyregexp.New(`^go\.mod$`), lazyregexp.New(`^\s*(?:require\s+)?([\w.-]+\.[\w-]+(?:/\S+)?)\s+(v\d\S*)\s*$`)},
	{lazyregexp.New(`^(?:package|composer)\.json$`), lazyregexp.New(`^\s*"((?:@[\w.-]+/)?[\w./-]+)"\s*:\s*"((?:[~^<>=]{0,2}\s?v?\d[\w.+-]*|workspace:\S+|latest|\*))"\s*,?\s*$`)},
	{lazyregexp.New(`^(?:requirements.*\.txt|constraints\.txt)$`), lazyregexp.New(`^\s*([A-Za-z][\w.-]*(?:\[[\w,-]+\])?)\s*((?:[=<>~!]=|[<>])\s*\d[^;#]*)?\s*(?:[;#].*)?$`)},
	{lazyregexp.New(`^pyproject\.toml$`), lazyregexp.New(`^\s*"([A-Za-z][\w.-]*(?:\[[\w,-]+\])?)\s*([=<>~!]=\s*\d[^"]*|[<>]\s*\d[^"]*)"\s*,?\s*$`)},
	{lazyregexp.New(`^(?:Cargo|pyproject|Pipfile)(?:\.toml)?$`), lazyregexp.New(`^\s*([A-Za-z][\w-]*)\s*=\s*(?:"([~^=<>]{0,2}\s?\d[\w.+*-]*)"|\{\s*version\s*=\s*"([^"]+)".*\})\s*$`)},
	{lazyregexp.New(`^Gemfile$`), lazyregexp.New(`^\s*gem\s+["']([\w-]+)["'](?:\s*,\s*["']([^"']+)["'])?`)},
	{lazyregexp.New(`\.(?:cs|fs)proj$|^Directory\.Packages\.props$`), lazyregexp.New(`<Package(?:Reference|Version)\s+Include="([\w.-]+)"\s+Version="([^"]+)"`)},
	{lazyregexp.New(`^build\.gradle(?:\.kts)?$`), lazyregexp.New(`^\s*(?:implementation|api|testImplementation|runtimeOnly|compileOnly)\s*\(?["']([\w.-]+:[\w.-]+):([\w.+-]+)["']`)},
}

// notPackages are keys that look like a requirement and are none.
var notPackages = map[string]bool{"version": true, "name": true, "edition": true, "rust-version": true, "node": true, "npm": true, "python": true, "requires-python": true, "target-version": true, "line-length": true, "main": true, "type": true}

// requirements returns what the lines of a manifest require, by name.
func requirements(file, text string) (out []requirement) {
	base := path.Base(file)
	for _, r := range requirementLines {
		if !r.file.MatchString(base) {
			continue
		}
		for line := range strings.Lines(text) {
			m := r.line.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
			if m == nil || notPackages[m[1]] || strings.HasPrefix(m[1], "go.") && m[2] == "" {
				continue
			}
			v := oneLine(strings.Join(m[2:], ""))
			out = append(out, requirement{m[1], v})
		}
	}
	return out
}

// required returns what a change makes a project require that it did not before,
// and in another version.
func required(file, old, next string) []requirement {
	had := map[requirement]bool{}
	for _, r := range requirements(file, old) {
		had[r] = true
	}
	var out []requirement
	for _, r := range requirements(file, next) {
		if !had[r] {
			had[r] = true
			out = append(out, r)
		}
	}
	return out
}

func requirementNames(text string) []string {
	var names []string
	for _, r := range requirements("requirements.txt", text) {
		names = append(names, r.name)
	}
	return names
}

func (r requirement) text(file string) string {
	s := file + " requires " + r.name
	if r.version != "" {
		s += " " + r.version
	}
	return s
}
