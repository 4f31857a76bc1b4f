package reading_test

import (
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func ExampleRead() {
	c, err := ken.NewClaim("never deploy the payments service on Fridays; it depends on the ledger, which must stay on PostgreSQL 15",
		ken.Evidence{Kind: ken.EvidenceUserStatement, ID: "ada"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := reading.Read(&c, nil)
	for _, m := range r.Entities {
		fmt.Println(m.Name, m.Type)
	}
	fmt.Println(r.Aspect, r.Constraint)
	for _, d := range r.Dependencies {
		fmt.Println(d.Source, d.Type, d.Target, d.Strength)
	}
	// Output:
	// payments system
	// ledger unknown
	// postgresql tool
	// deployment true
	// payments requires ledger 0.9
	// ledger uses postgresql 0.6
}

func ExampleVariants() {
	fmt.Printf("%q\n", reading.Variants("PaymentsService"))
	// Output: ["paymentsservice" "payments service" "payments" "paymentsservices" "payments services" "payment"]
}
