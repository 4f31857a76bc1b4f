package main

func Example() {
	main()
	// Output:
	// Inferred: The ledger runs on PostgreSQL 15.
	// claim.written
	// claim.superseded
}
