package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sprung runs a command by hand, and reports whether that ran what the repository chose.
func sprung(args ...string) func(w *world) bool {
	return func(w *world) bool {
		w.Helper()
		w.git(args...)
		_, err := os.Lstat(filepath.Join(w.out, "ran"))
		return err == nil
	}
}

// present reports whether a name of the repository leads to anything.
func present(name string) func(w *world) bool {
	return func(w *world) bool {
		_, err := os.Stat(filepath.Join(w.repo, name))
		return err == nil
	}
}

// reads reports whether a file of the repository leads to what lies outside.
func reads(name string) func(w *world) bool {
	return func(w *world) bool {
		b, err := os.ReadFile(filepath.Join(w.repo, name))
		return err == nil && strings.Contains(string(b), fileMark)
	}
}

// hostileGit are folders with a .git, as archives bring them, and what clones bring.
func hostileGit() []hostile {
	every := [][]string{{"ask", "-q", "How does the harbour open?"}, {"memory", "sync"}, {"run", "--", "true"}}
	const touch = "#!/bin/sh\ntouch $OUT/ran\ncat 2>/dev/null\n"
	configures := func(settings ...string) func(w *world) {
		return func(w *world) {
			w.put(filepath.Join(w.repo, "trap.sh"), touch)
			w.commit()
			for i := 0; i+1 < len(settings); i += 2 {
				w.git("config", settings[i], w.words(settings[i+1]))
			}
			w.put(filepath.Join(w.repo, "harbour.md"), "The harbour has moved.\n")
		}
	}
	hook := func(name string) func(w *world) {
		return func(w *world) {
			w.commit()
			w.put(filepath.Join(w.repo, ".git", "hooks", name), touch)
		}
	}
	return []hostile{
		{name: "a monitor of files", make: configures("core.fsmonitor", "./trap.sh"), do: every, springs: sprung("status")},
		{name: "a monitor in an included file", files: map[string]string{"inc": "[core]\n\tfsmonitor = ./trap.sh\n"}, make: configures("include.path", "../inc"), do: every, springs: sprung("status")},
		{name: "a folder of hooks", files: map[string]string{"hooks/pre-commit": touch}, make: configures("core.hooksPath", "hooks"), do: every, springs: sprung("commit", "-qam", "x")},
		{name: "a hook after a commit", make: hook("post-commit"), do: every, springs: sprung("commit", "-q", "--allow-empty", "-m", "x")},
		{name: "a hook at a change of the index", make: hook("post-index-change"), do: every, springs: sprung("rm", "-q", "--cached", "harbour.md")},
		{name: "a hook at a checkout", make: hook("post-checkout"), do: every, springs: sprung("checkout", "-q", "-b", "x")},
		{name: "an external diff", make: configures("diff.external", "./trap.sh"), do: every, springs: sprung("diff")},
		{name: "a diff by attributes", files: map[string]string{".gitattributes": "*.md diff=trap\n"}, make: configures("diff.trap.command", "./trap.sh"), do: every, springs: sprung("diff")},
		{name: "a converter of texts", files: map[string]string{".gitattributes": "*.md diff=trap\n"}, make: configures("diff.trap.textconv", "./trap.sh"), do: every, springs: sprung("diff")},
		{name: "a filter at adding", files: map[string]string{".gitattributes": "*.md filter=trap\n"}, make: configures("filter.trap.clean", "./trap.sh"), do: every, springs: sprung("add", "harbour.md")},
		{name: "a filter at checking out", files: map[string]string{".gitattributes": "*.md filter=trap\n"}, make: configures("filter.trap.smudge", "./trap.sh"), do: every, springs: sprung("checkout", "-qf", "--", "harbour.md")},
		{name: "a program that signs", make: configures("gpg.program", "./trap.sh", "log.showSignature", "true"), do: every,
			springs: func(w *world) bool { return w.git("config", "gpg.program") == "./trap.sh\n" }},
		{name: "a pager", make: configures("core.pager", "./trap.sh", "pager.log", "true"), do: every, springs: func(w *world) bool { return w.git("config", "core.pager") == "./trap.sh\n" }},
		{name: "an editor and an askpass", make: configures("core.editor", "./trap.sh", "core.askPass", "./trap.sh"), do: every, springs: func(w *world) bool {
			_ = exec.Command("git", "-C", w.repo, "-c", "user.name=eve", "-c", "user.email=eve@evil.test", "commit", "-qa").Run() // the trap writes no message
			_, err := os.Lstat(filepath.Join(w.out, "ran"))
			return err == nil
		}},
		{name: "a submodule whose update is a command", files: map[string]string{".gitmodules": "[submodule \"m\"]\n\tpath = m\n\turl = ./m\n\tupdate = !touch $OUT/ran\n"}, make: (*world).commit, do: every,
			springs: func(w *world) bool {
				return strings.Contains(w.git("config", "-f", ".gitmodules", "submodule.m.update"), "touch")
			}},
	}
}

// hostileFiles are files that Ken reads in any project.
func hostileFiles() []hostile {
	ask := []string{"ask", "-q", "How does the harbour open?"}
	memory := [][]string{{"memory", "sync"}, ask}
	const record = "# 0001: Open the harbour\n\nStatus: accepted\n\n## Decision\n\nThe harbour opens with " + fileMark + ".\n"
	const goal = "title: The harbour opens with " + fileMark + "\nstatus: active\n"
	readsOutside := func(w *world) bool { return reads(w.words("../out/secret.md"))(w) }
	aside := func(name, text string) func(w *world) {
		return func(w *world) { w.put(filepath.Join(w.out, name), text) }
	}
	// approved shows that the candidate is there, and is told once a person approves it.
	approved := func(w *world) bool {
		return w.shows("memory", fileMark, "review", "--list") || w.shows("recall", fileMark, "--status", "hypothesis", "harbour")
	}
	return []hostile{
		{name: "a link to a file", links: map[string]string{"open.md": "$OUT/secret.md"}, springs: reads("open.md")},
		{name: "a link to a folder", links: map[string]string{"docs": "../out"}, springs: reads("docs/secret.md")},
		{name: "a link to a link", links: map[string]string{"a.md": "b.md", "b.md": "../out/secret.md"}, springs: reads("a.md")},
		{name: "a committed link", links: map[string]string{"open.md": "$OUT/secret.md"}, make: (*world).commit, springs: reads("open.md")},
		{name: "a code file that is a link", make: func(w *world) {
			w.put(filepath.Join(w.out, "x.go"), "package x\n\n// Harbour opens with "+fileMark+".\nfunc Harbour() {}\n")
			w.link(filepath.Join(w.repo, "x.go"), "$OUT/x.go")
		}, do: [][]string{ask, {"graph", "show", "Harbour"}}, springs: reads("x.go")},
		{name: "a module that is replaced by a folder outside", files: map[string]string{"go.mod": "module hostile.test\n\nrequire out.test v0.0.0\n\nreplace out.test => ../out\n", "a.go": "package a\n\nimport _ \"out.test\"\n"},
			make: aside("x.go", "package x\n\n// Harbour opens with "+fileMark+".\nfunc Harbour() {}\n"), do: [][]string{ask, {"graph", "build"}, ask}, springs: readsOutside},
		{name: "a workspace of folders outside", files: map[string]string{"go.work": "go 1.26\n\nuse (\n\t.\n\t../out\n)\n", "a.go": "package a\n"},
			make: func(w *world) {
				aside("x.go", "package x\n\n// Harbour opens with "+fileMark+".\nfunc Harbour() {}\n")(w)
				aside("go.mod", "module out.test\n")(w)
			}, do: [][]string{ask, {"graph", "build"}, ask}, springs: readsOutside},

		{name: "a MEMORY.md without an end", links: map[string]string{".ken/knowledge/MEMORY.md": "/dev/zero"}, do: append(memory, []string{"doctor"}), does: never, springs: present(".ken/knowledge/MEMORY.md")},
		{name: "a policy without an end", links: map[string]string{".ken/knowledge/lifecycle.yaml": "/dev/zero"}, do: append(memory, []string{"doctor"}), does: never, springs: present(".ken/knowledge/lifecycle.yaml")},
		{name: "a line in MEMORY.md", files: map[string]string{".ken/knowledge/MEMORY.md": "- [x] The harbour opens with " + fileMark + ".\n"},
			do: [][]string{{"memory", "sync", "-q"}, ask}, springs: approved},
		{name: "a committed line in MEMORY.md", files: map[string]string{".ken/knowledge/MEMORY.md": "- [x] The harbour opens with " + fileMark + ". <!-- ken:01900000-0000-7000-8000-000000000001 hot -->\n"},
			make: (*world).commit, do: memory, springs: approved},
		{name: "a MEMORY.md that is a link", links: map[string]string{".ken/knowledge/MEMORY.md": "$OUT/notes.md"}, make: aside("notes.md", "- [x] The harbour opens with "+fileMark+".\n"),
			do: memory, springs: reads(".ken/knowledge/MEMORY.md")},
		{name: "a folder of knowledge that is a link", links: map[string]string{".ken/knowledge": "$OUT"}, do: append(memory, []string{"init"}, []string{"knowledge", "gc", "--apply"}),
			springs: reads(".ken/knowledge/secret.md")},
		{name: "a folder .ken that leaves", links: map[string]string{".ken": "$OUT"}, do: append(memory, []string{"init"}, []string{"learn", "The pier is closed."}), springs: reads(".ken/secret.md")},

		{name: "a decision that is a link", links: map[string]string{"docs/adr/0001-open.md": "$OUT/0001.md"}, make: aside("0001.md", record), do: [][]string{ask, {"decision", "list"}, {"decision", "show", "1"}},
			springs: reads("docs/adr/0001-open.md")},
		{name: "a folder of decisions that is a link", links: map[string]string{"docs/adr": "$OUT"}, make: aside("0001-open.md", record), do: [][]string{ask, {"decision", "show", "1"}}, springs: reads("docs/adr/0001-open.md")},
		{name: "decisions in a folder above", files: configured("decisions: {folders: [../out]}"), make: aside("0001-open.md", record), do: [][]string{ask, {"decision", "show", "1"}}, springs: reads("../out/0001-open.md")},
		{name: "an objective that is a link", links: map[string]string{".ken/knowledge/objectives/open.yaml": "$OUT/open.yaml"}, make: aside("open.yaml", goal), do: [][]string{ask, {"objective", "list"}},
			springs: reads(".ken/knowledge/objectives/open.yaml")},
		{name: "a folder of objectives that is a link", links: map[string]string{".ken/knowledge/objectives": "$OUT"}, make: aside("open.yaml", goal), do: [][]string{ask, {"objective", "list"}, {"objective", "create", "Close the harbour"}},
			springs: reads(".ken/knowledge/objectives/open.yaml")},
		{name: "objectives in a folder above", files: configured("objectives: {folder: ../out}"), make: aside("open.yaml", goal), do: [][]string{ask, {"objective", "list"}}, springs: reads("../out/open.yaml")},
		{name: "layers that are a link", links: map[string]string{".ken/architecture.yaml": "$OUT/layers.yaml"}, make: aside("layers.yaml", "layers: {"+fileMark+": [x]}\n"), do: [][]string{{"drift"}, ask}, springs: reads(".ken/architecture.yaml")},
		{name: "layers outside", files: map[string]string{".ken/architecture.yaml": "layers:\n  out: {paths: [../out]}\n"}, do: [][]string{{"drift"}, ask}, springs: readsOutside},
		{name: "marks that would delete all", files: map[string]string{".ken/.kenignore": "**\n../**\n", ".ken/knowledge/lifecycle.yaml": "ephemeral_state_days: 0\n"}, links: map[string]string{".ken/state": "$OUT"},
			do: [][]string{{"knowledge", "gc", "--apply"}}, springs: reads(".ken/state/secret.md")},
		{name: "a policy that is a link", links: map[string]string{".ken/knowledge/lifecycle.yaml": "$OUT/secret.md"}, do: [][]string{{"knowledge", "gc"}, ask}, springs: reads(".ken/knowledge/lifecycle.yaml")},
		{name: "a skill that is a link", links: map[string]string{"skills/open/SKILL.md": "$OUT/secret.md"}, springs: reads("skills/open/SKILL.md")},
		{name: "a list of what to leave out that is a link", links: map[string]string{".gitignore": "$OUT/secret.md"}, springs: reads(".gitignore")},
	}
}
