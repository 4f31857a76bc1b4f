package console

// StepFor is how a time is divided.
var StepFor = stepFor

const MostBuckets = mostBuckets

// SweepHead reads the head of a report.
var SweepHead = sweepHead
