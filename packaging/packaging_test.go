package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersionOfEachKindOfPackage(t *testing.T) {
	for _, c := range []struct{ module, semantic, python, deb, apk string }{
		{"v1.2.3", "1.2.3", "1.2.3", "1.2.3", "1.2.3"},
		{"v1.2.3-rc.1", "1.2.3-rc.1", "1.2.3rc1", "1.2.3~rc.1", "1.2.3_rc1"},
		{"v1.2.3-beta2", "1.2.3-beta2", "1.2.3b2", "1.2.3~beta2", "1.2.3_beta2"},
		{"v0.0.0-20261126114703-960789750f37", "0.0.0-20261126114703-960789750f37", "0.0.0.dev20261126114703+g960789750f37", "0.0.0~20261126114703.960789750f37", "0.0.0_pre20261126114703"},
		{"v1.2.4-0.20261126114703-960789750f37+dirty", "1.2.4-0.20261126114703-960789750f37+dirty", "1.2.4.dev20261126114703+g960789750f37.dirty", "1.2.4~0.20261126114703.960789750f37+dirty", "1.2.4_pre20261126114703"},
		{"v1.2.3+dirty", "1.2.3+dirty", "1.2.3+dirty", "1.2.3+dirty", "1.2.3"},
		{"(devel)", "0.0.0-devel", "0.0.0.dev0+devel", "0.0.0~devel", "0.0.0_pre0"},
	} {
		v := versionOf(c.module)
		if string(v) != c.semantic || v.python() != c.python || v.deb() != c.deb || v.apk() != c.apk {
			t.Errorf("%s: %s, python %s, deb %s, apk %s", c.module, v, v.python(), v.deb(), v.apk())
		}
	}
}

func TestTimeIsOfTheCommit(t *testing.T) {
	info := &buildinfo.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-26T11:43:09Z"}}}
	for epoch, want := range map[string]string{"": "2026-11-26T11:43:09Z", "0": "1970-01-01T00:00:00Z"} {
		if at, err := timeOf(info, epoch); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", epoch, at, err)
		}
	}
	if _, err := timeOf(info, "yesterday"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("yesterday: %v", err)
	}
}

// fake is a release of programs that do nothing, with one module linked.
func fake(t *testing.T, platforms ...string) *release {
	t.Helper()
	r := &release{root: "..", out: t.TempDir(), version: "1.2.3", time: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/google/uuid")
	list.Dir = r.root
	version, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		name := "ken"
		if system == "windows" {
			name = "ken.exe"
		}
		r.targets = append(r.targets, target{os: system, arch: arch, program: file{name, 0o755, bytes.Repeat([]byte(p), 1000)},
			info: &buildinfo.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "github.com/google/uuid", Version: strings.TrimSpace(string(version))}}}})
	}
	r.complete = map[string]file{}
	for shell, name := range map[string]string{"bash": "ken.bash", "zsh": "_ken", "fish": "ken.fish", "powershell": "ken.ps1"} {
		r.complete[shell] = file{name, 0o644, []byte(shell)}
	}
	if err := r.read(); err != nil {
		t.Fatal(err)
	}
	if err := r.pack(); err != nil {
		t.Fatal(err)
	}
	return r
}

// content is every file of a release by name.
func content(t *testing.T, r *release) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(r.out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestTheSameBytesTwice(t *testing.T) {
	first, second := content(t, fake(t, allPlatforms...)), content(t, fake(t, allPlatforms...))
	if a, b := slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)); !slices.Equal(a, b) {
		t.Fatalf("%v, then %v", a, b)
	}
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
	// 6 platforms × archive, wheel, npm, bill; 2 × deb, rpm, apk, image; npm, Homebrew, Scoop, sums.
	if len(first) != 6*4+2*4+4 {
		t.Errorf("%d files: %v", len(first), slices.Sorted(maps.Keys(first)))
	}
}

// The wheel has the client with its types, each file in RECORD, and nothing that Python compiled.
func TestWheelHasTheClient(t *testing.T) {
	files := content(t, fake(t, "linux/amd64"))
	var wheel []byte
	for name, data := range files {
		if strings.HasSuffix(name, ".whl") {
			wheel = data
		}
	}
	if wheel == nil {
		t.Fatal("no wheel")
	}
	r, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	record, err := r.Open("ken_layer-1.2.3.dist-info/RECORD")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := io.ReadAll(record)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		if !strings.Contains(string(listed), f.Name+",") {
			t.Errorf("%s is not in RECORD", f.Name)
		}
		if strings.Contains(f.Name, "__pycache__") || strings.Contains(f.Name, ".mypy_cache") {
			t.Error(f.Name)
		}
	}
	for _, want := range []string{"ken/__init__.py", "ken/_client.py", "ken/langchain.py", "ken/py.typed", "ken_layer/__main__.py", "ken_layer/py.typed"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %v", want, names)
		}
	}
}

func TestFormulaNamesWhatWasBuilt(t *testing.T) {
	r := fake(t, "linux/arm64")
	files := content(t, r)
	formula, archive := string(files["ken.rb"]), files["ken_1.2.3_linux_arm64.tar.gz"]
	if !strings.Contains(formula, sum(archive)) || !strings.Contains(formula, "on_arm") || strings.Contains(formula, "on_macos") || strings.Contains(formula, "on_intel") {
		t.Errorf("%s", formula)
	}
	if _, ok := files["ken.json"]; ok {
		t.Error("a Scoop manifest without a program for Windows")
	}
}

func TestLicencesAreKnown(t *testing.T) {
	r := fake(t, "linux/amd64")
	notice := string(r.licence[1].data)
	for _, want := range []string{"github.com/google/uuid", "the Go standard library", "parts of guardrail", "all-MiniLM-L6-v2", "BSD-3-Clause"} {
		if !strings.Contains(notice, want) {
			t.Errorf("NOTICE does not name %s", want)
		}
	}
	if got := licenceName("You may do as you please."); got != "" {
		t.Errorf("an unknown licence is taken for %s", got)
	}
}

func TestEveryCommandHasAPage(t *testing.T) {
	r := fake(t, "linux/amd64")
	var names []string
	for _, page := range r.manual {
		names = append(names, page.name)
		if text := string(page.data); !strings.Contains(text, "\n.TH ken") && !strings.HasPrefix(text, ".TH ken") || regexp.MustCompile(`\]\(|<!--`).MatchString(text) {
			t.Errorf("%s: %.200s", page.name, text)
		}
	}
	for _, want := range []string{"man1/ken.1", "man1/ken-ask.1", "man1/ken-decision-create.1", "man5/ken-config-file.5"} {
		if !slices.Contains(names, want) {
			t.Errorf("no page %s in %v", want, names)
		}
	}
}

func TestAForeignFolderIsLeftAlone(t *testing.T) {
	out := t.TempDir()
	mine := filepath.Join(out, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clear(out); err == nil || !strings.Contains(err.Error(), "-out") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if err := run("..", t.TempDir(), []string{"plan9/386"}); err == nil || !strings.Contains(err.Error(), "plan9/386") {
		t.Errorf("got %v", err)
	}
}

// Everything that the npm package exports and runs is in it, with the version.
func TestTheNpmPackageIsWhole(t *testing.T) {
	files := unpacked(t, content(t, fake(t, "linux/amd64", "windows/arm64"))["kenlayer-ken-1.2.3.tgz"])
	var p struct {
		Version, Type string
		Bin           map[string]string
		Exports       map[string]json.RawMessage
		Optional      map[string]string `json:"optionalDependencies"`
		Peers         map[string]string `json:"peerDependencies"`
	}
	if err := json.Unmarshal(files["package/package.json"], &p); err != nil {
		t.Fatal(err)
	}
	if p.Version != "1.2.3" || p.Type != "module" || p.Peers["ai"] == "" ||
		!maps.Equal(p.Optional, map[string]string{"@kenlayer/ken-linux-x64": "1.2.3", "@kenlayer/ken-win32-arm64": "1.2.3"}) {
		t.Errorf("%s", files["package/package.json"])
	}
	names := slices.Collect(maps.Values(p.Bin))
	for _, raw := range p.Exports {
		var to struct{ Types, Default string }
		if json.Unmarshal(raw, &to) == nil {
			names = append(names, to.Types, to.Default)
			if !bytes.HasPrefix(bytes.Join(bytes.Fields(raw), nil), []byte(`{"types"`)) {
				t.Errorf("types must come first: %s", raw)
			}
		}
	}
	imported := regexp.MustCompile(`(?:from|import\()\s*"\./([^"]+)"`)
	for name, data := range files {
		for _, m := range imported.FindAllSubmatch(data, -1) {
			names = append(names, path.Join(path.Dir(strings.TrimPrefix(name, "package/")), string(m[1])))
		}
	}
	for _, name := range names {
		if files["package/"+path.Clean(name)] == nil {
			t.Errorf("%s is not in the package: %v", name, slices.Sorted(maps.Keys(files)))
		}
	}
	if len(names) < 15 {
		t.Errorf("only %v", names)
	}
}

// unpacked is what a compressed tar holds.
func unpacked(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
