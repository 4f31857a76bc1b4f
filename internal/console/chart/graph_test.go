package chart

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

func TestNoTwoLabelsOfAGraphOverlap(t *testing.T) {
	race.SkipLong(t)
	rects := regexp.MustCompile(`<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)" class="([\w ]+)">(?:<title>[^<]*</title>)?([^<]*)</text>`)
	float := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	for range 60 {
		r := rand.New(rand.NewPCG(seed.Of(t), 0))
		nodes := 1 + r.IntN(maxNodes+10)
		d := crowd(r, nodes, r.IntN(3*nodes))
		var texts []box
		for _, m := range rects.FindAllStringSubmatch(string(Graph(d)), -1) {
			size := large
			if strings.HasPrefix(m[4], "soft") {
				size = small
			}
			w := widthOf(m[5], size)
			b := box{float(m[1]), float(m[2]) - size*.8, w, size}
			if m[3] == "middle" {
				b.x -= w / 2
			}
			if i := slices.IndexFunc(texts, b.overlaps); i >= 0 {
				t.Fatalf("%q at %v overlaps %v", m[5], b, texts[i])
			}
			texts = append(texts, b)
		}
		if len(texts) < min(nodes, maxNodes) {
			t.Fatalf("%d texts for %d nodes", len(texts), nodes)
		}
	}
}

func TestGraphsAreLaidOutByDistance(t *testing.T) {
	l := layOut(GraphData{Nodes: []Node{{ID: "far"}, {ID: "root", Root: true}, {ID: "below"}, {ID: "above"}, {ID: "beside"}, {ID: "alone"}, {ID: "circle"}},
		Edges: []Edge{{From: "root", To: "below"}, {From: "below", To: "far"}, {From: "above", To: "root"}, {From: "beside", To: "far"}, {From: "root", To: "circle"}, {From: "circle", To: "root"}, {From: "root", To: "root"}}})
	got := map[string]int{}
	for _, n := range l.nodes {
		got[n.ID] = n.column
	}
	want := map[string]int{"above": 0, "root": 1, "alone": 1, "below": 2, "circle": 2, "beside": 2, "far": 3}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	for _, n := range l.nodes {
		if n.x < 0 || n.y < 0 || n.x+n.w > l.width || n.y+n.h > l.height {
			t.Errorf("%s stands outside: %v", n.ID, n.box)
		}
	}
}

func TestSweepsLessenCrossings(t *testing.T) {
	race.SkipLong(t)
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	before, after := 0, 0
	for range 40 {
		l := &layout{}
		l.choose(crowd(r, 30, 50))
		l.columnsOf()
		l.index()
		was := l.crossings()
		l.order()
		if is := l.crossings(); is > was {
			t.Fatalf("%d crossings became %d", was, is)
		} else {
			before, after = before+was, after+is
		}
	}
	t.Logf("%d crossings became %d", before, after)
	if after*2 > before {
		t.Errorf("%d crossings became %d: less than half are gone", before, after)
	}
}

// crossings by comparing every pair of edges.
func TestCrossingsAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 50 {
		l := &layout{}
		l.choose(crowd(r, 1+r.IntN(20), r.IntN(60)))
		l.columnsOf()
		l.index()
		want := 0
		for _, col := range l.columns {
			var ends [][2]int
			for _, p := range col {
				for _, o := range p.next {
					ends = append(ends, [2]int{p.index, o.index})
				}
			}
			for i, a := range ends {
				for _, b := range ends[:i] {
					if (a[0]-b[0])*(a[1]-b[1]) < 0 {
						want++
					}
				}
			}
		}
		if got := l.crossings(); got != want {
			t.Fatalf("%d crossings, want %d", got, want)
		}
	}
}

func TestTheNearestNodesStay(t *testing.T) {
	d := GraphData{}
	for i := range 100 {
		d.Nodes = append(d.Nodes, Node{ID: fmt.Sprint(i), Label: fmt.Sprint("n", i), Root: i == 99})
		if i > 0 {
			d.Edges = append(d.Edges, Edge{From: fmt.Sprint(i), To: fmt.Sprint(i - 1)})
		}
	}
	got := string(Graph(d))
	if !strings.Contains(got, ">n99<") || !strings.Contains(got, ">n40<") || strings.Contains(got, ">n39<") {
		t.Error("others than the nearest are drawn")
	}
	if want := "Not drawn: 40 nodes, 40 edges."; !strings.Contains(got, want) {
		t.Errorf("nothing says %q", want)
	}
}

func TestListNamesEveryNode(t *testing.T) {
	for range 20 {
		r := rand.New(rand.NewPCG(seed.Of(t), 0))
		d := crowd(r, 1+r.IntN(maxNodes), r.IntN(100))
		got := string(GraphList(d))
		for _, n := range d.Nodes {
			if !strings.Contains(got, `"`+n.Href+`"`) {
				t.Fatalf("%s is missing", n.ID)
			}
		}
	}
}

func TestTheKeyboardWalksByColumn(t *testing.T) {
	x, y := -1.0, -1.0
	for _, m := range regexp.MustCompile(`<a [^>]*><title>[^<]*</title><rect x="([\d.]+)" y="([\d.]+)"`).FindAllStringSubmatch(string(Graph(payments())), -1) {
		nextX, _ := strconv.ParseFloat(m[1], 64)
		nextY, _ := strconv.ParseFloat(m[2], 64)
		if nextX < x || nextX == x && nextY <= y {
			t.Fatalf("from %g,%g to %g,%g", x, y, nextX, nextY)
		}
		x, y = nextX, nextY
	}
	if x < 0 {
		t.Fatal("no links")
	}
}
