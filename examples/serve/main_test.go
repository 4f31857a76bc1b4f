package main

func Example() {
	main()
	// Output: I was told: The team deploys on Thursdays.
}
