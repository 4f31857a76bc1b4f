package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"path"
	"slices"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// archive packs the program for people who unpack it by hand.
func (r *release) archive(t target) error {
	folder := r.name(t, "")
	files := slices.Concat([]file{t.program, r.readme}, r.licence)
	if t.os == "windows" {
		files = append(files, r.complete["powershell"])
		data, err := zipped(within(folder, files), r.time)
		if err != nil {
			return err
		}
		return r.write(folder+".zip", data)
	}
	files = append(files, within("man", r.manual)...)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		files = append(files, within("completions", []file{r.complete[shell]})...)
	}
	data, err := tarred(within(folder, files), r.time)
	if err != nil {
		return err
	}
	return r.write(folder+".tar.gz", data)
}

// within puts files into a folder.
func within(folder string, files []file) []file {
	moved := make([]file, len(files))
	for i, f := range files {
		f.name = path.Join(folder, f.name)
		moved[i] = f
	}
	return moved
}

// tarred is a tar file of regular files, compressed. The same files and time give the same bytes.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return gzipped(b.Bytes())
}

// gzipped compresses as far as gzip can, without a name or a time. The library makes less of the
// program than the standard one does: 0.1 MB, which the wheel needs.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	g, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := g.Write(data); err != nil {
		return nil, err
	}
	if err := g.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped is a zip file.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
