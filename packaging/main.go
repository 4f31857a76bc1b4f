// Command packaging makes the files of a release, and uploads nothing:
//
//	packaging -out dist -platforms linux/amd64,darwin/arm64
//
// For each platform it builds the program and packs it: an archive, a Python wheel, an npm package and a bill of
// materials; for Linux also a deb, an rpm, an apk and a container image. Then come the files that name the others: the npm
// package @kenlayer/ken, a Homebrew formula, a Scoop manifest and SHA256SUMS.
//
// The version is what the go command reads from git. Every file carries the time of the commit, or SOURCE_DATE_EPOCH, so
// the same commit and the same Go give the same bytes.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packaging: ")
	out := flag.String("out", "dist", "the `folder` to write to; what an earlier run left there is removed")
	root := flag.String("root", ".", "the `folder` of the repository")
	platforms := flag.String("platforms", strings.Join(allPlatforms, ","), "the platforms to build for, as `os/arch,…`")
	flag.Parse()
	if err := run(*root, *out, strings.FieldsFunc(*platforms, func(r rune) bool { return r == ',' || r == ' ' })); err != nil {
		log.Fatal(err)
	}
}

// file is a file of a package.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// release holds the data that the packages of all platforms share.
type release struct {
	root, out string
	version   version
	time      time.Time // of every file
	licence   []file    // LICENSE and NOTICE
	readme    file
	manual    []file // man pages, named as in share/man: man1/ken.1
	complete  map[string]file
	targets   []target
	linked    []module // into the program of any platform
}

func run(root, out string, platforms []string) error {
	if len(platforms) == 0 {
		return fmt.Errorf("-platforms: name at least one, such as linux/amd64")
	}
	for _, p := range platforms {
		if !slices.Contains(allPlatforms, p) {
			return fmt.Errorf("-platforms: %q is none of %s", p, strings.Join(allPlatforms, ", "))
		}
	}
	r := &release{root: root, out: out}
	if err := clear(out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "ken-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, p := range platforms {
		t, err := r.build(work, p)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
	}
	if err := r.read(); err != nil {
		return err
	}
	if r.complete, err = r.completions(work); err != nil {
		return err
	}
	return r.pack()
}

// pack writes the packages of every target, and what names them.
func (r *release) pack() error {
	var jobs []func() error
	for _, t := range r.targets {
		packs := []func(target) error{r.archive, r.wheel, r.npmPlatform, r.bill}
		if t.os == "linux" {
			packs = append(packs, r.linuxPackages, r.image)
		}
		for _, pack := range packs {
			jobs = append(jobs, func() error {
				if err := pack(t); err != nil {
					return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
				}
				return nil
			})
		}
	}
	if err := atOnce(jobs); err != nil {
		return err
	}
	for _, list := range []func() error{r.npmMain, r.formulas, r.sums} {
		if err := list(); err != nil {
			return err
		}
	}
	return nil
}

// atOnce runs jobs, as many at a time as there are processors: most of them compress.
func atOnce(jobs []func() error) error {
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() {
			free <- struct{}{}
			errs[i] = job()
			<-free
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// read reads and makes what the packages share.
func (r *release) read() error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "README.md"))
	if err != nil {
		return err
	}
	notice, err := r.notice()
	if err != nil {
		return err
	}
	r.licence = []file{{"LICENSE", 0o644, licence}, {"NOTICE", 0o644, notice}}
	r.readme = file{"README.md", 0o644, readme}
	r.manual, err = r.pages()
	return err
}

// clear empties the folder of an earlier run. It removes nothing from a folder that holds anything else.
func clear(out string) error {
	entries, err := os.ReadDir(out)
	if os.IsNotExist(err) {
		return os.MkdirAll(out, 0o755)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, sumsName)); err != nil && len(entries) > 0 {
		return fmt.Errorf("-out: %s holds files, and no release: give another folder, or empty it", out)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(out, e.Name())); err != nil {
			return err
		}
	}
	// A run that fails leaves a folder that the next one may empty.
	return os.WriteFile(filepath.Join(out, sumsName), nil, 0o644)
}

// write puts a file into the folder of the release.
func (r *release) write(name string, data []byte) error {
	log.Printf("%-68s %5.1f MB", name, float64(len(data))/1e6)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

const sumsName = "SHA256SUMS"

// sums writes the checksums of all files, as sha256sum -c reads them.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() == sumsName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum(data), e.Name())
	}
	return r.write(sumsName, []byte(b.String()))
}

// sum is the SHA-256 of data in hexadecimal.
func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
