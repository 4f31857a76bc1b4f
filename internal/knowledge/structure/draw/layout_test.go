package draw

import (
	"math/rand/v2"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/seed"
)

// graphs are what every picture has to cope with.
func graphs(t *testing.T) []entity.Graph {
	out := []entity.Graph{{}, {Root: "x"}, payments(), hostile(), crowded()}
	r := rand.New(rand.NewPCG(seed.Of(t), 2))
	for range 60 {
		out = append(out, random(r, 1+r.IntN(2*entity.DefaultNodes)))
	}
	return out
}

func TestNoTwoBoxesOverlap(t *testing.T) {
	for k, g := range graphs(t) {
		p := newPicture(g)
		boxes := layOut(p).boxes
		for i := range boxes {
			for j := range i {
				a, b := &boxes[i], &boxes[j]
				if a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom() {
					t.Fatalf("graph %d: %q at %+v and %q at %+v", k, p.nodes[i].Name, *a, p.nodes[j].Name, *b)
				}
			}
		}
	}
}

func TestEverythingIsInView(t *testing.T) {
	for k, g := range graphs(t) {
		p := newPicture(g)
		l := layOut(p)
		in := func(what string, x, y int) {
			if x < l.x || y < l.y || x > l.x+l.w || y > l.y+l.h {
				t.Fatalf("graph %d: %s at %d, %d is not in %d, %d + %d, %d", k, what, x, y, l.x, l.y, l.w, l.h)
			}
		}
		for i := range l.boxes {
			b := &l.boxes[i]
			in("box", b.x, b.y)
			in("box", b.right(), b.bottom())
			if inner := b.w - 2*boxPad; pixelWidth(named(&p.nodes[i]), nameSize) > inner || pixelWidth(p.typed(&p.nodes[i]), smallSize) > inner {
				t.Fatalf("graph %d: the text of %q is wider than its box", k, p.nodes[i].Name)
			}
		}
		for i := range l.curves {
			// A Bézier curve is within its points.
			for _, q := range l.curves[i].points {
				in("line", q.x, q.y)
			}
			half := pixelWidth(p.lines[i].label, smallSize) / 2
			in("label", l.curves[i].label.x-half, l.curves[i].label.y-smallSize/2)
			in("label", l.curves[i].label.x+half, l.curves[i].label.y+smallSize/2)
		}
	}
}

func TestTheEntityIsInTheMiddle(t *testing.T) {
	p := newPicture(payments())
	l := layOut(p)
	at := map[string]*box{}
	for i := range p.nodes {
		at[p.nodes[i].Name] = &l.boxes[i]
	}
	for name, column := range map[string]int{"payments": 0, "ledger": 1, "ada": 1, "postgresql 15": 2, "billing": 2, "checkout": -1, "t 0001": -1, "web shop": -2} {
		if at[name].column != column {
			t.Errorf("%s is in column %d, want %d", name, at[name].column, column)
		}
	}
	if !(at["web shop"].right() < at["checkout"].x && at["checkout"].right() < at["payments"].x && at["payments"].right() < at["ledger"].x &&
		at["ledger"].right() < at["postgresql 15"].x) {
		t.Errorf("columns are not in order: %+v", l.boxes)
	}
}

// Sixty of one kind make no tower that nobody can look at.
func TestACrowdIsSpreadOverBothSides(t *testing.T) {
	p := newPicture(crowded())
	counts := map[int]int{}
	for _, b := range layOut(p).boxes {
		counts[b.column]++
	}
	if counts[1] != 20 || counts[-1] != 20 {
		t.Errorf("columns are %v", counts)
	}
}

func TestLinesReachTheirBoxes(t *testing.T) {
	for k, g := range graphs(t) {
		p := newPicture(g)
		l := layOut(p)
		for i := range p.lines {
			c := l.curves[i].points
			for _, e := range []struct {
				q point
				b *box
			}{{c[0], &l.boxes[p.lines[i].from]}, {c[len(c)-1], &l.boxes[p.lines[i].to]}} {
				if (e.q.x != e.b.x && e.q.x != e.b.right()) || e.q.y <= e.b.y || e.q.y >= e.b.bottom() {
					t.Fatalf("graph %d: line %d ends at %v, its box is %+v", k, i, e.q, *e.b)
				}
			}
			if len(c)%3 != 1 {
				t.Fatalf("graph %d: line %d has %d points", k, i, len(c))
			}
		}
	}
}

func TestThicknessIsStrength(t *testing.T) {
	for strength, want := range map[float64]string{0: "1.0", 0.5: "2.5", 1: "4.0", 7: "4.0", -1: "1.0"} {
		p := newPicture(entity.Graph{Root: "a", Nodes: []entity.Node{{Name: "a"}, {Name: "b", Depth: 1}}, Edges: []entity.Edge{{Source: "a", Target: "b", Type: "uses", Strength: strength}}})
		if got := tenths(p.lines[0].stroke()); got != want {
			t.Errorf("strength %v: stroke %s, want %s", strength, got, want)
		}
	}
}
