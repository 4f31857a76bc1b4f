package chart

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
)

// maxFused is how many items of a retrieval are drawn; the note counts the rest.
const maxFused = 30

// Fused is one item of a retrieval.
type Fused struct {
	Label string
	Href  string
	Ranks []int  // from 1, one for each leg; 0 if the leg did not find it
	Block bool   // it is in the block
	Cut   string // why it was cut, such as "budget"
}

// FusionData describes how the results of several legs became one list.
type FusionData struct {
	Title string
	Legs  []string // such as keyword, vector, structure
	Items []Fused  // in the order of the merged list
}

// fusionPlan holds the positions in the picture.
type fusionPlan struct {
	items     []Fused
	legs      []string
	x         []float64   // by leg
	y         [][]float64 // by item and leg; NaN if the leg did not find it
	list      float64     // left edge of the merged list
	outcome   float64     // left edge of the outcomes
	top       float64     // height above the first row
	rowHeight float64     // height of a row
	below     bool        // the outcome is below the label
}

const chip = 9.0 // half the height of a rank's box

// Fusion draws each leg as a column of ranks, with the merged list and the outcome
// of each item beside them. A line joins the positions of one item: bold for items
// in the block, thin and dashed for items that were cut.
func Fusion(d FusionData) template.HTML {
	f := figure{kind: "chart-fusion", title: d.Title}
	items := d.Items[:min(len(d.Items), maxFused)]
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
		// Lines are below all ranks, and lines of the block's items above the
		// others.
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
		return p.top + p.rowHeight*float64(len(items)) + 2
	})
}

// planFusion computes the positions of the legs and, in each, of the drawn items
// by rank.
func planFusion(legs []string, items []Fused, width float64) *fusionPlan {
	p := &fusionPlan{items: items, legs: legs, top: 40, rowHeight: 26}
	between := 76.0
	if width <= narrow {
		between, p.rowHeight, p.below = 40, 38, true
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

// at returns the middle of a row.
func (p *fusionPlan) at(row int) float64 { return p.top + p.rowHeight*(float64(row)+.5) }

// head writes the names of the columns. If the legs are close together, every
// other name is a line lower.
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

// class returns the classes of an item's colour and of its line.
func (f Fused) class() (tone, line raw) {
	if f.Block {
		return "c-ok", "line thin"
	}
	return "c-muted", "line thin dash"
}

// outcome describes what happened to an item.
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

// way draws the line through an item's positions.
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

// row draws an item's ranks, its position in the list, and its outcome.
func (p *fusionPlan) row(c *canvas, i int, width float64) {
	it, y := p.items[i], p.at(i)
	tone, _ := it.class()
	closing := c.open(it.Href, tip(it.Label, it.outcome(), ""), tone)
	c.rect(p.list-4, y-p.rowHeight/2, width-p.list+4, p.rowHeight, 3, "hit")
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

// Table returns the data as a table, including the items that are not drawn.
func (d FusionData) Table() template.HTML {
	head := slices.Concat([]string{"item", "outcome"}, d.Legs, []string{"together"})
	return table(d.Title, 1, head, d.Items, func(i int, it Fused) []string {
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
		return append(row, strconv.Itoa(i+1))
	})
}
