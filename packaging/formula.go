package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// download is where the files of a release will lie.
func (r *release) download(name string) string {
	return "https://github.com/kenlayer/ken/releases/download/v" + string(r.version) + "/" + name
}

// formulas writes a Homebrew formula and a Scoop manifest, of the platforms that were built.
func (r *release) formulas() error {
	type place struct{ URL, SHA256 string }
	places := map[string]place{}
	for _, t := range r.targets {
		ending := ".tar.gz"
		if t.os == "windows" {
			ending = ".zip"
		}
		name := r.name(t, ending)
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		places[t.os+"/"+t.arch] = place{r.download(name), sum(data)}
	}
	var b bytes.Buffer
	err := formula.Execute(&b, map[string]any{
		"Version": r.version,
		"Systems": []map[string]any{
			{"Name": "macos", "Processors": map[string]place{"arm": places["darwin/arm64"], "intel": places["darwin/amd64"]}},
			{"Name": "linux", "Processors": map[string]place{"arm": places["linux/arm64"], "intel": places["linux/amd64"]}},
		},
	})
	if err != nil {
		return err
	}
	if err := r.write("ken.rb", b.Bytes()); err != nil {
		return err
	}

	scoop := map[string]any{}
	for platform, name := range map[string]string{"windows/amd64": "64bit", "windows/arm64": "arm64"} {
		if p, ok := places[platform]; ok {
			_, arch, _ := strings.Cut(platform, "/")
			scoop[name] = map[string]string{"url": p.URL, "hash": p.SHA256, "extract_dir": r.name(target{os: "windows", arch: arch}, "")}
		}
	}
	if len(scoop) == 0 {
		return nil
	}
	data, err := json.MarshalIndent(map[string]any{
		"version": r.version, "description": "The knowledge layer for LLM agents", "homepage": "https://github.com/kenlayer/ken",
		"license": "Apache-2.0", "architecture": scoop, "bin": "ken.exe",
	}, "", "    ")
	if err != nil {
		return err
	}
	return r.write("ken.json", append(data, '\n'))
}

var formula = template.Must(template.New("formula").Parse(`class Ken < Formula
  desc "Knowledge layer for LLM agents"
  homepage "https://github.com/kenlayer/ken"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}{{if or .Processors.arm.URL .Processors.intel.URL}}
  on_{{.Name}} do
{{- range $name, $at := .Processors}}{{if $at.URL}}
    on_{{$name}} do
      url "{{$at.URL}}"
      sha256 "{{$at.SHA256}}"
    end
{{- end}}{{end}}
  end
{{end}}{{end}}
  def install
    bin.install "ken"
    man1.install Dir["man/man1/*"]
    man5.install Dir["man/man5/*"]
    bash_completion.install "completions/ken.bash" => "ken"
    zsh_completion.install "completions/_ken"
    fish_completion.install "completions/ken.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ken --version")
  end
end
`))
