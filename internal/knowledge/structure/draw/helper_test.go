package draw

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// payments is a graph as people have it.
func payments() entity.Graph {
	return entity.Graph{Root: "payments", Depth: 2,
		Nodes: []entity.Node{
			{Name: "payments", Display: "Payments", Type: "system", Records: 12, Constraints: 2},
			{Name: "ada", Display: "Ada", Type: "person", Depth: 1, Records: 3},
			{Name: "checkout", Display: "checkout", Type: "system", Depth: 1, Records: 5},
			{Name: "ledger", Display: "ledger", Type: "system", Depth: 1, Records: 4, Constraints: 1},
			{Name: "t 0001", Display: `T-0001 "Rotate the keys"`, Type: "task", Depth: 1, Records: 1},
			{Name: "billing", Display: "billing", Type: "unknown", Depth: 2, Records: 1},
			{Name: "postgresql 15", Display: "PostgreSQL 15", Type: "tool", Depth: 2, Records: 2},
			{Name: "web shop", Display: "web shop", Type: "project", Depth: 2, Records: 1, Constraints: 11},
		},
		Edges: []entity.Edge{
			{Source: "billing", Target: "ledger", Type: "uses", Strength: 0.5},
			{Source: "checkout", Target: "ledger", Type: "informs", Strength: 0.3},
			{Source: "checkout", Target: "payments", Type: "requires", Strength: 0.9},
			{Source: "ledger", Target: "payments", Type: "informs", Strength: 0.4},
			{Source: "ledger", Target: "postgresql 15", Type: "requires", Strength: 1},
			{Source: "payments", Target: "ada", Type: "owned_by", Strength: 0.8},
			{Source: "payments", Target: "ledger", Type: "requires", Strength: 0.9},
			{Source: "payments", Target: "ledger", Type: "uses", Strength: 0.5},
			{Source: "t 0001", Target: "payments", Type: entity.About, Strength: 0.5},
			{Source: "web shop", Target: "checkout", Type: "requires", Strength: 0.7},
		}}
}

// nasty are names that want to be more than names.
func nasty() []string {
	long := ""
	for len(long) < 1024 {
		long += "ledger of the north, "
	}
	return []string{
		`"]; n0 --> evil["`, `<script>alert(1)</script>`, "two\nlines\r\nand\ttabs", "\u202egnp.exe\u2066", "👩‍👩‍👧‍👦👍🏽 family", long,
		`\N \" \\`, "%%{init: {\"theme\":\"dark\"}}%%", "]]> --> <!-- &amp; &#10; &lt;", "end", "style x fill:#f00;", "`code` #quot; #35;",
		"\x00\x1b[31mred\xff\xfe", "مرحبا بالعالم", "支付服务的账本和其他很多很多很多很多很多很多东西", "", " ", "\u200b\ufeff", "javascript:alert(1)", "n0",
		`<img src=x onerror=alert(1)>`, "</title></svg>", "a|b{c}(d)", "\ufffe\U0001ffff", "--> x", "click n0 href \"https://example.org\"",
		"é́́́́́́́́́́", `" URL="javascript:alert(1)`, "\u2028\u2029\u0085", "🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿",
	}
}

func hostile() entity.Graph {
	g := entity.Graph{Root: nasty()[0], Depth: 1, Left: 1}
	for i, n := range nasty() {
		typ := "system"
		if i%5 == 1 {
			typ = `"><script>`
		}
		// The name, too, is whatever was imported.
		g.Nodes = append(g.Nodes, entity.Node{Name: n, Display: n, Type: typ, Depth: min(i, 1), Records: i, Constraints: i % 3})
		if i > 0 {
			g.Edges = append(g.Edges, entity.Edge{Source: nasty()[0], Target: n, Type: nasty()[(i*7)%len(nasty())], Strength: math.NaN()})
		}
	}
	return g
}

// crowded has as much around it as a neighbourhood may have.
func crowded() entity.Graph {
	g := entity.Graph{Root: "hub", Depth: 2, Left: 340, Nodes: []entity.Node{{Name: "hub", Display: "hub", Type: "system", Records: 400, Constraints: 1000}}}
	for i := 1; i < entity.DefaultNodes; i++ {
		n := entity.Node{Name: fmt.Sprintf("spoke %02d", i), Display: fmt.Sprintf("Spoke %02d", i), Type: "tool", Depth: 1, Records: i, Constraints: i % 4}
		from := "hub"
		if i > 40 {
			n.Depth, from = 2, fmt.Sprintf("spoke %02d", i%40+1)
		}
		g.Nodes = append(g.Nodes, n)
		g.Edges = append(g.Edges, entity.Edge{Source: from, Target: n.Name, Type: "uses", Strength: float64(i) / 59})
	}
	return g
}

// random is a graph of up to so many nodes, as it may come and as it should not.
func random(r *rand.Rand, most int) entity.Graph {
	names := nasty()
	name := func(i int) string { return names[i%len(names)] + fmt.Sprint(i) }
	g := entity.Graph{Root: name(0), Depth: 1 + r.IntN(3), Left: r.IntN(3) * r.IntN(200)}
	for i := range 1 + r.IntN(most) {
		depth := 0
		if i > 0 {
			depth = r.IntN(g.Depth + 1)
		}
		g.Nodes = append(g.Nodes, entity.Node{Name: name(i), Display: names[r.IntN(len(names))], Type: entity.Types()[r.IntN(len(entity.Types()))],
			Depth: depth, Records: r.IntN(5000), Constraints: r.IntN(3) * r.IntN(1200)})
	}
	for range r.IntN(3 * most) {
		g.Edges = append(g.Edges, entity.Edge{Source: name(r.IntN(most + 2)), Target: name(r.IntN(most + 2)), Strength: r.Float64()*1.4 - 0.2,
			Type: []string{"uses", "requires", "owned_by", "blocks", "informs", entity.About, names[r.IntN(len(names))]}[r.IntN(7)]})
	}
	return g
}
