package draw

// style is the look of an SVG, for light and dark. Everything is below the class ken,
// so that a page that has the picture in it keeps its own look.
const style = `
.ken{color:#1f2328;font-family:Helvetica,Arial,"DejaVu Sans",sans-serif}
.ken text{fill:currentColor;unicode-bidi:isolate}
.ken .ground{fill:#fff}
.ken .name{font-size:13px;font-weight:600}
.ken .small{font-size:11px}
.ken .soft{fill-opacity:.75}
.ken .box{fill:#f6f8fa;stroke:#8c959f;stroke-width:1.5}
.ken .root .box{stroke-width:3}
.ken .person{stroke:#8250df}
.ken .project{stroke:#1a7f37}
.ken .system{stroke:#0969da}
.ken .tool{stroke:#9a6700}
.ken .concept{stroke:#bf3989}
.ken .skill{stroke:#1b7c83}
.ken .task{stroke:#57606a;stroke-dasharray:5 3}
.ken .badge{fill:#cf222e}
.ken .rules{fill:#fff;font-weight:600}
.ken .line{fill:none;stroke:currentColor;stroke-opacity:.6}
.ken .about{stroke-dasharray:4 4}
.ken .head{fill:currentColor;fill-opacity:.8}
.ken .verb{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.ken{color:#e6edf3}
.ken .ground{fill:#0d1117}
.ken .box{fill:#161b22}
.ken .person{stroke:#bc8cff}
.ken .project{stroke:#3fb950}
.ken .system{stroke:#58a6ff}
.ken .tool{stroke:#d29922}
.ken .concept{stroke:#f778ba}
.ken .skill{stroke:#39c5cf}
.ken .task{stroke:#9198a1}
.ken .badge{fill:#da3633}
.ken .verb{stroke:#0d1117}
}
`
