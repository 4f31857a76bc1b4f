package trust

// ForgetMade makes this process forget what it knows of states, as another one would not
// know it.
func ForgetMade() { made.Clear(); listed.Clear() }
