package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
)

// mostFused is how many items a picture of a retrieval draws; the rest is counted.
const mostFused = 30

// Fused is one item of a retrieval.
type Fused struct {
	Label string
	Href  string
	Ranks []int  // from 1, one for each leg; 0 where the leg did not find it
	Block bool   // it got into the block
	Cut   string // why it did not, such as "budget"
	Note  string // said in the tooltip
}

// FusionData is how the legs of a retrieval became one list.
type FusionData struct {
	Title string
	Legs  []string // such as keyword, vector, structure
	Items []Fused  // in the order of the fused list
}

// fusionPlan is where things stand in the picture.
type fusionPlan struct {
	items   []Fused
	legs    []string
	x       []float64   // of each leg
	y       [][]float64 // of each item in each leg; NaN where the leg did not find it
	list    float64     // where the fused list begins
	outcome float64     // where what became of an item begins
	top     float64     // above the first row
	tall    float64     // a row
	below   bool        // the outcome stands below the label
}

const chip = 9.0 // half the height of a rank

// Fusion draws each leg as a column of ranks, the fused list beside them, and what
// became of each item. A line joins the places of one item; those in the block are
// strong, those that were cut are thin and dashed.
func Fusion(d FusionData) template.HTML {
	f := figure{kind: "chart-fusion", title: d.Title}
	items := d.Items[:min(len(d.Items), mostFused)]
	in := 0
	for i, it := range d.Items {
		f.links = f.links || i < len(items) && local(it.Href)
		if it.Block {
			in++
		}
	}
	f.desc = fmt.Sprintf("%s by %s, %d in the block", plural(len(d.Items), "item", "items"), plural(len(d.Legs), "leg", "legs"), in)
	if rest := len(d.Items) - len(items); rest > 0 {
		inRest := 0
		for _, it := range d.Items[len(items):] {
			if it.Block {
				inRest++
			}
		}
		f.note = fmt.Sprintf("%s more below, %d of them in the block.", plural(rest, "item", "items"), inRest)
	}
	return f.draw(func(c *canvas, width float64) float64 {
		p := planFusion(d.Legs, items, width)
		p.head(c, width)
		// Lines lie below all ranks, and those of the block above the others.
		for _, block := range []bool{false, true} {
			for i, it := range items {
				if it.Block == block {
					p.way(c, i)
				}
			}
		}
		for i := range items {
			p.row(c, i, width)
		}
		return p.top + p.tall*float64(len(items)) + 2
	})
}

// planFusion places the legs and, in each, the drawn items in the order of their ranks.
func planFusion(legs []string, items []Fused, width float64) *fusionPlan {
	p := &fusionPlan{items: items, legs: legs, top: 40, tall: 26}
	between := 76.0
	if width <= narrow {
		between, p.tall, p.below = 40, 38, true
	}
	between = min(between, width*.5/float64(max(1, len(legs))))
	for k := range legs {
		p.x = append(p.x, float64(k)*between+min(between/2, 30))
	}
	p.list = between*float64(len(legs)) + 8
	ends := 0.0
	for _, it := range items {
		ends = max(ends, widthOf(it.outcome(), small))
	}
	p.outcome = width - min(ends+2, (width-p.list)*.36)
	p.y = make([][]float64, len(items))
	for i := range p.y {
		p.y[i] = make([]float64, len(legs))
	}
	for k := range legs {
		var found []int
		var ranks []float64
		for i, it := range items {
			p.y[i][k] = math.NaN()
			if k < len(it.Ranks) && it.Ranks[k] > 0 {
				found, ranks = append(found, i), append(ranks, float64(it.Ranks[k]))
			}
		}
		for row, n := range ascending(ranks) {
			p.y[found[n]][k] = p.at(row)
		}
	}
	return p
}

// at is the middle of a row.
func (p *fusionPlan) at(row int) float64 { return p.top + p.tall*(float64(row)+.5) }

// head names the columns. Where legs stand close, every other name is a line lower.
func (p *fusionPlan) head(c *canvas, width float64) {
	apart := 76.0
	if len(p.x) > 1 {
		apart = p.x[1] - p.x[0]
	}
	for k, leg := range p.legs {
		y, room := 26.0, apart-6
		if apart < 70 {
			room = 2*apart - 6
			y -= float64(k%2) * 14
		}
		anchor, x := raw("middle"), p.x[k]
		if x < widthOf(clean(leg), small)/2 {
			anchor, x = "start", 0
		}
		c.text(x, y, anchor, "soft", leg, room)
	}
	c.text(p.list+12, 26, "start", "soft", "together", p.outcome-p.list-14)
	c.line(0, p.top-6, width, p.top-6, "grid")
}

// class is an item's colour, and how its line is drawn.
func (f Fused) class() (tone, line raw) {
	if f.Block {
		return "c-ok", "line thin"
	}
	return "c-muted", "line thin dash"
}

// outcome says what became of an item.
func (f Fused) outcome() string {
	switch cut := clean(f.Cut); {
	case f.Block:
		return "✓ in the block"
	case cut == "":
		return "× cut"
	default:
		return "× " + cut
	}
}

// way draws the line through an item's places.
func (p *fusionPlan) way(c *canvas, i int) {
	tone, line := p.items[i].class()
	path, pen := &canvas{}, false
	fromX, fromY := 0.0, 0.0
	to := func(x, y float64) {
		if !pen {
			path.put("M%v %v", x, y)
			pen = true
		} else {
			bend := (x - fromX) * .5
			path.put("C%v %v %v %v %v %v", fromX+bend, fromY, x-bend, y, x, y)
		}
		fromX, fromY = x, y
	}
	for k := range p.legs {
		if !math.IsNaN(p.y[i][k]) {
			to(p.x[k], p.y[i][k])
		}
	}
	if pen {
		to(p.list, p.at(i))
		c.put(`<g class="%v"><path class="%v" d="%v"/></g>`, tone, line, path.raw())
	}
}

// row draws an item's ranks, its place in the list, and what became of it.
func (p *fusionPlan) row(c *canvas, i int, width float64) {
	it, y := p.items[i], p.at(i)
	tone, _ := it.class()
	closing := c.open(it.Href, tip(it.Label, it.outcome(), it.Note), tone)
	c.rect(p.list-4, y-p.tall/2, width-p.list+4, p.tall, 3, "hit")
	for k, leg := range p.legs {
		if math.IsNaN(p.y[i][k]) {
			continue
		}
		rank := strconv.Itoa(it.Ranks[k])
		half := max(chip, widthOf(rank, small)/2+4)
		c.put(`<g><title>%v</title>`, fmt.Sprintf("%s: rank %s by %s", clean(it.Label), rank, clean(leg)))
		c.rect(p.x[k]-half, p.y[i][k]-chip, 2*half, 2*chip, chip, "dot")
		c.text(p.x[k], p.y[i][k]+4, "middle", "soft", rank, 2*half)
		c.put(`</g>`)
	}
	no := strconv.Itoa(i + 1)
	c.put(`<circle class="area" cx="%v" cy="%v" r="3.5"/>`, p.list, y)
	c.text(p.list+12, y+4, "start", "soft", no, 30)
	from := p.list + 18 + widthOf(strconv.Itoa(len(p.items)), small)
	if p.below {
		c.text(from, y-2, "start", "label name", it.Label, width-from)
		c.text(from, y+13, "start", "soft", it.outcome(), width-from)
	} else {
		c.text(from, y+4, "start", "label name", it.Label, p.outcome-from-10)
		c.text(p.outcome, y+4, "start", "soft", it.outcome(), width-p.outcome)
	}
	c.put(`%v`, closing)
}

// Table is the data to read: all items, those that are not drawn as well.
func (d FusionData) Table() template.HTML {
	head := append([]string{"item", "outcome"}, d.Legs...)
	head = append(head, "together")
	var rows [][]string
	for i, it := range d.Items {
		row := []string{it.Label, "in the block"}
		if !it.Block {
			row[1] = tip("cut", it.Cut, "")
		}
		for k := range d.Legs {
			rank := ""
			if k < len(it.Ranks) && it.Ranks[k] > 0 {
				rank = strconv.Itoa(it.Ranks[k])
			}
			row = append(row, rank)
		}
		rows = append(rows, append(row, strconv.Itoa(i+1)))
	}
	return table(d.Title, 1, head, rows)
}
