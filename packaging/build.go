package main

import (
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var allPlatforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// target is the program built for one platform.
type target struct {
	os, arch string
	program  file
	info     *buildinfo.BuildInfo
}

// name is the name of a file of this target: ken_1.2.3_linux_amd64 and an ending.
func (r *release) name(t target, ending string) string {
	return fmt.Sprintf("ken_%s_%s_%s%s", r.version, t.os, t.arch, ending)
}

// build builds the program, and learns the version and the time of the release from it.
func (r *release) build(work, platform string) (target, error) {
	var t target
	t.os, t.arch, _ = strings.Cut(platform, "/")
	name := "ken"
	if t.os == "windows" {
		name += ".exe"
	}
	path := filepath.Join(work, t.os+"_"+t.arch, name)
	start := time.Now()
	if err := r.compile(path, t.os, t.arch); err != nil {
		return t, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return t, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	t.info, t.program = info, file{name, 0o755, data}
	v := versionOf(info.Main.Version)
	if r.version != "" && r.version != v {
		return t, fmt.Errorf("build for %s: it is version %s, and the platform before it was %s: leave the clone alone meanwhile", platform, v, r.version)
	}
	r.version = v
	if r.time, err = timeOf(info, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return t, err
	}
	log.Printf("%s: ken %s, %.1f MB, built in %.0f s", platform, r.version, float64(len(data))/1e6, time.Since(start).Seconds())
	return t, nil
}

func (r *release) compile(path, goos, goarch string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", path, "./cmd/ken")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s/%s: %w", goos, goarch, err)
	}
	return nil
}

// host builds the program for this machine, to ask it what it knows of itself.
func (r *release) host(work string) (string, error) {
	path := filepath.Join(work, "host", "ken")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path, r.compile(path, runtime.GOOS, runtime.GOARCH)
}

// timeOf is SOURCE_DATE_EPOCH, else the time of the commit, else the first time that a zip file can hold.
func timeOf(info *buildinfo.BuildInfo, epoch string) (time.Time, error) {
	if epoch != "" {
		s, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", epoch)
		}
		return time.Unix(s, 0).UTC(), nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return time.Parse(time.RFC3339, s.Value)
		}
	}
	return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), nil
}
