package trust

import (
	"os"
	"path/filepath"
	"runtime"
)

// DataFolder is the user's own folder for data that all projects share, which need not exist: $XDG_DATA_HOME/ken, or
// what the system has for it; "" without a home folder.
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
