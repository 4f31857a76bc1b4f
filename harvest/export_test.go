package harvest

// About is what a statement is about.
var About = about
