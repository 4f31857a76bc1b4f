package chart

import _ "embed" // the style sheet

// CSS is the style sheet of the figures. It declares the colours as custom properties
// of :root and touches no other element outside of .chart, .chart-list and .chart-data.
//
//go:embed chart.css
var CSS string
