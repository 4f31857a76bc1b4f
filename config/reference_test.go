package config

import "strings"

// Reference returns the documentation of every key in Markdown. docs/config.md
// is a copy that the tests keep up to date.
func Reference() string {
	c := Default()
	var b strings.Builder
	b.WriteString("# Configuration\n\n" +
		"<!-- Generated from package config: go test ./config -update -->\n\n" +
		"Ken reads one YAML file: the one that `KEN_CONFIG` names, else `.ken/config.yaml`, else `ken.yaml` in the\n" +
		"project's root; both may end in `.yml`. Every key may be left out, and an empty file is a complete configuration.\n" +
		"`config.example.yaml` has every key with its default. An unknown key is an error.\n\n" +
		"Your own file, `$XDG_CONFIG_HOME/ken/config.yaml` or the like of your system, lies beneath the project's, with the same keys.\n" +
		"Keys whose meaning starts with ° count in a project's file only after `ken trust`, or as far as they ask for less than yours: see [trust.md](trust.md).\n")
	for _, s := range c.sections() {
		b.WriteString("\n## " + s.name + "\n\n" + s.doc + "\n\n" +
			"| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n")
		for _, k := range s.keys {
			b.WriteString("| `" + k.path + "` | `" + k.value(k.def) + "` | " + cell(k.allowed()) + " | " + k.asterisk() + cell(k.doc) + " |\n")
		}
		for _, k := range s.keys {
			if k.example != "" {
				_, name := split(k.path)
				b.WriteString("\n```yaml\n" + name + ":\n" + k.example + "```\n")
			}
		}
	}
	return b.String()
}

// allowed returns the values that a key takes, in words.
func (k *key) allowed() string {
	if k.list {
		return "a list; each is " + k.want
	}
	return k.want
}

// cell keeps text from ending a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// asterisk marks keys that a project may not set as it likes.
func (k *key) asterisk() string {
	if k.consentRule().name == anyValue.name {
		return ""
	}
	return "° "
}
