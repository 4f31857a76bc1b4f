package main

import "os"

// The example runs, against the stand-in whatever the environment says.
func Example() {
	os.Unsetenv("ANTHROPIC_BASE_URL")
	main()
	// Output:
	// I was told: The payments service retries a failed transfer three times.
}
