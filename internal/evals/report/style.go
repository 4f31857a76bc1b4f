package report

// style is the page's. Colours of series are told apart by their shapes as well.
const style = `:root{color-scheme:light dark;--bg:#fbfbfa;--ink:#1d2125;--soft:#5b646d;--line:#d9dde1;--card:#fff;--good:#1a7f4b;
--c0:#1f6fd1;--c1:#c2570c;--c2:#1a7f4b;--c3:#8a3fc4;--c4:#b3124f;--c5:#5f6b00}
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e8eaec;--soft:#9aa4ad;--line:#353c43;--card:#1c2024;--good:#5fd08f;
--c0:#6db0ff;--c1:#ff9d57;--c2:#5fd08f;--c3:#c796ff;--c4:#ff7aa8;--c5:#cbd65a}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:1.5rem 1rem 3rem}h1{font-size:1.6rem;margin:.5rem 0 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
section+section{border-top:2px solid var(--line);margin-top:3rem;padding-top:1rem}
.facts,footer,small{color:var(--soft)}.notes{color:var(--c1)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem;width:100%}
th,td{padding:.35rem .4rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}th:first-child{text-align:left}
td small{display:block;font-size:.72rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:1rem}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.75rem}
figcaption{font-weight:600;margin-bottom:.25rem}svg{display:block;width:100%;height:auto}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.25rem 0 .5rem;padding:0;list-style:none;font-size:.9rem}
.legend svg{display:inline-block;width:14px;height:14px;vertical-align:-2px;margin-right:.35rem}
details{background:var(--card);border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.5rem .75rem}summary{cursor:pointer;font-weight:600}
.faults>li{margin:1rem 0}.question{font-weight:600;margin:0}.faults p{margin:0}dl{margin:.35rem 0 0}dt{color:var(--soft);font-size:.85rem}
dd{margin:0 0 .25rem 1rem;overflow-wrap:anywhere}dd b{font-weight:500;color:var(--soft)}dd.good b{color:var(--good)}
code{font-size:.85em}@media print{details{break-inside:avoid}}`
