package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// module is a module that is linked into the program.
type module struct {
	path, version, sum string
	texts              []file // its licence files
	licence            string // their name in the SPDX list
}

// linked returns the modules of a program, without the main one.
func linked(deps []*debug.Module) []*debug.Module {
	found := make([]*debug.Module, len(deps))
	for i, d := range deps {
		if d.Replace != nil {
			d = d.Replace
		}
		found[i] = d
	}
	return found
}

// modules reads the licences of all modules that are linked on any platform, by path. One without a known licence is an
// error: such a release must not go out.
func (r *release) modules() ([]module, error) {
	sums := map[string]string{}
	for _, t := range r.targets {
		for _, d := range linked(t.info.Deps) {
			sums[d.Path+"@"+d.Version] = d.Sum
		}
	}
	args := slices.AppendSeq([]string{"mod", "download", "-json"}, maps.Keys(sums))
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the modules: %w", err)
	}
	found := []module{{path: "the Go standard library", version: runtime.Version(), texts: nil}}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	if found[0].texts, err = licences(strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var m struct{ Path, Version, Dir string }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		texts, err := licences(m.Dir)
		if err != nil {
			return nil, err
		}
		found = append(found, module{path: m.Path, version: m.Version, sum: sums[m.Path+"@"+m.Version], texts: texts})
	}
	for i := range found {
		m := &found[i]
		for _, text := range m.texts {
			m.licence = cmp.Or(m.licence, licenceName(string(text.data)))
		}
		if m.licence == "" {
			return nil, fmt.Errorf("%s %s: no file there has a licence that is known: teach licenceName of it", m.path, m.version)
		}
	}
	slices.SortFunc(found, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return found, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences reads the licence files at the top of a folder.
func licences(folder string) ([]file, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var texts []file
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, file{name: e.Name(), data: data})
	}
	return texts, nil
}

// licenceName names a licence by its wording; "" for one that is not known.
func licenceName(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("Apache License") && has("Version 2.0"):
		return "Apache-2.0"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("names of its contributors")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	}
	return ""
}

// notice is the text that a copy of the program has to come with: the licences of what is in it.
func (r *release) notice() ([]byte, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	r.linked = modules
	var b bytes.Buffer
	b.WriteString("Ken\nCopyright the Ken authors, licensed under the Apache License 2.0: see LICENSE.\n\n" +
		"The program contains the following, each under its own licence.\n")
	seen := map[string]string{}
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), m.path, m.version, m.licence)
		for _, text := range m.texts {
			words := strings.Join(strings.Fields(string(text.data)), " ")
			if with, ok := seen[words]; ok {
				fmt.Fprintf(&b, "\n-- %s: the same text as that of %s --\n", text.name, with)
				continue
			}
			seen[words] = m.path
			fmt.Fprintf(&b, "\n-- %s --\n\n%s\n", text.name, bytes.TrimSpace(text.data))
		}
	}
	err = r.ownNotices(&b)
	return b.Bytes(), err
}

// attributions is the name of a file that credits the works from which a part of the program was computed.
const attributions = "SOURCES.md"

// ownNotices adds the licences and attributions of what the repository itself took from others.
func (r *release) ownNotices(b *bytes.Buffer) error {
	return filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != r.root && (name[0] == '.' || slices.Contains([]string{"bin", "dist", "clients", "packaging", "node_modules", "testdata"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		folder, err := filepath.Rel(r.root, filepath.Dir(path))
		if err != nil || folder == "." || name != attributions && !licenceFile.MatchString(name) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n%s\nparts of %s\n\n-- %s --\n\n%s\n", strings.Repeat("=", 80), filepath.ToSlash(folder), name, bytes.TrimSpace(data))
		return nil
	})
}

// bill writes the software bill of materials of one platform, in CycloneDX.
func (r *release) bill(t target) error {
	known := map[string]module{}
	for _, m := range r.linked {
		known[m.path] = m
	}
	licence := func(id string) *cdx.Licenses { return &cdx.Licenses{{License: &cdx.License{ID: id}}} }
	own := "pkg:golang/github.com/kenlayer/ken@v" + string(r.version)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: "ken", Version: string(r.version), PackageURL: own,
			Licenses: licence("Apache-2.0"), Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum(t.program.data)}},
			Properties: &[]cdx.Property{{Name: "platform", Value: t.os + "/" + t.arch}, {Name: "go", Value: t.info.GoVersion}},
		},
	}
	components, refs := []cdx.Component{}, []string{}
	add := func(path, version, sum, licenceID string) {
		ref := "pkg:golang/" + path + "@" + version
		refs = append(refs, ref)
		c := cdx.Component{BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: ref, Licenses: licence(licenceID)}
		if sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
		}
		components = append(components, c)
	}
	add("std", strings.TrimPrefix(t.info.GoVersion, "go"), "", "BSD-3-Clause")
	for _, d := range linked(t.info.Deps) {
		add(d.Path, d.Version, d.Sum, known[d.Path].licence)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &refs}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return r.write(r.name(t, ".cdx.json"), b.Bytes())
}
