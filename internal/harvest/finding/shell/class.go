package shell

import (
	"path"
	"slices"
	"strings"
)

// trivial holds programs from whose runs nothing is learned, whatever their
// arguments: they show something or tidy up.
var trivial = set(`ls ll cat bat cd pwd echo printf head tail grep egrep fgrep rg ag ack nl wc which whereis type whoami
	id date true false : sleep clear history file stat du df ps top tree sort uniq cut tr diff cmp less more man test [ export set
	unset alias mkdir rmdir touch cp mv rm ln chmod chown kill pkill killall jobs wait read xxd hexdump od base64 md5sum sha256sum
	realpath readlink basename dirname env printenv hostname uname uptime free lsof pgrep jq yq column xargs tee fd exit source .
	pushd popd apply_patch open code vim nano awk`)

// lookups holds subcommands that change nothing, by program.
var lookups = map[string]map[string]bool{
	"git": set(`status diff log show branch rev-parse remote blame ls-files ls-tree grep shortlog describe reflog config
		cat-file for-each-ref rev-list whatchanged worktree stash help version merge-base symbolic-ref check-ignore`),
	"docker":    set("ps logs images inspect version info stats top port"),
	"podman":    set("ps logs images inspect version info stats top port"),
	"kubectl":   set("get describe logs explain version config top"),
	"go":        set("env version list doc help"),
	"npm":       set("ls list view info config outdated why help root prefix"),
	"pnpm":      set("ls list why outdated"),
	"yarn":      set("list why info"),
	"pip":       set("list show freeze"),
	"pip3":      set("list show freeze"),
	"cargo":     set("tree metadata search version"),
	"brew":      set("list info search"),
	"gh":        set("auth status issue pr run api repo"),
	"systemctl": set("status list-units"),
}

// routine holds subcommands whose success is nothing to learn, by program.
var routine = map[string]map[string]bool{
	"git": set("add commit checkout switch restore pull push fetch merge rebase reset tag cherry-pick rm mv clone init clean apply am"),
}

// globals holds options that take the next word as their value and precede the
// subcommand.
var globals = set("-C -c --git-dir --work-tree -n --namespace --context -f --file -H --host")

// class reports whether a simple command is trivial or routine.
func class(words []word) (isTrivial, isRoutine bool) {
	if len(words) == 0 {
		return true, true
	}
	name := path.Base(words[0].value)
	args := words[1:]
	switch {
	case trivial[name]:
		return true, true
	case name == "sed":
		return !slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.value, "-i") || w.value == "--in-place" }), true
	case name == "find":
		return !slices.ContainsFunc(args, func(w word) bool { return w.value == "-delete" || strings.HasPrefix(w.value, "-exec") }), true
	case len(args) == 1 && asksItself(args[0].value), len(args) > 0 && (args[len(args)-1].value == "--help" || args[0].value == "help"):
		return true, true
	}
	sub := subcommand(args)
	return lookups[name][sub], routine[name][sub]
}

// asksItself reports whether v is an option or subcommand with which a program
// only prints its version or help.
func asksItself(v string) bool {
	return v == "--version" || v == "-version" || v == "-V" || v == "-v" || v == "-h" || v == "version"
}

func subcommand(args []word) string {
	for i := 0; i < len(args); i++ {
		v := args[i].value
		if !strings.HasPrefix(v, "-") {
			return v
		}
		if globals[v] {
			i++
		}
	}
	return ""
}

// interpreters holds programs that accept code as an argument.
var interpreters = set("python python3 python2 node deno bun ruby perl php bash sh zsh lua Rscript psql sqlite3 mysql osascript")

// hasOwnCode reports whether a command contains its own code. Two such commands look
// alike without the code, but are unrelated.
func hasOwnCode(words []word) bool {
	if len(words) == 0 {
		return false
	}
	name := path.Base(words[0].value)
	if name == "uv" || name == "poetry" || name == "pipenv" {
		return len(words) > 2 && words[1].value == "run" && hasOwnCode(words[2:])
	}
	if !interpreters[name] {
		return false
	}
	for _, w := range words[1:] {
		switch w.value {
		case "-c", "-e", "-r", "-p", "-lc", "--eval", "--command", "-":
			return true
		case "-m": // a module by name
			return false
		}
		if !strings.HasPrefix(w.value, "-") {
			return false
		}
	}
	return len(words) == 1 // reads its code from standard input
}
