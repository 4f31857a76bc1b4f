package reading

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
)

//go:embed products.txt
var productTable string

// productNames holds the products of products.txt: of maps each name to the product, and
// names maps a product to all its names, its own first.
type productNames struct {
	of    map[string]string
	names map[string][]string
}

var productIndex = sync.OnceValue(func() productNames {
	p := productNames{of: make(map[string]string, 1200), names: make(map[string][]string, 500)}
	for line := range strings.Lines(productTable) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, others, _ := strings.Cut(line, ": ")
		own := analysis.Entity(strings.TrimSuffix(name, ":"))
		p.of[own] = own
		list := []string{own}
		for other := range strings.SplitSeq(others, ",") {
			if o := analysis.Entity(strings.TrimSpace(other)); o != "" && p.of[o] == "" {
				p.of[o] = own
				list = append(list, o)
			}
		}
		p.names[own] = list
	}
	return p
})

// Product returns the product that a name stands for, with or without a version: postgresql
// for postgres and for postgres 15. name is in the form of analysis.Entity. The result is
// "" for a name that is not in the table.
func Product(name string) string {
	p := productIndex()
	if own, ok := p.of[name]; ok {
		return own
	}
	return p.of[versionless(name)]
}

// ProductNames returns all names of the product that a name stands for, its own first; nil
// if it is not a product. The caller must not change the result.
func ProductNames(name string) []string {
	return productIndex().names[Product(name)]
}

// versionless returns a name without the version at its end; "" if it has none.
func versionless(name string) string {
	bare := strings.TrimRight(name, "0123456789.x")
	short := strings.TrimSpace(strings.TrimSuffix(bare, " v"))
	if !strings.ContainsAny(name[len(bare):], "0123456789") || len(short) < 3 {
		return ""
	}
	return short
}
