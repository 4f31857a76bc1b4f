// Package chart draws the console's charts as SVG: bars, lines, the stages of a turn, the
// ranks of an item in a retrieval, and graphs with links.
//
// Every function takes a plain struct and returns a figure as inline SVG. It needs no script
// and no inline style, so the strictest Content-Security-Policy admits it. Colours come from classes that [CSS] gives their
// meaning, in light and in dark. Nothing has an id: any number of figures share a page.
//
// Whatever a label holds is text and nothing else. Long ones are cut, and the whole of
// them is a tooltip. A link leads to a path of the same site; another is left out.
// Values that are no numbers leave a gap or count as nothing, never a broken picture.
//
// A figure is drawn twice, for a wide and for a narrow column, and the style sheet
// shows one: a picture that only shrinks has letters that nobody can read on a phone.
// Colour is never the only sign: there are labels, numbers, shapes or dashes beside
// it. The method Table of a chart's data gives the same figures to those who would
// rather read them.
//
// The same data gives the same bytes. All functions can be called concurrently; none
// keeps or changes what it is given.
package chart
