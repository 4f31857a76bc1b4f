package reading_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestProductsHaveOneName(t *testing.T) {
	for name, want := range map[string]string{"postgres": "postgresql", "PostgreSQL 15": "postgresql", "postgres 17.2": "postgresql", "k8s": "kubernetes", "gha": "github actions", "python3.12": "python", "Vue 3": "vue",
		"ledger": "", "payments 2": "", "15": "", "": "", "s3": "amazon s3"} {
		if got := reading.Product(analysis.Entity(name)); got != want {
			t.Errorf("Product(%q) = %q, want %q", name, got, want)
		}
	}
	for _, n := range reading.ProductNames("k8s") {
		if reading.Product(n) != "kubernetes" {
			t.Errorf("%q is another product", n)
		}
	}
}

// What is said of one spelling is filed under the product.
func TestSpellingsOfAProductAreFiledTogether(t *testing.T) {
	for text, want := range map[string]string{"The ledger runs on postgres 15.": "postgresql", "Deploy it with gha only.": "github actions", "Use k8s for the workers.": "kubernetes"} {
		c := claim(text)
		reading.Assign(&c, nil)
		found := false
		for _, e := range c.Entities {
			found = found || e == want
		}
		if !found {
			t.Errorf("%q: %q, want %s", text, c.Entities, want)
		}
	}
	c := claim("It stays where it is.")
	c.Entities = []string{"PostgreSQL 15"}
	if reading.Assign(&c, nil); len(c.Entities) != 2 || c.Entities[1] != "postgresql" {
		t.Errorf("%q", c.Entities)
	}
}
