package main

import "os"

// The example runs, against the stand-in whatever the environment says.
func Example() {
	os.Unsetenv("OPENAI_BASE_URL")
	main()
	// Output:
	// called memory_recall {"query":"How often does the payments service retry a failed transfer?"}
	// I was told: The payments service retries a failed transfer three times.
}
