package taint

import "strings"

// secretFiles are parts of paths that lead to what should not be read.
var secretFiles = []string{".ssh/", "id_rsa", "id_ed25519", "authorized_keys", ".aws/credentials", ".git-credentials", ".netrc", ".kube/config",
	".docker/config", "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/cron", ".bash_history", ".gnupg/", "wallet.dat", "/proc/self/environ"}

// roots are the first folders of paths outside a project. A path that begins
// otherwise may be a route of an API.
var roots = set(`home users root etc var srv opt mnt media data private volumes boot proc sys run tmp workspace workspaces`)

// minPathParts is how deep a path is that is distinctive: /srv/data/x.
const minPathParts, minPathBytes = 3, 12

// maxPathParts is how deep a path may be; each of its folders is looked up.
const maxPathParts = 64

// path reads a path outside a project, or to a secret, whatever is before it.
func (t *tokens) path(c string) bool {
	c = strings.ReplaceAll(c, `\`, "/")
	if i := strings.IndexByte(c, ':'); i == 1 { // a drive
		c = c[2:]
	} else if i > 0 && strings.HasPrefix(c[i+1:], "/") { // host:/path, and file:///path
		c = c[i+1:]
	}
	for _, s := range secretFiles {
		if i := strings.Index(c, s); i >= 0 {
			t.add("s", strings.TrimRight(c[i:], "/"), sure)
			return true
		}
	}
	c = strings.TrimRight(c, "/")
	parts := strings.Split(strings.TrimLeft(c, "/"), "/")
	home := strings.HasPrefix(c, "~/") || strings.HasPrefix(c, "$home/")
	if !home && (!strings.HasPrefix(c, "/") || !roots[parts[0]]) || len(parts) < 2 {
		return false
	}
	if len(parts) > maxPathParts {
		return false
	}
	var folders []string
	for n, f := len(parts)-1, c; n >= 2; n-- {
		f = f[:strings.LastIndexByte(f, '/')]
		folders = append(folders, f)
	}
	var within []uint64
	for i := len(folders) - 1; i >= 0; i-- {
		t.add("p", folders[i], parent, within...)
		within = append(within[:len(within):len(within)], hash("p"+folders[i]))
	}
	t.add("p", c, unless(len(parts) >= minPathParts && len(c) >= minPathBytes), within...)
	return true
}
