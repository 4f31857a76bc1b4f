package console

// health is what its pages remember.
type health struct {
	censuses behind[string, census] // by owner
	lately   behind[latelyKey, lately]
	sweeps   sweepFiles
	weighed  behind[string, weighed] // by the files
}
