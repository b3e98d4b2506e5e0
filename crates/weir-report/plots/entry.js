// The parts of Observable Plot that `page.js` uses; esbuild leaves out the rest.
export { areaY, barX, dot, line, plot, pointerX, rect, ruleX, tip } from "@observablehq/plot";
