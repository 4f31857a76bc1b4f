package main

import "os"

// The example runs, against the stand-in whatever the environment says.
func Example() {
	os.Unsetenv("OPENAI_BASE_URL")
	main()
	// Output:
	// called today
	// I was told: Deployments to production are frozen from the 28th until the 2nd. The tool says: the 29th
}
