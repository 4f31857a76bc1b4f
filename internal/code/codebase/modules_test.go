package codebase_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestUsesOverModules follows uses through imports, re-exports, the hierarchy of classes and the types of values. A
// line of want is "from kind to"; with "no " before it, there must be none.
func TestUsesOverModules(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"python: a package hands names on", map[string]string{
			"src/shop/__init__.py": "from .helpers import go as go\nfrom .cart import Cart\nfrom . import tools\n",
			"src/shop/helpers.py":  "def go():\n    pass\n",
			"src/shop/tools.py":    "def mend():\n    pass\n",
			"src/shop/cart.py":     "class Cart:\n    def total(self):\n        pass\n",
			"use.py":               "import shop\nfrom shop import go\n\ndef a():\n    shop.go()\n\ndef b():\n    go()\n\ndef c():\n    shop.tools.mend()\n\ndef d():\n    shop.Cart().total()\n",
		}, `use.a calls shop.helpers.go
			use.b calls shop.helpers.go
			use.c calls shop.tools.mend
			use.d calls shop.cart.Cart.total`},
		{"python: a namespace package", map[string]string{
			"src/zone/face/__init__.py": "from zone.face.verify import check\n",
			"src/zone/face/verify.py":   "def check():\n    pass\n",
			"src/zone/face/use.py":      "from zone.face.verify import check\nimport zone.face\n\ndef a():\n    check()\n\ndef b():\n    zone.face.check()\n",
		}, `zone.face.use.a calls zone.face.verify.check
			zone.face.use.b calls zone.face.verify.check`},
		{"python: a star hands all names on", map[string]string{
			"shop/__init__.py": "from .deep import *\n",
			"shop/deep.py":     "from .deeper import *\n",
			"shop/deeper.py":   "from .deep import *\n__all__ = ['go']\ndef go():\n    pass\n",
			"use.py":           "import shop\n\ndef a():\n    shop.go()\n    shop.gone()\n",
		}, `use.a calls shop.deeper.go`},
		{"python: methods of what a class inherits", map[string]string{
			"shop/__init__.py": "from .base import Base\n",
			"shop/base.py":     "class Root:\n    limit = 3\n    def open(self):\n        pass\n\nclass Base(Root):\n    def shut(self):\n        pass\n",
			"shop/other.py":    "class Other:\n    def open(self):\n        pass\n    def shut(self):\n        pass\n",
			"use.py":           "import shop\nfrom shop.other import Other\n\nclass Mine(shop.Base):\n    def open(self):\n        super().open()\n    def a(self):\n        self.shut()\n        return self.limit\n\ndef b(m: Mine, o: Other):\n    m.shut()\n    m.open()\n",
		}, `use.Mine.open calls shop.base.Root.open
			use.Mine.a calls shop.base.Base.shut
			use.Mine.a references shop.base.Root.limit
			use.b calls shop.base.Base.shut
			use.b calls use.Mine.open
			no use.b calls shop.other.Other.shut
			no use.b calls shop.other.Other.open`},
		{"python: types of locals", map[string]string{
			"shop.py": "class Cart:\n    size = 1\n    def total(self):\n        pass\n    def __enter__(self):\n        return self\n\nclass Shelf:\n    size = 1\n    cart: Cart\n    def total(self):\n        pass\n    def take(self) -> 'Cart | None':\n        pass\n\ndef make():\n    c = Cart()\n    return c\n",
			"use.py":  "from shop import Cart, Shelf, make\nimport typing as t\n\ndef a():\n    x = Cart()\n    return x.size\n\ndef b(x: t.Optional[Cart]):\n    x.total()\n\ndef c(x):\n    if isinstance(x, Cart):\n        x.total()\n\ndef d():\n    with Cart() as x:\n        x.total()\n\ndef e(s: Shelf):\n    s.take().total()\n\ndef f(s: Shelf):\n    s.cart.total()\n\ndef g():\n    make().total()\n\ndef h():\n    x = Cart()\n    x = Shelf()\n    x.total()\n\ndef k():\n    x = {}\n    x.total()\n",
		}, `use.a references shop.Cart.size
			no use.a references shop.Shelf.size
			use.b calls shop.Cart.total
			use.c calls shop.Cart.total
			use.d calls shop.Cart.total
			use.e calls shop.Cart.total
			use.f calls shop.Cart.total
			use.f references shop.Shelf.cart
			use.g calls shop.Cart.total
			use.h calls shop.Shelf.total
			no use.h calls shop.Cart.total`},
		{"python: decorators and fixtures", map[string]string{
			"shop/__init__.py":       "from .app import App\n",
			"shop/app.py":            "class App:\n    debug = 1\n    def before(self, f):\n        return f\n    def route(self, path):\n        pass\n",
			"shop/blue.py":           "class Blue:\n    def before(self, f):\n        return f\n",
			"tests/conftest.py":      "import pytest\nimport shop\n\n@pytest.fixture\ndef app():\n    app = shop.App()\n    yield app\n",
			"tests/deep/conftest.py": "",
			"tests/deep/test_x.py":   "def test_one(app):\n    @app.before\n    def f():\n        pass\n    assert app.debug\n",
		}, `tests.deep.test_x.test_one calls shop.app.App.before
			tests.deep.test_x.test_one references shop.app.App.debug
			no tests.deep.test_x.test_one calls shop.blue.Blue.before`},
		{"typescript: namespaces and stars", map[string]string{
			"core/index.ts":   "export * from \"./schemas.js\";\nexport * as tools from \"./tools\";\nexport { hidden as shown } from \"./schemas\";\n",
			"core/schemas.ts": "export interface Text extends Base { size: number }\nexport interface Base { min(n: number): Text }\nexport function text(): Text { return make(); }\nexport function hidden() {}\n",
			"core/tools.ts":   "export const mend = (): void => {};\n",
			"use.ts":          "import * as core from \"./core/index.js\";\nexport interface Mine extends core.Text {}\nexport function a() { core.text().min(3); }\nexport function b() { core.tools.mend(); }\nexport function c() { core.shown(); }\nexport function d(m: Mine) { return m.size; }\n",
		}, `use.Mine inherits core/schemas.Text
			use.a calls core/schemas.text
			use.a calls core/schemas.Base.min
			use.b calls core/tools.mend
			use.c calls core/schemas.hidden
			use.d references core/schemas.Text.size`},
		{"typescript: export maps", map[string]string{
			"lib/package.json":  `{"name": "kit", "exports": {".": {"types": "./dist/index.d.ts", "source": "./code/main.ts"}, "./parts/*": {"import": ["./dist/parts/*.js", "./code/*.ts"]}}}`,
			"lib/code/main.ts":  "export default class Kit { run() {} }\nexport function go() {}\n",
			"lib/code/wheel.ts": "export function turn() {}\n",
			"app/use.ts":        "import Kit, { go } from \"kit\";\nimport { turn } from \"kit/parts/wheel\";\nexport function a() { go(); turn(); }\nexport function b() { const k = new Kit(); k.run(); }\n",
		}, `app/use.a calls lib/code/main.go
			app/use.a calls lib/code/wheel.turn
			app/use.b calls lib/code/main.Kit.run`},
		{"javascript: what modules export", map[string]string{
			"index.js":      "module.exports = require('./lib/main');\n",
			"lib/main.js":   "const Router = require('./router');\nfunction create() { return new Router(); }\nmodule.exports = { create, Router, make: create };\n",
			"lib/router.js": "class Router { use() {} }\nmodule.exports = Router;\n",
			"use.js":        "const kit = require('./index');\nfunction a() { kit.make(); }\nfunction b() { const r = new kit.Router(); r.use(); }\n",
		}, `use.a calls lib/main.create
			use.b calls lib/router.Router.use`},
		{"csharp: types of a namespace that the project uses, and methods of a base type", map[string]string{
			"Directory.Build.props": "<Project><ItemGroup><Using Include=\"Shop.Timing\" /></ItemGroup></Project>\n",
			"src/Timing.cs":         "namespace Shop.Timing;\ninternal static class Validator {\n  internal static void Check(int s) {}\n  static void Own() {}\n}\nclass Clock { }\n",
			"src/Policy.cs":         "namespace Shop;\npublic class Policy {\n  public void A(int s) { Validator.Check(s); }\n  public void B() { var c = new Clock(); }\n}\n",
			"src/Base.cs":           "namespace Shop.Tests;\npublic class Base { protected void FixClock() {} }\n",
			"src/Mine.cs":           "namespace Shop.Tests;\npublic class Mine : Base { public void C() { FixClock(); } }\n",
		}, `Shop.Policy.A calls Shop.Timing.Validator.Check
			Shop.Policy.B references Shop.Timing.Clock
			Shop.Tests.Mine.C calls Shop.Tests.Base.FixClock`},
		{"rust: a crate hands names on", map[string]string{
			"shop/Cargo.toml":    "[package]\nname = \"my-shop\"\n",
			"shop/src/lib.rs":    "pub use crate::cart::{make, Cart};\nmod cart;\n",
			"shop/src/cart.rs":   "pub struct Cart;\nimpl Cart { pub fn new() -> Cart { Cart } }\npub fn make() {}\npub fn own() { Cart::new(); }\n#[cfg(test)]\nmod tests { use crate::{make, Cart}; fn t() { make(); } }\n",
			"kit/Cargo.toml":     "[package]\nname = \"kit\"\n",
			"kit/src/lib.rs":     "pub extern crate my_shop as shop;\npub mod all;\n",
			"kit/src/all/mod.rs": "pub use my_shop::*;\n",
			"app/Cargo.toml":     "[package]\nname = \"app\"\n",
			"app/src/main.rs":    "use my_shop::Cart;\nfn a() { Cart::new(); }\nfn b() { kit::shop::make(); }\nfn c() { kit::all::make(); my_shop::gone(); }\n",
		}, `my_shop.cart.own calls my_shop.cart.Cart.new
			my_shop.cart.tests.t calls my_shop.cart.make
			app.a calls my_shop.cart.Cart.new
			app.a references my_shop.cart.Cart
			app.b calls my_shop.cart.make
			app.c calls my_shop.cart.make`},
		{"rust: root files that Cargo.toml names, and macros", map[string]string{
			"Cargo.toml":           "[package]\nname = \"tool\"\nautotests = false\n[[bin]]\npath = \"crates/core/main.rs\" # here\nname = \"tl\"\n[[test]]\nname = \"integration\"\npath = \"tests/all.rs\"\n",
			"crates/core/main.rs":  "mod flags;\n#[macro_use]\nmod say;\n",
			"crates/core/flags.rs": "use crate::say::warn;\nfn a() { warn(); crate::say::warn(); complain!(\"x\"); }\n",
			"crates/core/say.rs":   "#[macro_export]\nmacro_rules! complain { () => {} }\npub fn warn() {}\n",
			"tests/all.rs":         "mod util;\nmod deep;\n",
			"tests/util.rs":        "pub fn help() {}\n",
			"tests/deep.rs":        "use crate::util::help;\nfn b() { help(); }\n",
		}, `tl.flags.a calls tl.say.warn
			tl.flags.a calls tl.say.complain
			integration.deep.b calls integration.util.help`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, project(t, c.files))
			build(t, g)
			for line := range strings.Lines(c.want) {
				w := strings.Fields(line)
				check := has
				if w[0] == "no" {
					check, w = hasNot, w[1:]
				}
				check(t, g.View(), w[0], codegraph.EdgeKind(w[1]), w[2])
			}
		})
	}
}

// TestModulesChange changes what modules hand on and what values are: edges of files that did not change follow.
func TestModulesChange(t *testing.T) {
	files := map[string]string{
		"shop/__init__.py": "from .a import go, make\n",
		"shop/a.py":        "from .kinds import Cart\n\ndef go():\n    pass\n\ndef make() -> Cart:\n    pass\n",
		"shop/b.py":        "def go():\n    pass\n",
		"shop/kinds.py":    "class Cart:\n    def total(self):\n        pass\n\nclass Shelf:\n    def total(self):\n        pass\n",
		"use.py":           "import shop\n\ndef x():\n    shop.go()\n\ndef y():\n    shop.make().total()\n",
	}
	root := project(t, files)
	g := open(t, root)
	build(t, g)
	has(t, g.View(), "use.x", codegraph.Calls, "shop.a.go")
	has(t, g.View(), "use.y", codegraph.Calls, "shop.kinds.Cart.total")
	change := func(name, text string) {
		t.Helper()
		files[name] = text
		write(t, root, map[string]string{name: text})
		update(t, g, name)
		fresh := open(t, project(t, files))
		build(t, fresh)
		if got, want := exportOf(t, g.View()), exportOf(t, fresh.View()); got != want {
			t.Errorf("after a change of %s, the graph is not as if built anew", name)
		}
	}
	change("shop/__init__.py", "from .b import go\nfrom .a import make\n")
	has(t, g.View(), "use.x", codegraph.Calls, "shop.b.go")
	hasNot(t, g.View(), "use.x", codegraph.Calls, "shop.a.go")
	change("shop/__init__.py", "from .b import *\nfrom .a import make\n")
	has(t, g.View(), "use.x", codegraph.Calls, "shop.b.go")
	change("shop/a.py", "from .kinds import Shelf\n\ndef make() -> Shelf:\n    pass\n")
	has(t, g.View(), "use.y", codegraph.Calls, "shop.kinds.Shelf.total")
	hasNot(t, g.View(), "use.y", codegraph.Calls, "shop.kinds.Cart.total")
	change("shop/b.py", "def gone():\n    pass\n")
	hasNot(t, g.View(), "use.x", codegraph.Calls, "shop.b.go")
}

func exportOf(t *testing.T, v *codegraph.View) string {
	t.Helper()
	var b strings.Builder
	if err := v.ExportJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
