package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user of the container, as distroless images have it.
const nonroot = 65532

// image makes a container image: an OCI layout in a tar file, which podman, skopeo and crane read, with the manifest.json
// that docker load reads. It holds the program, the roots of trust for HTTPS and a folder for the data: no shell, no libc.
func (r *release) image(t target) error {
	base, err := r.layer([]entry{
		{name: "data/", dir: true, mode: 0o700, owner: nonroot},
		{name: "etc/", dir: true, mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nken:x:65532:\n")},
		{name: "etc/ken/", dir: true, mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/sbin/nologin\nken:x:65532:65532:Ken:/nonexistent:/sbin/nologin\n")},
		{name: "etc/ssl/", dir: true, mode: 0o755},
		{name: "etc/ssl/certs/", dir: true, mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots()},
		{name: "tmp/", dir: true, mode: 0o1777},
		{name: "usr/", dir: true, mode: 0o755},
		{name: "usr/share/", dir: true, mode: 0o755},
		{name: "usr/share/doc/", dir: true, mode: 0o755},
		{name: "usr/share/doc/ken/", dir: true, mode: 0o755},
		{name: "usr/share/doc/ken/LICENSE", mode: 0o644, data: r.licence[0].data},
		{name: "usr/share/doc/ken/NOTICE", mode: 0o644, data: r.licence[1].data},
	})
	if err != nil {
		return err
	}
	program, err := r.layer([]entry{
		{name: "usr/bin/", dir: true, mode: 0o755},
		{name: "usr/bin/ken", mode: 0o755, data: t.program.data},
	})
	if err != nil {
		return err
	}
	layers := []layer{base, program}

	config := imageConfig{
		Created: r.time.Format("2006-01-02T15:04:05Z"), Architecture: t.arch, OS: "linux",
		Config: containerConfig{
			User:         fmt.Sprintf("%d:%d", nonroot, nonroot),
			ExposedPorts: map[string]struct{}{"8484/tcp": {}},
			// A home folder is no project. The user's data is in the one folder of the volume that is never indexed.
			Env: []string{"PATH=/usr/bin", "HOME=/nonexistent", "XDG_CONFIG_HOME=/etc", "XDG_STATE_HOME=/data/.ken/state/.user",
				"XDG_DATA_HOME=/data/.ken/state/.user"},
			Entrypoint: []string{"/usr/bin/ken"}, Cmd: []string{"serve", "--listen", "0.0.0.0:8484", "--log", "json"},
			Volumes: map[string]struct{}{"/data": {}}, WorkingDir: "/data", StopSignal: "SIGTERM",
			Labels: map[string]string{
				"org.opencontainers.image.title": "ken", "org.opencontainers.image.description": "The knowledge layer for LLM agents",
				"org.opencontainers.image.version": string(r.version), "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.source": "https://github.com/kenlayer/ken",
			},
		},
		RootFS: rootFS{Type: "layers"},
	}
	for _, l := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, "sha256:"+hex.EncodeToString(l.plain[:]))
	}
	return r.layout(t, config, layers)
}

// imageConfig, descriptor and manifest are the JSON documents of an image: see the OCI image specification.
type imageConfig struct {
	Created      string          `json:"created"`
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Config       containerConfig `json:"config"`
	RootFS       rootFS          `json:"rootfs"`
}

type containerConfig struct {
	User         string
	ExposedPorts map[string]struct{}
	Env          []string
	Entrypoint   []string
	Cmd          []string
	Volumes      map[string]struct{}
	WorkingDir   string
	Labels       map[string]string
	StopSignal   string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

// layout writes the tar file of an image.
func (r *release) layout(t target, config imageConfig, layers []layer) error {
	const oci = "application/vnd.oci.image."
	var entries []entry
	blob := func(mediaType string, data []byte) descriptor {
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		entries = append(entries, entry{name: "blobs/sha256/" + digest, mode: 0o644, data: data})
		return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(data)}
	}
	path := func(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }
	m := manifest{SchemaVersion: 2, MediaType: oci + "manifest.v1+json"}
	tag := "kenlayer/ken:" + dots(string(r.version))
	docker := []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{{RepoTags: []string{tag}}}
	for _, l := range layers {
		d := blob(oci+"layer.v1.tar+gzip", l.data)
		m.Layers = append(m.Layers, d)
		docker[0].Layers = append(docker[0].Layers, path(d))
	}
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	d := blob(oci+"config.v1+json", data)
	m.Config, docker[0].Config = &d, path(d)
	if data, err = json.Marshal(m); err != nil {
		return err
	}
	d = blob(m.MediaType, data)
	d.Platform = map[string]string{"os": "linux", "architecture": t.arch}
	d.Annotations = map[string]string{"io.containerd.image.name": "docker.io/" + tag, "org.opencontainers.image.ref.name": dots(string(r.version))}
	index, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: oci + "index.v1+json", Manifests: []descriptor{d}})
	if err != nil {
		return err
	}
	old, err := json.Marshal(docker)
	if err != nil {
		return err
	}
	entries = append(entries,
		entry{name: "index.json", mode: 0o644, data: index},
		entry{name: "manifest.json", mode: 0o644, data: old},
		entry{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	all, err := r.tar(append([]entry{{name: "blobs/", dir: true, mode: 0o755}, {name: "blobs/sha256/", dir: true, mode: 0o755}}, entries...))
	if err != nil {
		return err
	}
	return r.write(r.name(t, "_image.tar"), all)
}

// entry is a file or folder of an image.
type entry struct {
	name  string
	dir   bool
	mode  int64
	owner int
	data  []byte
}

// layer is a compressed tar file, with the checksum of what it was before.
type layer struct {
	data  []byte
	plain [sha256.Size]byte
}

func (r *release) layer(entries []entry) (layer, error) {
	plain, err := r.tar(entries)
	if err != nil {
		return layer{}, err
	}
	data, err := gzipped(plain)
	return layer{data, sha256.Sum256(plain)}, err
}

func (r *release) tar(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)), ModTime: r.time}
		if e.dir {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := t.Close()
	return b.Bytes(), err
}

// roots is the list of certificate authorities that Mozilla trusts, as golang.org/x/crypto keeps it.
func roots() []byte {
	var all []string
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file has no room for its condition
		}
		all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})))
	}
	slices.Sort(all)
	var b bytes.Buffer
	for _, c := range all {
		b.WriteString(c)
	}
	return b.Bytes()
}
