package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// entitySearchIn are entity_search's arguments.
type entitySearchIn struct {
	Query  string `json:"query,omitempty" rule:"chars=200" jsonschema:"a name or part of one; default: all"`
	Limit  int    `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset int    `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// EntityFound is an entity that a search found.
type EntityFound struct {
	Name        string   `json:"name"`
	Display     string   `json:"display,omitempty" jsonschema:"as people write it"`
	Type        string   `json:"type"`
	Of          []string `json:"of,omitempty" jsonschema:"what the name is another name of"`
	Match       string   `json:"match" rule:"enum=exact|prefix|word|part|near|any" jsonschema:"how the name matches"`
	Records     int      `json:"records" jsonschema:"how many claims are about it or mention it"`
	Constraints int      `json:"constraints,omitempty" jsonschema:"how many of these are rules"`
}

// EntitiesFound are what a search found, best first.
type EntitiesFound struct {
	Entities []EntityFound `json:"entities"`
	Total    int           `json:"total"`
	Next     int           `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *EntitiesFound) Write(p *Page) {
	if len(f.Entities) == 0 {
		p.Line("No entity of such a name is known.")
		return
	}
	p.Line(strconv.Itoa(len(f.Entities)) + " of " + strconv.Itoa(f.Total) + " entities, best first. See one with entity_show.")
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	lines := make([]string, len(f.Entities))
	for i := range f.Entities {
		e := &f.Entities[i]
		s := e.Name + " (" + e.Type + ")"
		if e.Display != "" && e.Display != e.Name {
			s = e.Display + " = " + s
		}
		if len(e.Of) > 0 {
			s += ", another name of " + names(e.Of)
		}
		s += ": " + strconv.Itoa(e.Records) + " records"
		if e.Constraints > 0 {
			s += ", " + strconv.Itoa(e.Constraints) + " constraints"
		}
		lines[i] = s
	}
	p.Part("entities", lines)
}

func entitySearch() Tool {
	return Define(Spec{Name: "entity_search", Title: "Find entities", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find known things (services, people, files, concepts, tools) by a name or part of one, misspelled ones too. " +
			"Then see one with entity_show.",
		Example: `{"query":"payments"}`},
		func(ctx context.Context, c *Call, in entitySearchIn) (*EntitiesFound, error) {
			if in.Limit == 0 {
				in.Limit = 20
			}
			found, err := entity.SearchFrom(ctx, c.Store, in.Query, c.seen(), in.Offset, in.Limit)
			if err != nil {
				return nil, err
			}
			out := &EntitiesFound{Entities: []EntityFound{}, Total: found.Total}
			for _, h := range found.Hits {
				out.Entities = append(out.Entities, EntityFound{Name: h.Name, Display: oneLine(h.Display, maxName), Type: oneLine(h.Type, maxName), Of: h.Of,
					Match: h.Match, Records: h.Records, Constraints: h.Constraints})
			}
			if n := in.Offset + len(found.Hits); n < found.Total && len(found.Hits) > 0 {
				out.Next = n
			}
			return out, nil
		})
}
