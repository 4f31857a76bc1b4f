package main

func Example() {
	main()
	// Output:
	// before message 1: 222 characters
	// Inferred: The ledger writes entries in batches of 500.
	// left out, status
	// mode hybrid
}
