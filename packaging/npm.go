package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// npmNames are what Node calls systems and processors.
var npmNames = map[string]string{"amd64": "x64", "arm64": "arm64", "windows": "win32", "linux": "linux", "darwin": "darwin"}

// npmPackage is a package.json.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Repository           string            `json:"repository"`
	Keywords             []string          `json:"keywords,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Exports              map[string]any    `json:"exports,omitempty"`
	Files                []string          `json:"files"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func npmName(t target) string { return "ken-" + npmNames[t.os] + "-" + npmNames[t.arch] }

// npmPlatform packs the program of one platform, which npm installs on that platform alone.
func (r *release) npmPlatform(t target) error {
	name := npmName(t)
	p := npmPackage{
		Name: "@kenlayer/" + name, Description: "The program ken for " + npmNames[t.os] + " " + npmNames[t.arch] + ": install @kenlayer/ken",
		OS: []string{npmNames[t.os]}, CPU: []string{npmNames[t.arch]}, PreferUnplugged: true, Files: []string{"bin"},
	}
	program := t.program
	program.name = "bin/" + program.name
	return r.npm(name, p, append(slices.Clone(r.licence), program))
}

// npmMain packs the package that people install. It has a package of each platform as an optional dependency.
func (r *release) npmMain() error {
	p := npmPackage{
		Name: "@kenlayer/ken", Description: "The knowledge layer for LLM agents",
		Keywords: []string{"llm", "agents", "memory", "rag", "mcp"}, Engines: map[string]string{"node": ">=18"},
		Bin:                  map[string]string{"ken": "bin/ken.mjs"},
		Exports:              map[string]any{".": map[string]string{"types": "./index.d.mts", "default": "./index.mjs"}, "./package.json": "./package.json"},
		Files:                []string{"bin", "index.mjs", "index.d.mts"},
		OptionalDependencies: map[string]string{},
	}
	for _, t := range r.targets {
		p.OptionalDependencies["@kenlayer/"+npmName(t)] = string(r.version)
	}
	files := append(slices.Clone(r.licence), r.readme)
	for _, name := range []string{"bin/ken.mjs", "index.mjs", "index.d.mts"} {
		data, err := os.ReadFile(filepath.Join(r.root, "packaging", "npm", filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if name == "bin/ken.mjs" {
			mode = 0o755
		}
		files = append(files, file{name, mode, data})
	}
	return r.npm("ken", p, files)
}

// npm packs as npm pack does: everything lies in a folder named package.
func (r *release) npm(name string, p npmPackage, files []file) error {
	p.Version, p.License, p.Repository = string(r.version), "Apache-2.0", "github:kenlayer/ken"
	about, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	files = append([]file{{"package.json", 0o644, append(about, '\n')}}, files...)
	data, err := tarred(within("package", files), r.time)
	if err != nil {
		return err
	}
	return r.write("kenlayer-"+name+"-"+string(r.version)+".tgz", data)
}
