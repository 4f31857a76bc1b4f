package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// wheelTags say where a wheel fits. The program is static on Linux, so every libc will do; Go 1.26 needs macOS 12.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

// wheel packs the program for pip: as a script, which pip puts beside python; the module ken_layer, which finds it; and
// the package ken, the client.
func (r *release) wheel(t target) error {
	v, tag := r.version.python(), wheelTags[t.os+"/"+t.arch]
	base := "ken_layer-" + v
	program := t.program
	program.name = base + ".data/scripts/" + program.name
	files := []file{program}
	modules, err := r.pythonFiles()
	if err != nil {
		return err
	}
	files = append(files, modules...)
	info := base + ".dist-info/"
	files = append(files, within(info+"licenses", r.licence)...)

	// A compressed set of tags in the name is one line each in WHEEL.
	var wheel bytes.Buffer
	wheel.WriteString("Wheel-Version: 1.0\nGenerator: ken packaging\nRoot-Is-Purelib: false\n")
	for platform := range strings.SplitSeq(tag, ".") {
		fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", platform)
	}
	files = append(files,
		file{info + "METADATA", 0o644, fmt.Appendf(nil, wheelMetadata, v, r.readme.data)},
		file{info + "WHEEL", 0o644, wheel.Bytes()})

	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{info + "RECORD", 0o644, record.Bytes()})

	data, err := zipped(files, r.time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-py3-none-%s.whl", base, tag), data)
}

// pythonFiles returns the Python files of packaging/python, by name. What Python compiled beside them is left out.
func (r *release) pythonFiles() (files []file, err error) {
	root := filepath.Join(r.root, "packaging", "python")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" && d.Name() != "py.typed" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	return files, err
}

const wheelMetadata = `Metadata-Version: 2.4
Name: ken-layer
Version: %s
Summary: The knowledge layer for LLM agents: the program ken and its client
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICE
Requires-Python: >=3.10
Project-URL: Source, https://github.com/kenlayer/ken
Keywords: llm,agents,memory,rag,mcp
Classifier: Environment :: Console
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

%s`
