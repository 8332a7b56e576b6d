/**
 * Plots over time, drawn by uPlot, which is loaded with the first plot.
 */
import { el } from "./dom.js";

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} colour name of a custom property of the style sheet: `--accent`
 * @property {boolean} [filled]
 * @property {boolean} [dashed]
 * @property {boolean} [bars]
 */

/** @typedef {Array<number | null>} Values */

/** @param {string} property */
const colourOf = (property) => getComputedStyle(document.documentElement).getPropertyValue(property).trim();

/**
 * A plot of the full width, with a list of values for each line.
 *
 * @param {{
 *   label: string,
 *   lines: readonly Line[],
 *   signal: AbortSignal,
 *   height?: number,
 *   value?: (value: number) => string,
 *   moment?: (x: number) => string,
 *   least?: number,
 *   span: number,
 *   bridged?: number,
 *   clock?: boolean,
 * }} options `value` and `moment` format the numbers of the axes, which reach at least `least` and span `span`; a line
 *   bridges gaps up to `bridged`; with `clock`, x is in seconds since 1970
 */
export function plot({
  label,
  lines,
  signal,
  height = 140,
  value = String,
  moment,
  least = 1,
  span,
  bridged = 0,
  clock = false,
}) {
  const root = el("div", { class: "plot", role: "img", "aria-label": label });
  root.style.height = `${height}px`;
  /** @type {import("uplot") | null} */
  let drawn = null;
  /** @type {[number[], ...Values[]]} */
  let data = [[], ...lines.map(() => [])];

  // Half of the last bar extends beyond its x.
  const room = lines.some(({ bars }) => bars) ? span / 240 : 0;
  const latest = () => data[0].at(-1) ?? 0;
  const axis = {
    stroke: () => colourOf("--faint"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: () => colourOf("--grid"), width: 1 },
    ticks: { show: false },
    border: { show: false },
  };

  /** @type {import("uplot").Series.GapsRefiner} */
  const gaps = (shown, _series, _from, _to, found) =>
    found.filter(([from, to]) => shown.posToVal(to, "x", true) - shown.posToVal(from, "x", true) > bridged);

  const draw = async () => {
    const { default: UPlot } = await import("./uplot.js");
    if (signal.aborted) return;
    const paths = UPlot.paths.bars?.({ size: [0.8, 12] });
    drawn = new UPlot(
      {
        width: root.clientWidth || 300,
        height,
        padding: [8, clock ? 28 : 16, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        scales: {
          x: { time: clock, range: () => [Math.min(data[0][0] ?? 0, latest() - span), latest() + room] },
          y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, least)] },
        },
        axes: [
          { ...axis, space: 90, size: 24, ...(moment && { values: (_plot, ticks) => ticks.map(moment) }) },
          {
            ...axis,
            space: 32,
            size: 52,
            values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : value(tick))),
          },
        ],
        series: [
          {},
          ...lines.map(({ colour, filled, dashed, bars, label: name }) => ({
            label: name,
            stroke: () => colourOf(colour),
            width: bars ? 0 : 1.5,
            points: { show: false },
            gaps,
            ...(dashed && { dash: [5, 4] }),
            ...(filled && { fill: () => colourOf(`${colour}-fill`) }),
            ...(bars && {
              fill: () => colourOf(colour),
              ...(paths && { paths }),
            }),
          })),
        ],
      },
      data,
      root,
    );
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => drawn?.redraw(false), { signal });
    const observer = new ResizeObserver(() => drawn?.setSize({ width: root.clientWidth, height }));
    observer.observe(root);
    signal.addEventListener("abort", () => {
      observer.disconnect();
      drawn?.destroy();
    });
  };
  void draw();

  return {
    root,
    /**
     * @param {number[]} x seconds since 1970, or what `moment` formats
     * @param {...Values} values of each line
     */
    show(x, ...values) {
      data = bridged > 0 ? withGaps(x, values, bridged) : [x, ...values];
      drawn?.setData(data);
    },
    /** @param {string} text describes the plot for screen readers */
    describe(text) {
      root.setAttribute("aria-label", text);
    },
  };
}

/**
 * The same values, with none between two times that are further apart than `bridged`: nothing was measured there, so no line goes on.
 *
 * @param {readonly number[]} x
 * @param {readonly Values[]} values of each line
 * @param {number} bridged
 * @returns {[number[], ...Values[]]}
 */
function withGaps(x, values, bridged) {
  /** @type {[number[], ...Values[]]} */
  const all = [[], ...values.map(() => [])];
  const [times, ...lines] = all;
  for (const [at, time] of x.entries()) {
    const before = times.at(-1);
    if (before !== undefined && time - before > bridged) {
      times.push((before + time) / 2);
      for (const line of lines) line.push(null);
    }
    times.push(time);
    for (const [nth, line] of lines.entries()) line.push(values[nth]?.[at] ?? null);
  }
  return all;
}

/**
 * The legend of a plot.
 *
 * @param {readonly Line[]} lines
 */
export function legend(lines) {
  const entry = (/** @type {Line} */ { label, colour, dashed }) =>
    el(
      "li",
      {},
      el("span", { class: `key key${colour}${dashed ? " dashed" : ""}`, "aria-hidden": "true" }),
      label,
    );
  return el("ul", { class: "legend" }, ...lines.map(entry));
}
