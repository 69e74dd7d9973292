// Curves of two runs, drawn anew as points come.
import { decimal, drawing, element } from "/dom.js";

const WIDTH = 320, HEIGHT = 180, LEFT = 44, RIGHT = 8, TOP = 10, BOTTOM = 24, FLOOR = 1e-9;

export class Chart {
  constructor(title, measure, { logarithmic = false } = {}) {
    Object.assign(this, { title, measure, logarithmic });
    this.frame = drawing("g");
    this.curves = ["first", "second"].map((name) => drawing("path", { class: `curve ${name}` }));
    this.picture = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" }, this.frame, ...this.curves);
    this.figure = element("figure", {}, element("figcaption", {}, title), this.picture);
  }

  // `points` are parts of the answer; `last` is the last step.
  show(points, last, names) {
    const values = [0, 1].map((run) => points.map((point) => point.runs[run][this.measure]));
    const finite = values.flat().filter((value) => typeof value === "number");
    const height = this.scale(finite);
    const x = (step) => LEFT + (WIDTH - LEFT - RIGHT) * step / Math.max(1, last);
    this.curves.forEach((curve, run) => {
      const parts = [];
      values[run].forEach((value, place) => {
        if (typeof value !== "number") return;
        parts.push(`${parts.length ? "L" : "M"}${x(points[place].step).toFixed(1)} ${height(value).toFixed(1)}`);
      });
      curve.setAttribute("d", parts.join(""));
    });
    this.frame.append(...[0, last].map((step) => drawing("text", { x: x(step), y: HEIGHT - 6, "text-anchor": step ? "end" : "start", class: "quiet-text" }, String(step))));
    const now = [0, 1].map((run) => `${names[run]} ${decimal(values[run].at(-1))}`);
    this.picture.setAttribute("aria-label", `${this.title} over the steps; now ${now.join(", ")}`);
  }

  // Draws the frame, and returns the height of a value. A logarithmic scale has 0 at its foot.
  scale(values) {
    const inner = HEIGHT - TOP - BOTTOM;
    let ticks, part;
    if (this.logarithmic) {
      const positive = values.filter((value) => value > FLOOR);
      const low = Math.floor(Math.log10(Math.min(1, ...positive))), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(FLOOR, ...positive))));
      part = (value) => (value > FLOOR ? 0.12 + 0.88 * (Math.log10(value) - low) / (high - low) : 0);
      const step = Math.ceil((high - low) / 4);
      ticks = [0, ...Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, place) => 10 ** (low + place * step)).filter((tick) => tick > FLOOR)];
    } else {
      part = (value) => value;
      ticks = [0, 0.5, 1];
    }
    const height = (value) => TOP + inner * (1 - part(value));
    this.frame.replaceChildren(...ticks.flatMap((tick) => [
      drawing("path", { class: "axis", d: `M${LEFT} ${height(tick)}H${WIDTH - RIGHT}` }),
      drawing("text", { x: LEFT - 6, y: height(tick) + 4, "text-anchor": "end", class: "quiet-text" }, this.logarithmic ? (tick >= 1e4 || (tick && tick < 1e-3) ? tick.toExponential(0).replace("+", "") : String(tick)) : `${tick * 100}%`)]));
    return height;
  }
}
