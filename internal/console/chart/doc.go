// Package chart draws the console's charts as SVG: bars, lines, the stages of a turn, the ranks of an item in a
// retrieval, and graphs with links.
//
// Every function takes a plain struct and returns a figure as inline SVG. It needs no script and no inline style, so
// the strictest Content-Security-Policy admits it. Colours come from classes, which [CSS] defines for the light and the
// dark scheme. No element has an id, so any number of figures can share a page.
//
// Labels are escaped. A long label is cut, and a tooltip has the whole. Only links to a path of the same site are
// written. NaN and infinite values become gaps or count as 0; they never break the picture.
//
// A figure is drawn twice, for a wide and for a narrow column, and the style sheet shows one of them, because the
// letters of a scaled-down picture are unreadable on a phone. Colour is never the only difference: there are labels,
// letters, shapes or dashes too. The method Table of a chart's data returns the figures as a table.
//
// The same data gives the same bytes. All functions are safe for concurrent use, and neither retain nor change their
// arguments.
package chart
