package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// pages makes man pages of docs/cli.md, one for each command, and of docs/config.md.
func (r *release) pages() ([]file, error) {
	cli, err := os.ReadFile(filepath.Join(r.root, "docs", "cli.md"))
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(r.root, "docs", "config.md"))
	if err != nil {
		return nil, err
	}
	pages := r.commandPages(string(cli))
	return append(pages, r.page("ken-config-file", 5, "settings of ken", "## DESCRIPTION\n\n"+string(config))), nil
}

var (
	generated = regexp.MustCompile(`(?s)<!--.*?-->\n*`)
	pageTitle = regexp.MustCompile(`(?m)^# .*\n+`)
	pageLink  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	listed    = regexp.MustCompile("(?m)^\\| \\[`(ken[^`]*)`\\]\\([^)]*\\) \\| (.*) \\|$")
)

// commandPages cuts the reference of all commands into the pages ken(1), ken-ask(1) and so on.
func (r *release) commandPages(reference string) []file {
	summary := map[string]string{}
	for _, m := range listed.FindAllStringSubmatch(reference, -1) {
		summary[m[1]] = m[2]
	}
	var pages []file
	main, sections := strings.Builder{}, strings.Split(reference, "\n## ")
	main.WriteString(sections[0])
	for _, s := range sections[1:] {
		command, text, _ := strings.Cut(s, "\n")
		if _, ok := summary[command]; !ok {
			fmt.Fprintf(&main, "\n## %s\n%s\n", command, text)
			continue
		}
		name := strings.ReplaceAll(command, " ", "-")
		usage, text, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
		pages = append(pages, r.page(name, 1, summary[command], "## SYNOPSIS\n\n"+usage+"\n\n## DESCRIPTION\n"+text+"\n\n## SEE ALSO\n\nken(1)\n"))
	}
	return append([]file{r.page("ken", 1, "the knowledge layer for LLM agents", "## DESCRIPTION\n\n"+main.String())}, pages...)
}

func (r *release) page(name string, section int, summary, text string) file {
	text = generated.ReplaceAllString(text, "")
	text = pageTitle.ReplaceAllString(text, "")
	text = pageLink.ReplaceAllString(text, "$1")
	// The one heading of the highest level is the page's title line; md2man counts from there.
	whole := fmt.Sprintf("%s %d %q %q\n=====\n\n# NAME\n\n%s - %s\n%s",
		name, section, r.time.Format("January 2006"), "ken "+string(r.version), name, summary, strings.ReplaceAll("\n"+text, "\n## ", "\n# "))
	return file{fmt.Sprintf("man%d/%s.%d", section, name, section), 0o644, md2man.Render([]byte(whole))}
}

// completions asks the program for the completion script of each shell.
func (r *release) completions(work string) (map[string]file, error) {
	host, err := r.host(work)
	if err != nil {
		return nil, err
	}
	scripts := map[string]file{}
	for shell, name := range map[string]string{"bash": "ken.bash", "zsh": "_ken", "fish": "ken.fish", "powershell": "ken.ps1"} {
		cmd := exec.Command(host, "completion", shell)
		cmd.Dir, cmd.Stderr = work, os.Stderr
		data, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
		scripts[shell] = file{name, 0o644, data}
	}
	return scripts, nil
}
