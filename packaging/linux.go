package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/apk"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// linuxPackages makes the packages of Linux distributions.
func (r *release) linuxPackages(t target) error {
	work, err := os.MkdirTemp("", "ken-linux-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, p := range []struct {
		nfpm.Packager
		version string
		systemd bool
	}{
		{deb.Default, r.version.deb(), true},
		{rpm.DefaultRPM, r.version.deb(), true},
		{apk.Default, r.version.apk(), false}, // Alpine has no systemd
	} {
		contents, err := r.linuxFiles(work, t, p.systemd)
		if err != nil {
			return err
		}
		info := &nfpm.Info{
			Name: "ken", Arch: t.arch, Platform: "linux", Version: p.version, VersionSchema: "none", MTime: r.time,
			Section: "utils", Priority: "optional", License: "Apache-2.0", Homepage: "https://github.com/kenlayer/ken",
			Maintainer: "The Ken authors <noreply@github.com>", Vendor: "The Ken authors",
			Description: "Knowledge layer for LLM agents\n Ken decides before every model call what the agent should know for this turn,\n and keeps what was learned.",
			Overridables: nfpm.Overridables{
				Contents: contents,
				Suggests: []string{"git"},
				RPM:      nfpm.RPM{Summary: "Knowledge layer for LLM agents", BuildHost: "localhost", Compression: "gzip"},
			},
		}
		if p.systemd {
			info.Scripts = nfpm.Scripts{
				PostInstall: filepath.Join(r.root, "packaging", "files", "postinstall.sh"),
				PreRemove:   filepath.Join(r.root, "packaging", "files", "preremove.sh"),
			}
		}
		info = nfpm.WithDefaults(info)
		name := p.ConventionalFileName(info)
		if err := nfpm.PrepareForPackager(info, filepath.Ext(name)[1:]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var b bytes.Buffer
		if err := p.Package(info, &b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.write(name, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// linuxFiles lays the files of a package into work, and says where each goes.
func (r *release) linuxFiles(work string, t target, systemd bool) (files.Contents, error) {
	var contents files.Contents
	add := func(kind, destination string, f file) error {
		source := filepath.Join(work, filepath.FromSlash(destination))
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: source, Destination: destination, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time}})
		return os.WriteFile(source, f.data, 0o644)
	}
	type placed struct {
		kind, destination string
		file              file
	}
	doc := "/usr/share/doc/ken/"
	all := []placed{
		{"", "/usr/bin/ken", t.program},
		{"", "/usr/share/bash-completion/completions/ken", r.complete["bash"]},
		{"", "/usr/share/zsh/vendor-completions/_ken", r.complete["zsh"]},
		{"", "/usr/share/fish/vendor_completions.d/ken.fish", r.complete["fish"]},
		{"", doc + "README.md", r.readme},
		{"", doc + "copyright", r.licence[0]},
		{"", doc + "NOTICE", r.licence[1]},
	}
	for _, page := range r.manual {
		data, err := gzipped(page.data)
		if err != nil {
			return nil, err
		}
		all = append(all, placed{"", "/usr/share/man/" + page.name + ".gz", file{mode: 0o644, data: data}})
	}
	example, err := os.ReadFile(filepath.Join(r.root, "config.example.yaml"))
	if err != nil {
		return nil, err
	}
	all = append(all, placed{"", doc + "config.example.yaml", file{mode: 0o644, data: example}})
	if systemd {
		for _, f := range []struct{ kind, name, destination string }{
			{"", "ken.service", "/usr/lib/systemd/system/ken.service"},
			{"", "sysusers.conf", "/usr/lib/sysusers.d/ken.conf"},
			{files.TypeConfigNoReplace, "config.yaml", "/etc/ken/config.yaml"},
		} {
			data, err := os.ReadFile(filepath.Join(r.root, "packaging", "files", f.name))
			if err != nil {
				return nil, err
			}
			all = append(all, placed{f.kind, f.destination, file{mode: 0o644, data: data}})
		}
	}
	for _, p := range all {
		if err := add(p.kind, p.destination, p.file); err != nil {
			return nil, err
		}
	}
	return contents, nil
}
