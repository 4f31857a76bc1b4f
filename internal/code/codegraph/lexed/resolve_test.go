package lexed

import (
	"os"
	"testing"
)

// repo is a repository with these files; those with a content can be read.
func repo(files map[string]string) *Set {
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	return New(Options{Files: paths, Read: func(p string) ([]byte, error) {
		if files[p] == "" {
			return nil, os.ErrNotExist
		}
		return []byte(files[p]), nil
	}})
}

func TestImportsOfScripts(t *testing.T) {
	set := repo(map[string]string{
		"web/tsconfig.json": `{
			// comments and commas are allowed
			"extends": "../tsconfig.base.json",
			"compilerOptions": {"paths": {"@/*": ["./src/*"], "@/special": ["./special.ts"], "exact": ["./src/exact.ts"],}},
		}`,
		"tsconfig.base.json":        `{"compilerOptions": {"baseUrl": "web"}}`,
		"packages/ui/package.json":  `{"name": "@shop/ui", "main": "dist/main.js"}`,
		"packages/old/package.json": `{"name": "old", "main": "./lib/old.js"}`,
		"broken/tsconfig.json":      `{`,
		"web/src/a.ts":              "", "web/src/util.ts": "", "web/src/util.js": "", "web/src/view.tsx": "", "web/src/deep/index.ts": "", "web/src/types.d.ts": "", "web/src/exact.ts": "", "web/special.ts": "", "web/top.ts": "",
		"packages/ui/src/index.ts": "", "packages/ui/src/button.tsx": "", "packages/old/lib/old.js": "", "broken/a.ts": "", "broken/b.mjs": "",
	})
	for _, tt := range []struct{ from, spec, target, scope string }{
		{"web/src/a.ts", "./util", "file:web/src/util.ts", "web/src/util"},
		{"web/src/a.ts", "./util.js", "file:web/src/util.js", "web/src/util"},
		{"web/src/a.ts", "./view.js", "file:web/src/view.tsx", "web/src/view"},
		{"web/src/a.ts", "./deep", "file:web/src/deep/index.ts", "web/src/deep/index"},
		{"web/src/a.ts", "./types", "file:web/src/types.d.ts", "web/src/types"},
		{"web/src/a.ts", "./gone", "", ""},
		{"web/src/a.ts", "../../../outside", "", ""},
		{"web/src/a.ts", "@/util", "file:web/src/util.ts", "web/src/util"},
		{"web/src/a.ts", "@/special", "file:web/special.ts", "web/special"},
		{"web/src/a.ts", "exact", "file:web/src/exact.ts", "web/src/exact"},
		{"web/src/a.ts", "top", "file:web/top.ts", "web/top"},
		{"web/src/a.ts", "@shop/ui", "file:packages/ui/src/index.ts", "packages/ui/src/index"},
		{"web/src/a.ts", "@shop/ui/button", "file:packages/ui/src/button.tsx", "packages/ui/src/button"},
		{"web/src/a.ts", "old", "file:packages/old/lib/old.js", "packages/old/lib/old"},
		{"web/src/a.ts", "@other/x/y", "package:@other/x", ""},
		{"web/src/a.ts", "react/jsx-runtime", "package:react", ""},
		{"broken/a.ts", "./b?raw", "file:broken/b.mjs", "broken/b"},
	} {
		if target, scope := set.scripts.resolve(tt.from, tt.spec); target != tt.target || scope != tt.scope {
			t.Errorf("%s imports %q: %q, %q, want %q, %q", tt.from, tt.spec, target, scope, tt.target, tt.scope)
		}
	}
	// Without a list of files the path alone says what names begin with.
	if target, scope := New(Options{}).scripts.resolve("src/a.ts", "../b/c.js"); target != "" || scope != "b/c" {
		t.Errorf("without files: %q, %q", target, scope)
	}
}

func TestModulesOfPython(t *testing.T) {
	set := repo(map[string]string{
		"src/shop/__init__.py": "", "src/shop/cart.py": "", "src/shop/db/__init__.py": "", "src/shop/db/model.py": "",
		"tools/run.py": "", "tools/helper.py": "", "backend/app/views.py": "", "setup.py": "",
		"src/acme/cloud/logging/__init__.py": "", "src/acme/cloud/logging/sink.py": "", // namespace packages
		"kits/acme-mail/pyproject.toml": "", "kits/acme-mail/acme/mail/__init__.py": "", "kits/acme-mail/acme/mail/post.py": "",
		"services/web/site/__init__.py": "", "services/web/site/page.py": "", "python/fast/__init__.py": "",
	})
	for file, want := range map[string]string{
		"src/shop/cart.py": "shop.cart", "src/shop/__init__.py": "shop", "src/shop/db/model.py": "shop.db.model", "tools/run.py": "tools.run", "setup.py": "setup", "src/plain.py": "plain",
		"src/acme/cloud/logging/__init__.py": "acme.cloud.logging", "src/acme/cloud/logging/sink.py": "acme.cloud.logging.sink", "kits/acme-mail/acme/mail/post.py": "acme.mail.post",
		"services/web/site/page.py": "services.web.site.page", "python/fast/__init__.py": "fast",
	} {
		if got := set.python.module(file); got != want {
			t.Errorf("module of %s is %s, want %s", file, got, want)
		}
	}
	for _, tt := range []struct {
		from, name, want string
		ours             bool
	}{
		{"src/shop/cart.py", "shop.db.model", "shop.db.model", true},
		{"tools/run.py", "helper", "tools.helper", true},
		{"setup.py", "app.views", "backend.app.views", true},
		{"setup.py", "numpy.linalg", "numpy.linalg", false},
		{"setup.py", "shop.gone", "shop.gone", true},
		{"setup.py", "acme.cloud.logging.sink", "acme.cloud.logging.sink", true},
		{"setup.py", "logging", "logging", false},
		{"services/web/site/__init__.py", "site.page", "services.web.site.page", true}, // the folders around it are no packages after all
	} {
		if got, ours := set.python.resolve(tt.from, tt.name); got != tt.want || ours != tt.ours {
			t.Errorf("%s imports %s: %s, %t, want %s, %t", tt.from, tt.name, got, ours, tt.want, tt.ours)
		}
	}
}

func TestModulesOfRust(t *testing.T) {
	set := repo(map[string]string{
		"Cargo.toml": "[workspace]\nmembers = [\"a\"]\n", "a/Cargo.toml": "[package]\nname = \"my-crate\"\n\n[[bin]]\nname = \"x\"\n",
		"a/src/lib.rs": "", "a/src/net/mod.rs": "", "a/src/net/tcp.rs": "", "a/src/bin/tool.rs": "", "a/tests/it.rs": "", "b/src/main.rs": "",
		"c/Cargo.toml": "[package]\nname = \"c-py\"\n[lib]\nname = \"c\"\npath = \"src/core.rs\"\n[[bin]]\nname = \"one\"\npath = \"cmd/one.rs\"\n[[bin]]\nname = \"two\"\npath = \"cmd/two.rs\"\n[[test]]\nname = \"t\"\npath = \"tests/t.rs\"\n[dependencies.x]\npath = \"cmd/x\"\n",
	})
	for file, want := range map[string]string{
		"a/src/lib.rs": "my_crate", "a/src/net/mod.rs": "my_crate.net", "a/src/net/tcp.rs": "my_crate.net.tcp", "a/src/bin/tool.rs": "tool", "a/tests/it.rs": "my_crate.tests.it", "b/src/main.rs": "b", "loose.rs": "crate.loose",
		"c/src/core.rs": "c", "c/src/net.rs": "c.net", "c/cmd/one.rs": "one", "c/cmd/two.rs": "two", "c/cmd/util.rs": "c.cmd.util", "c/tests/t.rs": "c.tests.t",
	} {
		if got := set.rust.module(file); got != want {
			t.Errorf("module of %s is %s, want %s", file, got, want)
		}
	}
	for _, tt := range []struct {
		scope string
		path  []string
		want  string
		ours  bool
	}{
		{"my_crate.net.tcp", []string{"crate", "Error"}, "my_crate.Error", true},
		{"my_crate.net.tcp", []string{"super", "super", "Error"}, "my_crate.Error", true},
		{"my_crate", []string{"net", "tcp", "Conn"}, "my_crate.net.tcp.Conn", true},
		{"b", []string{"my_crate", "net", "Conn"}, "my_crate.net.Conn", true},
		{"my_crate.tests.it", []string{"crate", "helper"}, "my_crate.tests.it.helper", true},
		{"b", []string{"serde", "Serialize"}, "serde.Serialize", false},
		{"b", []string{"super", "super", "super", "X"}, "X", true},
	} {
		if got, ours := set.rust.absolute(tt.scope, tt.path); got != tt.want || ours != tt.ours {
			t.Errorf("%v in %s: %s, %t, want %s, %t", tt.path, tt.scope, got, ours, tt.want, tt.ours)
		}
	}
}

func TestHeaders(t *testing.T) {
	set := repo(map[string]string{"lib/a.c": "", "lib/util.h": "", "include/lib/list.h": "", "other/util.h": "", "other/x/list.h": "", "test/t.c": ""})
	for _, tt := range []struct {
		from, spec string
		angle      bool
		want       string
	}{
		{"lib/a.c", "util.h", false, "lib/util.h"},
		{"lib/a.c", "lib/list.h", false, "include/lib/list.h"},
		{"lib/a.c", "lib/list.h", true, "include/lib/list.h"},
		{"lib/a.c", "stdio.h", true, ""},
		{"lib/a.c", "util.h", true, ""},
		{"test/t.c", "../lib/util.h", false, "lib/util.h"},
		{"other/x/b.c", "util.h", false, "other/util.h"},
		{"lib/a.c", "gone.h", false, ""},
	} {
		if got, ok := set.header(tt.from, tt.spec, tt.angle); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s includes %s: %q, want %q", tt.from, tt.spec, got, tt.want)
		}
	}
}
