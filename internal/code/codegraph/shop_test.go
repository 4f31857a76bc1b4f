package codegraph

// shop is a small project in several languages.
func shop() []File {
	decl := func(k Kind, q string, parent, line int, sig string) Decl {
		return Decl{Kind: k, Name: lastPart(q), Qualified: q, Parent: parent, Line: line, End: line + 3, Exported: true, Signature: sig}
	}
	const cart, pay = "example.com/shop/cart", "example.com/shop/pay"
	return []File{
		{Path: "cart/line.go", Hash: "sha256:1", Language: "go", Within: "package:" + cart, Scopes: []string{cart}, Decls: []Decl{
			decl(KindType, cart+".Line", -1, 5, "type Line struct"),
			decl(KindProperty, cart+".Line.Amount", 0, 6, "Amount int"),
			decl(KindInterface, cart+".Pricer", -1, 9, "type Pricer interface"),
			decl(KindMethod, cart+".Pricer.Price", 2, 10, "Price(l Line) int"),
			decl(KindFunction, cart+".New", -1, 14, "func New(p Pricer) Line"),
		}, Imports: []Import{{Path: "fmt", Target: "package:fmt", Line: 3}}, Uses: []Use{
			{From: 4, Kind: References, Name: cart + ".Line", Qualified: true, Line: 14},
			{From: 4, Kind: Calls, Name: ".Price", Line: 15},
			{From: 4, Kind: Calls, Name: "fmt.Println", Qualified: true, Line: 16},
		}},
		{Path: "cart/total.go", Hash: "sha256:2", Language: "go", Within: "package:" + cart, Scopes: []string{cart}, Decls: []Decl{
			decl(KindMethod, cart+".Line.Total", -1, 7, "func (l Line) Total() int"),
		}, Imports: []Import{{Path: pay, Target: "package:" + pay, Line: 3}}, Uses: []Use{
			{From: 0, Kind: Calls, Name: pay + ".Charge", Qualified: true, Line: 8},
			{From: 0, Kind: Calls, Name: "New", Line: 9},
		}},
		{Path: "cart/total_test.go", Hash: "sha256:3", Language: "go", Test: true, Within: "package:" + cart, Scopes: []string{cart}, Decls: []Decl{
			decl(KindFunction, cart+".TestNew", -1, 5, "func TestNew(t *testing.T)"),
		}, Imports: []Import{{Path: "testing", Target: "package:testing", Line: 3}}, Uses: []Use{{From: 0, Kind: Calls, Name: ".Total", Line: 6}}},
		{Path: "pay/charge.go", Hash: "sha256:4", Language: "go", Within: "package:" + pay, Scopes: []string{pay}, Decls: []Decl{
			decl(KindFunction, pay+".Charge", -1, 3, "func Charge()"), decl(KindVariable, pay+".key", -1, 9, `const key = "AKIAQX3TB5ZLWN7YJ2DM"`),
		}},
		{Path: "src/shop/stock.py", Hash: "sha256:5", Language: "python", Within: "package:src.shop.stock", Decls: []Decl{
			decl(KindType, "src.shop.stock.Stock", -1, 1, "class Stock"), decl(KindMethod, "src.shop.stock.Stock.take", 0, 2, "def take(self, n)"),
		}},
		{Path: "src/shop/order.py", Hash: "sha256:6", Language: "python", Within: "package:src.shop.order", Decls: []Decl{
			decl(KindFunction, "src.shop.order.place", -1, 4, "def place(stock)"),
		}, Imports: []Import{{Path: "shop.stock", Target: "package:shop.stock", Line: 1}, {Path: "json", Target: "package:json", Line: 2}}, Uses: []Use{
			{From: 0, Kind: References, Name: "shop.stock.Stock", Qualified: true, Line: 4}, {From: 0, Kind: Calls, Name: ".take", Line: 5},
		}},
		{Path: "web/cart.ts", Hash: "sha256:7", Language: "typescript", Decls: []Decl{decl(KindFunction, "web/cart.render", -1, 3, "export function render(): void")},
			Imports: []Import{{Path: "./money", Target: "file:web/money", Line: 1}, {Path: "react", Target: "package:react", Line: 2}}, Uses: []Use{
				{From: 0, Kind: Calls, Name: "web/money.format", Qualified: true, Line: 4},
			}},
		{Path: "web/money.ts", Hash: "sha256:8", Language: "typescript", Decls: []Decl{decl(KindFunction, "web/money.format", -1, 1, "export function format(n: number)")}},
		{Path: "web/money.test.ts", Hash: "sha256:9", Language: "typescript", Test: true, Imports: []Import{{Path: "./money", Target: "file:web/money", Line: 1}},
			Uses: []Use{{From: -1, Kind: Calls, Name: "web/money.format", Qualified: true, Line: 3}}},
		{Path: "Shop/Cart.cs", Hash: "sha256:10", Language: "csharp", Within: "namespace:Shop", Scopes: []string{"Shop"}, Decls: []Decl{
			decl(KindInterface, "Shop.IStore", -1, 3, "interface IStore"), decl(KindType, "Shop.Base", -1, 5, "class Base"), decl(KindType, "Shop.Cart", -1, 7, "class Cart : Base, IStore"),
		}, Uses: []Use{{From: 2, Kind: Inherits, Name: "Base", Line: 7}, {From: 2, Kind: Inherits, Name: "IStore", Line: 7}}},
		{Path: "README.md"},
	}
}

func shopDecisions() []Decision {
	return []Decision{
		{ID: "ADR-0001", Title: "Carts know nothing of payment", Path: "README.md", Line: 3, Targets: []Target{
			{"cart.Line", Exact}, {"pay/", Exact}, {"web/cart.ts", Guess}, {"NoSuchThing", Guess}}},
	}
}

func newShop() *Graph {
	g := New()
	g.Apply(shop(), nil)
	g.Govern(shopDecisions())
	return g
}
