package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// npmNames maps Go's names of operating systems and processors to those of Node.
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
	Type                 string            `json:"type,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Exports              json.RawMessage   `json:"exports,omitempty"` // in its order, which counts
	Files                []string          `json:"files"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PeerDependencies     map[string]string `json:"peerDependencies,omitempty"`
	PeerDependenciesMeta json.RawMessage   `json:"peerDependenciesMeta,omitempty"`
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

// npmMain packs what people install: packaging/npm as it is, with a version, and with the package of each platform as an
// optional dependency.
func (r *release) npmMain() error {
	root := os.DirFS(filepath.Join(r.root, "packaging", "npm"))
	about, err := fs.ReadFile(root, "package.json")
	if err != nil {
		return err
	}
	var p npmPackage
	dec := json.NewDecoder(bytes.NewReader(about))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return fmt.Errorf("packaging/npm/package.json: %w", err)
	}
	p.OptionalDependencies = map[string]string{}
	for _, t := range r.targets {
		p.OptionalDependencies["@kenlayer/"+npmName(t)] = string(r.version)
	}
	files := append(slices.Clone(r.licence), r.readme)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".mjs" && !strings.HasSuffix(name, ".d.mts") {
			return err
		}
		data, err := fs.ReadFile(root, name)
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		files = append(files, file{name, mode, data})
		return err
	})
	if err != nil {
		return err
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
