package finding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/evaldata"
)

func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a/b.go", "// Copyright 2026 Acme. All rights reserved.\n\n//go:build linux\n\n// Package b counts things, e.g. sheep. It does not sleep.\npackage b\n\nfunc Count() int { return 0 }", "Go package b, declares Count. Package b counts things, e.g. sheep."},
		{"a/b_test.go", "package b\n\nfunc TestCount(t *testing.T) {}", "Go package b, tests, TestCount"},
		{"seed.py", "#!/usr/bin/env python3\n# coding: utf-8\n\"\"\"Fill a local database. Slowly.\"\"\"\nimport os\n\ndef main():\n    pass\n\nclass Seeder:\n    pass\n", "Python, declares Seeder, main. Fill a local database."},
		{"web/a.ts", "/* eslint-disable */\n/**\n * Calls of the public interface,\n * with retries.\n */\nexport async function createInvoice(d: Draft) {\n}\n", "TypeScript, declares createInvoice. Calls of the public interface, with retries."},
		{"lib.rs", "//! Rounds amounts half to even.\npub struct Money {\n}\npub fn round(m: Money) -> Money {\n}\n", "Rust, declares Money, round. Rounds amounts half to even."},
		{"run.sh", "#!/bin/sh\n# Start all services on this machine.\nexec x\n", "shell script. Start all services on this machine."},
		{"README.md", "# Paylane\n\n[![ci](x)](y)\n\nPaylane takes payments. It is small.\n\n## Start\n", `document "Paylane". Paylane takes payments.`},
		{"docs/x.md", "---\ntitle: The queue\n---\n\n## How\n\n* It drains by itself every night.\n", `document "The queue". It drains by itself every night.`},
		{"go.mod", "module example.com/pay\n\ngo 1.25\n\nrequire github.com/a/b v1.0.0\n\nrequire (\n\tgithub.com/c/d v2.0.0\n\tgithub.com/e/f v0.1.0 // indirect\n)\n", "Go module example.com/pay, Go 1.25, requires github.com/a/b, github.com/c/d"},
		{"web/package.json", `{"name":"web","description":"The front of it all","scripts":{"dev":"vite","test":"vitest"}}`, "npm package web (The front of it all), scripts: dev, test"},
		{"Makefile", ".PHONY: all\nBIN := x\nbuild: deps\n\tgo build\ntest:\n\tgo test\n", "build file with the targets build, test"},
		{"Dockerfile", "FROM golang:1.25 AS build\nRUN go build\nFROM scratch\nEXPOSE 8080\nENTRYPOINT [\"/pay\"]\n", `image built from golang:1.25, scratch, exposes 8080, starts ["/pay"]`},
		{"compose.yaml", "name: pay\nservices:\n  db:\n    image: postgres\n  redis:\n    image: redis\nvolumes:\n  data:\n", "Compose file with the services db, redis"},
		{"Cargo.toml", "[package]\nname = \"pay\"\nversion = \"0.1.0\"\n", "Rust crate pay"},
		{"conf.yaml", "server:\n  port: 1\nlog:\n  level: x\n", "YAML with the keys server, log"},
		{"api.yaml", "openapi: 3.1.0\npaths:\n  /v2/invoices:\n    get: {}\n", "OpenAPI description of /v2/invoices"},
		{"conf.toml", "[server]\nport = 1\n[log.file]\n", "configuration with the sections server, log.file"},
		{"tsconfig.json", "{\n  \"compilerOptions\": {},\n  \"include\": []\n}", "JSON with the keys compilerOptions, include"},
		{"0001.sql", "CREATE TABLE IF NOT EXISTS invoices (\n id uuid\n);\ncreate unique index by_number on invoices(number);", "SQL that makes TABLE IF NOT EXISTS invoices, index by_number"},
		{"pay.proto", "syntax = \"proto3\";\nservice Pay {\n  rpc Charge(A) returns (B);\n}\nmessage A {}\n", "protocol buffers: declares service Pay, rpc Charge, message A"},
		{"requirements-dev.txt", "pytest==8.0\n# x\nrequests>=2 ; python_version > '3'\n", "Python requirements pytest, requests"},
		// What says nothing of itself is not described.
		{"data.csv", "a,b,c\n1,2,3\n4,5,6\n", ""},
		{"x.go", "package x", ""},
		{"notes.txt", "some notes that nobody needs to know", ""},
		{"prose.md", "no title, and nothing but words here", ""},
		{"bin", "\x00\x01\x02 this is not a text at all", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(tt.name, tt.text); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRequirementsOfEveryManifest(t *testing.T) {
	for _, tt := range []struct{ file, old, next, want string }{
		{"go.mod", "\tgithub.com/a/b v1.0.0\n", "\tgithub.com/a/b v1.1.0\n\tgithub.com/e/f v0.1.0 // indirect\n", "github.com/a/b v1.1.0"},
		{"go.mod", "", "module x.y/z\n\ngo 1.25\n\nrequire gopkg.in/yaml.v3 v3.0.1\n", "gopkg.in/yaml.v3 v3.0.1"},
		{"web/package.json", "", "{\n  \"name\": \"web\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {\n    \"@tanstack/query\": \"^5.1.0\",\n    \"react\": \"18.3.1\"\n  },\n  \"scripts\": { \"x\": \"y\" }\n}", "@tanstack/query ^5.1.0, react 18.3.1"},
		{"requirements.txt", "flask==2\n", "flask==3.0 # web\ndjango\n-r other.txt\n", "flask ==3.0, django"},
		{"pyproject.toml", "", "name = \"pay\"\nversion = \"1.0\"\ndependencies = [\n  \"httpx>=0.27\",\n]\n", "httpx >=0.27"},
		{"Cargo.toml", "", "[package]\nname = \"pay\"\nversion = \"0.1.0\"\n[dependencies]\nserde = \"1.0\"\ntokio = { version = \"1.38\", features = [\"full\"] }\n", "serde 1.0, tokio 1.38"},
		{"Gemfile", "", "gem 'rails', '~> 7.1'\ngem \"puma\"\n", "rails ~> 7.1, puma"},
		{"a.csproj", "", `<PackageReference Include="Dapper" Version="2.1.0" />`, "Dapper 2.1.0"},
		{"build.gradle.kts", "", "    implementation(\"com.squareup.okhttp3:okhttp:4.12.0\")\n", "com.squareup.okhttp3:okhttp 4.12.0"},
		{"main.go", "", "\tgithub.com/a/b v1.0.0\n", ""},
	} {
		var got []string
		for _, r := range required(tt.file, tt.old, tt.next) {
			got = append(got, strings.TrimSpace(r.name+" "+r.version))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.file, strings.Join(got, ", "), tt.want)
		}
	}
}

func TestOwners(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{".github/CODEOWNERS", "# all\n*  @acme/all\n/web/ @acme/web ada@example.com # front\n[Section]\n/none/\n/bad/ nobody\n", "*=@acme/all, /web/=@acme/web, ada@example.com"},
		{"store/OWNERS", "approvers:\n  - ada\n  - bob\n", "store/=ada, bob"},
		{"catalog-info.yaml", "kind: Component\nspec:\n  owner: team-storage\n", "catalog-info.yaml=team-storage"},
		{"README.md", "# X\n\nOwner: Team Storage\n", "README.md=Team Storage"},
		{"a.go", "// Owner: @acme/storage\npackage a", "a.go=@acme/storage"},
		{"a.go", "type T struct {\n\tOwner: string\n}", ""},
		{"schema.yaml", "properties:\n  owner: string\n", ""},
		{"a.md", "The owner: well, whoever asks first gets it and keeps it for as long as it is needed here", ""},
	} {
		var got []string
		for _, o := range owners(tt.name, tt.text) {
			got = append(got, o.entity+"="+o.owners)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, strings.Join(got, ", "), tt.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"claude code", "Found 2 files\nstore/log.go\nMakefile", "store/log.go Makefile"},
		{"lines", "store/log.go:11:func Open() {\nstore/log.go:12:\tx := fmt.Sprint(1)\nweb/a.tsx:3:open()", "store/log.go web/a.tsx"},
		{"context", "store/log.go-10-x\nstore/log.go:11:y\n--\n", "store/log.go"},
		{"headings", "Found 2 matches for pattern \"x\" in path \".\":\n---\nFile: store/log.go\nL11: func Open() {\n---", "store/log.go"},
		{"ripgrep headings", "store/log.go\n11:func Open() {\n12:fmt.Println(os.Args)\n", "store/log.go"},
		{"absolute", "/home/ada/pay/store/log.go\nC:\\pay\\a.go", "/home/ada/pay/store/log.go C:/pay/a.go"},
		{"code alone", "fmt.Println(x)\nos.Exit\nreturn nil\nx.y.Z", ""},
		{"prose", "No matches found.\nTry again.", ""},
		{"empty", "", ""},
	} {
		files, n := matches(tt.output, 10)
		if strings.Join(files, " ") != tt.want || n != len(files) {
			t.Errorf("%s: %q (%d), want %q", tt.name, files, n, tt.want)
		}
	}
	if files, n := matches("a/1.go\na/2.go\na/3.go\n", 2); len(files) != 2 || n != 3 {
		t.Errorf("%d of %d", len(files), n)
	}
}

func FuzzDescribe(f *testing.F) {
	for _, name := range []string{"a.go", "a.py", "a.md", "package.json", "Makefile", "compose.yaml", "Dockerfile", "a.yaml", "CODEOWNERS", "docs/adr/0001-a.md", "go.mod"} {
		f.Add(name, logGo)
		f.Add(name, "# 1. x\n\nStatus: accepted\n\n- owner: a\n")
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		d := describe(name, text)
		if strings.Contains(clip(oneLine(name+": "+d), MaxText), "\n") || utf8.RuneCountInString(clip(d, MaxText)) > MaxText {
			t.Errorf("%q", d)
		}
		_ = decided(name, text)
		for _, o := range owners(name, text) {
			if o.owners == "" {
				t.Errorf("%+v", o)
			}
		}
		for _, r := range requirements(name, text) {
			if r.name == "" {
				t.Errorf("%+v", r)
			}
		}
		matches(text, 3)
	})
}

// Every agent's way to show a file leads back to the file.
func TestShown(t *testing.T) {
	const text = "package a\n\nfunc A() {}"
	for name, output := range map[string]string{
		"plain":           text,
		"claude code":     "     1→package a\n     2→\n     3→func A() {}\n\n<system-reminder>\nBe nice.\n</system-reminder>",
		"cat -n":          "     1\tpackage a\n     2\t\n     3\tfunc A() {}",
		"openhands":       "Here's the result of running `cat -n` on /src/a.go:\n     1\tpackage a\n     2\t\n     3\tfunc A() {}",
		"cline":           "1 | package a\n2 | \n3 | func A() {}",
		"opencode":        "<file>\n00001| package a\n00002| \n00003| func A() {}",
		"gemini":          "L1: package a\nL2:\nL3: func A() {}",
		"mcp":             `{"content":[{"type":"text","text":"package a\n\nfunc A() {}"}]}`,
		"mcp, only parts": `[{"type":"text","text":"package a\n\nfunc A() {}"}]`,
		"content":         `{"content":"package a\n\nfunc A() {}","lines":3}`,
		"codex":           `{"output":"package a\n\nfunc A() {}","metadata":{"exit_code":0}}`,
		"codex, as text":  "Exit code: 0\nWall time: 0.1 seconds\nOutput:\npackage a\n\nfunc A() {}",
	} {
		if got := strings.TrimSpace(shown(output)); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, keep := range []string{"1. First\n2. Second\nThird", "{ not json", "12 monkeys\nand more\nlines here", ""} {
		if got := shown(keep); got != keep {
			t.Errorf("%q became %q", keep, got)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"short", 10, "short"}, {"one two three four", 15, "one two three…"}, {"onewordthatislong", 8, "oneword…"}, {"日本語のテキスト", 5, "日本語の…"}, {"a, b, c, d", 8, "a, b, c…"}} {
		if got := clip(tt.in, tt.n); got != tt.want || utf8.RuneCountInString(got) > tt.n {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDecided(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"docs/adr/0007-use-bbolt.md", "# 7. Use bbolt\n\nDate: 2026-01-01\n\n## Status\n\nAccepted\n", `Decision 0007 "Use bbolt" is accepted`},
		{"docs/decisions/0003-x.md", "# ADR-0003: Sign webhooks\n\n* Status: proposed\n", `Decision 0003 "Sign webhooks" is proposed`},
		{"adr/12-x.md", "---\ntitle: \"Cents\"\nstatus: superseded by 14\n---\n", `Decision 12 "Cents" is superseded`},
		{"architecture/decisions/0001-x.md", "# 1 — Ids\n\n- **Status:** Accepted (2026-06-01), shipped\n", `Decision 0001 "Ids" is accepted`},
		{"docs/adr/0002-x.md", "# Two\n\n| Status | Deprecated |\n", `Decision 0002 "Two" is deprecated`},
		{"docs/adr/0002-x.md", "# Two\n\nThe status: is unclear to all.\n", `Decision 0002 "Two"`},
		{"docs/adr/0002-x.md", "in the middle of it", ""},
	} {
		if !isDecision(tt.name) {
			t.Errorf("%s is no record", tt.name)
		}
		if got := decided(tt.name, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{"docs/0001-intro.md", "adr/README.md", "decisions/index.md", "adr.go", "migrations/0001-init.sql"} {
		if isDecision(name) {
			t.Errorf("%s is a record", name)
		}
	}
}

// The records of a real project: each has a title and a status.
func TestDecisionsOfARealProject(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(evaldata.Dir(t, "adr"), "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	status := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := "docs/adr/" + filepath.Base(file)
		if !isDecision(name) {
			continue
		}
		d := decided(name, string(text))
		if d == "" {
			t.Errorf("%s: nothing", name)
		}
		_, is, _ := strings.Cut(d, "\" is ")
		status[is]++
	}
	t.Logf("%d files: %v", len(files), status)
	if status["accepted"] < len(files)/2 || status[""] > len(files)/10 {
		t.Errorf("status of %d records: %v", len(files), status)
	}
}
