// The tree of a formula, with a degree at each node.
import { decimal, drawing } from "/dom.js";

const GAP = 14, LEVEL = 74, HEIGHT = 30;

export function drawTree(target, nodes) {
  const children = nodes.map(() => []);
  nodes.forEach((node, place) => { if (node.parent >= 0) children[node.parent].push(place); });
  const widths = nodes.map((node) => Math.max(34, 11 * Math.min(node.label.length, 28) + 16));
  const places = nodes.map(() => ({ x: 0, y: 0 }));
  let right = GAP, deepest = 0;
  // Nodes come before what is below them: depth goes down the list, and centres come back up it.
  const depth = nodes.map(() => 0);
  nodes.forEach((node, place) => {
    depth[place] = node.parent >= 0 ? depth[node.parent] + 1 : 0;
    deepest = Math.max(deepest, depth[place]);
    if (!children[place].length) {
      places[place].x = right + widths[place] / 2;
      right += widths[place] + GAP;
    }
  });
  for (let place = nodes.length - 1; place >= 0; place--) {
    const below = children[place];
    if (below.length) places[place].x = (places[below[0]].x + places[below.at(-1)].x) / 2;
    places[place].y = 8 + HEIGHT / 2 + depth[place] * LEVEL;
  }
  const left = Math.min(...places.map((place, one) => place.x - widths[one] / 2)) - 4;
  const width = Math.max(...places.map((place, one) => place.x + widths[one] / 2)) + 4 - left;
  const height = 16 + HEIGHT + deepest * LEVEL + 20;
  const picture = drawing("svg", { viewBox: `${left} 0 ${width} ${height}`, width, height });
  const shown = [];
  nodes.forEach((node, place) => {
    if (node.parent < 0) return;
    const [from, to] = [places[node.parent], places[place]], middle = (from.y + to.y) / 2 + 12;
    picture.append(drawing("path", { class: "edge",
      d: `M${from.x} ${from.y + HEIGHT / 2 + 18} C${from.x} ${middle} ${to.x} ${middle - 6} ${to.x} ${to.y - HEIGHT / 2}` }));
  });
  nodes.forEach((node, place) => {
    const { x, y } = places[place], w = widths[place];
    const box = { x: x - w / 2, y: y - HEIGHT / 2, width: w, height: HEIGHT, rx: HEIGHT / 2 };
    const fill = drawing("rect", { ...box, class: "fill", opacity: 0 });
    const label = node.label.length > 28 ? `${node.label.slice(0, 27)}…` : node.label;
    const degree = drawing("text", { x, y: y + HEIGHT / 2 + 14, "text-anchor": "middle", class: "quiet-text" });
    picture.append(drawing("rect", { ...box, class: "node" }), fill,
      drawing("text", { x, y: y + 5.5, "text-anchor": "middle", "font-size": 17,
        "font-style": children[place].length ? "normal" : "italic" }, label), degree);
    shown.push({ fill, degree, label: node.label });
  });
  target.replaceChildren(picture);
  return shown;
}

export function showDegrees(target, shown, degrees) {
  shown.forEach(({ fill, degree }, place) => {
    fill.setAttribute("opacity", 0.06 + 0.5 * degrees[place]);
    degree.textContent = decimal(degrees[place]);
  });
  const spoken = shown.map(({ label }, place) => `${label} ${decimal(degrees[place])}`);
  target.setAttribute("aria-label", `Tree with degrees, from the root: ${spoken.join(", ")}`);
}
