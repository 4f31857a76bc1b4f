package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/kenlayer/ken"
)

// home returns the user's home folder: HOME, or else the one that the system knows.
func home() (string, error) {
	if dir, err := os.UserHomeDir(); err == nil && filepath.IsAbs(dir) {
		return dir, nil
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir, nil
	}
	return "", errors.New("there is no home folder")
}

// ConfigFile returns the path of the user's own configuration, which need not exist; "" without a home folder.
func ConfigFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			h, err := home()
			if err != nil {
				return ""
			}
			dir = filepath.Join(h, ".config")
		}
	}
	return filepath.Join(dir, "ken", "config.yaml")
}

// OwnFolders returns the folders of the user's own configuration, data and state of Ken, as real
// paths. They need not exist.
func OwnFolders() (out []string) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = ""
		if h, err := home(); err == nil {
			state = filepath.Join(h, ".local", "state")
		}
	}
	for _, dir := range []string{filepath.Dir(ConfigFile()), DataFolder(), filepath.Join(state, "ken")} {
		if filepath.IsAbs(dir) {
			out = append(out, Real(dir))
		}
	}
	return out
}

// folder returns the user's own state folder for a project in root, which need not exist. A folder that the project
// contains is not accepted.
func folder(root string) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		h, err := home()
		if err != nil {
			return "", noFolder(err)
		}
		dir = filepath.Join(h, ".local", "state")
	}
	dir = filepath.Join(dir, "ken")
	if Brought(root, dir) {
		return "", noFolder(errors.New(dir + " came with the project"))
	}
	return dir, nil
}

func noFolder(err error) error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "no folder for what belongs to this user alone", Err: err,
		Try: "Set XDG_STATE_HOME to a folder that is kept, outside of the project."}
}

// IsHome reports whether a folder is too broad to be a project: the root of the file system, a home folder, or a
// folder that contains it.
func IsHome(root string) bool {
	root = Real(root)
	if root == filepath.Dir(root) {
		return true
	}
	h, err := home()
	return err == nil && Inside(root, Real(h))
}

// Real returns the absolute path with symbolic links resolved, as far as it exists.
func Real(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		if target, err := os.Readlink(at); err == nil { // a link to what does not exist yet
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			return filepath.Join(target, rest)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Inside reports whether path is dir or below it. Both are real paths.
func Inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// key returns the name under which files for the project in root are stored.
func key(root string) string {
	sum := sha256.Sum256([]byte(Real(root)))
	return hex.EncodeToString(sum[:16])
}

// DataFolder returns the user's own folder for data that all projects share, which need not exist:
// $XDG_DATA_HOME/ken, or the system's default; "" without a home folder.
func DataFolder() string {
	dir := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) {
		h, err := home()
		switch {
		case runtime.GOOS == "windows" && filepath.IsAbs(os.Getenv("LocalAppData")):
			dir = os.Getenv("LocalAppData")
		case err != nil:
			return ""
		case runtime.GOOS == "darwin":
			dir = filepath.Join(h, "Library", "Application Support")
		default:
			dir = filepath.Join(h, ".local", "share")
		}
	}
	return filepath.Join(dir, "ken")
}
