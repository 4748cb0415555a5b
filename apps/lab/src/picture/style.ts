/** The paper is drawn too: a page may be light where the system is dark. Shapes differ, not only colours. */
export const STYLE = `<style>
text { font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; font-size: 12px; fill: #59636e }
.name { font-size: 18px; font-weight: 600; fill: #1f2328 }
.says { font-size: 13px }
.band { fill: #1f2328 }
.paper { fill: #ffffff; stroke: none }
path, rect { fill: none }
.grid, .tick { stroke: #d1d9e0 }
.axis { stroke: #818b98 }
.edge { stroke: #818b98; stroke-dasharray: 2 3 }
.limit { stroke: #818b98; stroke-dasharray: 6 4 }
.level { stroke: #0969da; stroke-width: 1.5 }
.fill { fill: #0969da; fill-opacity: 0.12 }
.allowed { fill: #1a7f37 }
.refused { stroke: #cf222e; stroke-width: 1.6 }
.wait { stroke: #9a6700; stroke-opacity: 0.7 }
.held { fill: #1a7f37; fill-opacity: 0.75 }
.died { stroke: #9a6700; stroke-width: 1.5; stroke-dasharray: 4 3; fill: #9a6700; fill-opacity: 0.15 }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 }
.name, .band { fill: #f0f6fc }
.paper { fill: #0d1117 }
.grid, .tick { stroke: #3d444d }
.axis, .edge, .limit { stroke: #7d8590 }
.level { stroke: #4493f8 }
.fill { fill: #4493f8; fill-opacity: 0.2 }
.allowed, .held { fill: #3fb950 }
.refused { stroke: #f85149 }
.wait, .died { stroke: #d29922 }
.died { fill: #d29922 }
}
</style>`;
