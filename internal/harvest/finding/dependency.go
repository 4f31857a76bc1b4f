package finding

import (
	"path"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// requirement is a package that a project requires, with its version.
type requirement struct {
	name, version string
}

// requirementLines match the lines of a manifest that require a package.
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

// notPackages holds keys that look like a requirement but are none.
var notPackages = map[string]bool{"version": true, "name": true, "edition": true, "rust-version": true, "node": true, "npm": true, "python": true, "requires-python": true, "target-version": true, "line-length": true, "main": true, "type": true}

// requirements returns the requirements in the lines of a manifest.
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

// required returns the requirements that a change adds to a manifest, including
// those with a new version.
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

// manifests maps names of files that say how a project is built and run to
// functions that describe them.
var manifests = map[string]func(string) string{
	"go.mod":              describeGoMod,
	"package.json":        describePackage,
	"Makefile":            describeMakefile,
	"GNUmakefile":         describeMakefile,
	"Justfile":            describeMakefile,
	"justfile":            describeMakefile,
	"Cargo.toml":          describeCargo,
	"docker-compose.yml":  describeCompose,
	"docker-compose.yaml": describeCompose,
	"compose.yml":         describeCompose,
	"compose.yaml":        describeCompose,
}

var (
	goModule    = lazyregexp.New(`(?m)^module\s+(\S+)`)
	goVersion   = lazyregexp.New(`(?m)^go\s+(\S+)`)
	goRequire   = lazyregexp.New(`(?m)^\s*(?:require\s+)?([\w.-]+\.[\w-]+(?:/\S+)?)\s+(v\d\S*)(\s*// indirect)?\s*$`)
	makeTarget  = lazyregexp.New(`(?m)^([a-zA-Z][\w./-]*)\s*:(?:[^=]|$)`)
	cargoName   = lazyregexp.New(`(?m)^name\s*=\s*"([^"]+)"`)
	dockerFrom  = lazyregexp.New(`(?im)^FROM\s+(\S+)`)
	dockerPort  = lazyregexp.New(`(?im)^EXPOSE\s+(.+)$`)
	dockerStart = lazyregexp.New(`(?im)^(?:CMD|ENTRYPOINT)\s+(.+)$`)
	yamlTop     = lazyregexp.New(`(?m)^([A-Za-z][\w.-]*):`)
	yamlSecond  = lazyregexp.New(`(?m)^  ([A-Za-z][\w.-]*):\s*$`)
	yamlPath    = lazyregexp.New(`(?m)^  (/\S*):\s*$`)
)

func describeGoMod(text string) string {
	m := goModule.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	what := "Go module " + m[1]
	if v := goVersion.FindStringSubmatch(text); v != nil {
		what += ", Go " + v[1]
	}
	var direct []string
	for _, r := range goRequire.FindAllStringSubmatch(text, -1) {
		if r[3] == "" {
			direct = append(direct, r[1])
		}
	}
	if len(direct) > 0 {
		what += listed(", requires", direct, 8)
	}
	return what
}

func describePackage(text string) string {
	if !gjson.Valid(text) {
		return listed("npm package with the keys", captures(jsonKey, text, 8), 8)
	}
	v := gjson.Parse(text)
	what := "npm package " + v.Get("name").String()
	if d := sentence(v.Get("description").String()); d != "" {
		what += " (" + d + ")"
	}
	var scripts []string
	v.Get("scripts").ForEach(func(k, _ gjson.Result) bool {
		scripts = append(scripts, k.Str)
		return len(scripts) < 12
	})
	if len(scripts) > 0 {
		what += listed(", scripts:", scripts, 12)
	}
	return oneLine(what)
}

func describeMakefile(text string) string {
	return listed("build file with the targets", captures(makeTarget, text, 14), 14)
}

func describeCargo(text string) string {
	name := captures(cargoName, text, 1)
	if len(name) == 0 {
		return ""
	}
	return "Rust crate " + name[0]
}

func describeCompose(text string) string {
	_, services, ok := strings.Cut("\n"+text, "\nservices:")
	if !ok {
		return ""
	}
	if end := yamlTop.FindStringIndex(services); end != nil {
		services = services[:end[0]]
	}
	return listed("Compose file with the services", captures(yamlSecond, services, 10), 10)
}

func describeDockerfile(text string) string {
	from := captures(dockerFrom, text, 3)
	if len(from) == 0 {
		return ""
	}
	what := listed("image built from", from, 3)
	if p := captures(dockerPort, text, 1); p != nil {
		what += ", exposes " + p[0]
	}
	if c := captures(dockerStart, text, 4); c != nil {
		what += ", starts " + clip(c[len(c)-1], 80)
	}
	return what
}

func describeYAML(text string) string {
	if strings.HasPrefix(text, "openapi:") || strings.HasPrefix(text, "swagger:") {
		return listed("OpenAPI description of", captures(yamlPath, text, 8), 8)
	}
	return listed("YAML with the keys", captures(yamlTop, text, 10), 10)
}

var proseTitle = lazyregexp.New(`(?m)^(?:#\s+(.+?)\s*#*|title:\s*"?(.+?)"?)\s*$`)

// describeProse returns a document's title and the first sentence of its first
// paragraph.
func describeProse(text string) string {
	m := proseTitle.FindStringSubmatchIndex(text)
	if m == nil {
		return ""
	}
	title := ""
	for _, g := range []int{2, 4} {
		if m[g] >= 0 && title == "" {
			title = oneLine(text[m[g]:m[g+1]])
		}
	}
	if planted.MatchString(title) {
		return ""
	}
	body := ""
	for p := range strings.SplitSeq(text[m[1]:], "\n\n") {
		p = strings.TrimSpace(p)
		if p == "" || strings.HasPrefix(p, "#") || strings.HasPrefix(p, "---") || strings.HasPrefix(p, "![") || strings.HasPrefix(p, "[!") ||
			strings.HasPrefix(p, "<") || strings.HasPrefix(p, "```") || strings.HasPrefix(p, "|") || strings.Contains(p, ":\n") {
			continue
		}
		if body = sentence(strings.TrimLeft(p, "->* ")); body != "" {
			break
		}
	}
	return join("document \""+clip(title, 100)+"\"", body)
}
