package main

// The example runs, and a second import changes nothing.
func Example() {
	main()
	// Output:
	// files read: 1
	// # Restart
	//
	// Drain the load balancer before you restart the ledger. (runbook.md:1)
	// Releases leave on Tuesdays at ten. (wiki/releases)
}
