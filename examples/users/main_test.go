package main

import "os"

// The example runs, against the stand-in whatever the environment says.
func Example() {
	os.Unsetenv("OPENAI_BASE_URL")
	main()
	// Output:
	// ana: remembered
	// bob: remembered
	// ana: I was told: I deploy to the cluster in Frankfurt.
	// bob: I was told: I deploy to the cluster in Dublin.
	// eve: I was told nothing about that.
	// : log in
}
