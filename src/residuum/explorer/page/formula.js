// The view of one formula: its text, notation, degrees, tree, surfaces and copies.
import { forgetConsistency, prepareConsistency } from "/consistency.js";
import { download, downloadPicture, inPython, inShell, toCsv, toSvg } from "/copying.js";
import { coalesced, decimal, delayed, element, find } from "/dom.js";
import { makeEditor } from "/editor.js";
import { showNotation } from "/notation.js";
import { showRelaxations, showRows } from "/relaxations.js";
import { Refused, ask } from "/server.js";
import { keepState, state } from "/state.js";
import { coloursOfPage, drawField, drawSurface, flow, turnBy } from "/surface.js";
import { drawTree, showDegrees } from "/tree.js";

const EXAMPLES = ["P -> Q", "P & (P -> Q) -> Q", "P | ~P", "(P -> Q) & (Q -> R) -> (P -> R)", "P & Q -> R", "at least 2 of (P, Q, R)"];

let read = null, shownNodes = [], rows = [], surfaces = null, cards = [], stopFlow = () => {};

export function openFormula() {
  const editor = makeEditor(find("text"), find("text-backdrop"));
  const update = delayed(() => readText(editor), 70);
  find("text").addEventListener("input", () => { state.text = find("text").value; keepState(); update(); });
  find("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) event.preventDefault();
  });
  find("examples").append(...EXAMPLES.flatMap((text) => [element("button", { class: "plain mono", onclick: () => setFormula(text) }, text), " "]));
  prepareConsistency();
  find("csv-degrees").onclick = () => download("degrees.csv", toCsv([
    ["relaxation", "degree", ...read.atoms.map((atom) => `gradient by ${atom}`)],
    ...rows.map((one) => [one.relaxation, one.degree, ...(one.gradient ?? [])])]), "text/csv");
  find("svg-tree").onclick = () => download("tree.svg", toSvg(find("tree").firstChild), "image/svg+xml");
  find("png-surfaces").onclick = savePicture;
  find("csv-surfaces").onclick = saveSurfaces;
  for (const name of ["x", "y"]) {
    find(`surface-${name}`).onchange = (event) => { state[name] = Number(event.target.value); keepState(); updateSurfaces(); };
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", redraw);
  setFormula.editor = editor;
  setFormula(state.text);
}

export function setFormula(text) {
  find("text").value = state.text = text;
  setFormula.editor.fit();
  setFormula.editor.mark();
  keepState();
  readText(setFormula.editor);
}

let reading = null;
async function readText(editor) {
  reading?.abort();
  const own = reading = new AbortController();
  const asked = state.text;
  let found;
  try {
    found = await ask("formula", { text: asked }, { signal: own.signal });
  } catch (error) {
    if (error instanceof Refused) showProblem({ shown: error.message });
    return;
  }
  if (own !== reading) return;
  editor.mark(found.problem ? [found.problem] : []);
  showProblem(found.problem);
  if (found.problem) return;
  if (found.ascii !== read?.ascii) forgetConsistency();
  read = { ...found, text: asked };
  showReading();
}

function showProblem(problem) {
  find("problem").hidden = !problem;
  find("problem").textContent = problem?.shown ?? "";
  find("text").setAttribute("aria-invalid", String(Boolean(problem)));
  for (const id of ["notation", "verdict", "resembling", "measured"]) find(id).style.opacity = problem ? 0.35 : 1;
}

function showReading() {
  showNotation(find("notation"), read.unicode, read.ascii);
  find("verdict").replaceChildren(...verdict());
  find("resembling").hidden = !read.resembling.length;
  find("resembling").replaceChildren("In the paper's table: ", ...read.resembling.flatMap((row, place) => [
    place ? ", " : "", element("button", { class: "plain", onclick: () => setFormula(row.ascii), title: row.section }, `${row.name}: ${row.unicode}`),
    row.same ? " (the same, up to names)" : ` (${Math.round(100 * row.alike)}% alike)`]));
  const able = !read.no_degrees;
  find("no-degrees").hidden = able;
  find("no-degrees").textContent = read.no_degrees;
  find("measured").hidden = !able;
  if (!able) return;
  showSliders();
  showRelaxations(() => { updateDegrees(); updateSurfaces(); });
  find("tree").parentElement.hidden = !read.tree;
  if (read.tree) {
    shownNodes = drawTree(find("tree"), read.tree);
    find("columns").classList.toggle("spread", find("tree").firstChild.width.baseVal.value > 380);
  }
  chooseAxes();
  updateDegrees();
  updateSurfaces();
}

function verdict() {
  if (read.tautology === null) return [element("span", { class: "verdict quiet" }, "not decided"), element("span", { class: "quiet" }, read.reason)];
  if (read.tautology) return [element("span", { class: "verdict good" }, "tautology")];
  const model = read.countermodel.map((value, place) => `${read.atoms[place]} ${value}`).join(", ");
  const show = element("button", { class: "plain", onclick: () => {
    read.atoms.forEach((atom, place) => { state.degrees[atom] = Number(read.countermodel[place]); });
    showSliders();
    updateDegrees();
    updateSurfaces();
  } }, "show it");
  return [element("span", { class: "verdict" }, "no tautology"), element("span", { class: "quiet" }, model ? `false with ${model} ` : "it is false "), ...(model && !read.no_degrees ? [show] : [])];
}

const degrees = () => read.atoms.map((atom) => (Object.hasOwn(state.degrees, atom) ? state.degrees[atom] : 0.5));

function showSliders() {
  find("sliders").replaceChildren(...read.atoms.map((atom, place) => {
    const limits = { min: 0, max: 1, step: 0.01, value: degrees()[place] };
    const range = element("input", { type: "range", id: `slider-${place}`, ...limits });
    const number = element("input", { type: "number", "aria-label": `Degree of ${atom}`, ...limits, step: "any" });
    const change = (from, other) => () => {
      const value = Number(from.value);
      if (from.value === "" || !(value >= 0 && value <= 1)) return;
      other.value = value;
      Object.defineProperty(state.degrees, atom, { value, writable: true, enumerable: true, configurable: true });
      keepState();
      updateDegrees();
      updateSurfaces();
    };
    range.addEventListener("input", change(range, number));
    number.addEventListener("input", change(number, range));
    return element("div", { class: "slider" }, element("label", { for: `slider-${place}`, title: atom }, atom), range, number);
  }));
}

const updateDegrees = coalesced(async () => {
  const of = read;
  try {
    const found = await ask("degrees", { text: of.text, degrees: degrees(), relaxations: state.relaxations, shown: state.shown });
    if (of !== read) return;
    rows = found.rows;
    showRows(rows, read.atoms);
    find("tree-of").textContent = `under ${state.shown}`;
    if (read.tree) showDegrees(find("tree"), shownNodes, found.nodes);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
});

function chooseAxes() {
  const last = read.atoms.length - 1;
  state.x = Math.max(0, Math.min(Math.round(state.x), last));
  state.y = Math.max(0, Math.min(Math.round(state.y), last));
  if (last > 0 && state.x === state.y) state.y = state.x ? 0 : 1;
  for (const name of ["x", "y"]) {
    find(`surface-${name}`).replaceChildren(...read.atoms.map((atom, place) => element("option", { value: place, selected: place === state[name] }, atom)));
  }
  find("h-surfaces").parentElement.hidden = last < 0;
}

const updateSurfaces = coalesced(async () => {
  const of = read;
  if (!of.atoms.length) return;
  try {
    const asked = { text: of.text, degrees: degrees(), relaxations: state.relaxations, x: state.x, y: state.y };
    const found = await ask("surfaces", asked);
    if (of === read) showSurfaces(found);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
});

function showSurfaces(found) {
  const names = found.surfaces.map((one) => one.relaxation.split("(")[0]).join();
  if (surfaces?.names !== names) {
    cards = found.surfaces.map(makeCard);
    find("surfaces").replaceChildren(...cards.map((card) => card.card));
  }
  const before = surfaces;
  surfaces = { ...found, names };
  const target = found.surfaces.flatMap((one) => one.degrees ?? []);
  stopFlow();
  stopFlow = flow(before?.names === names ? before.flowing : null, target, (flowing) => { surfaces.flowing = flowing; redraw(); });
}

function makeCard() {
  const title = element("h3"), problem = element("p", { class: "bad" });
  const surface = element("canvas", { class: "turning", tabindex: 0, role: "img" });
  const field = element("canvas", { class: "field", role: "img" });
  turnBy(surface, redraw);
  return { card: element("div", { class: "card" }, title, surface, field, problem), title, surface, field, problem };
}

function redraw() {
  if (!surfaces?.flowing) return;
  const colours = coloursOfPage(), at = degrees(), names = [read.atoms[state.x], read.atoms[state.y]];
  let first = 0;
  surfaces.surfaces.forEach((one, place) => {
    const { title, surface, field, problem } = cards[place];
    title.textContent = one.relaxation;
    problem.textContent = one.problem ?? "";
    surface.hidden = field.hidden = Boolean(one.problem);
    if (one.problem) return;
    const { points, arrows } = surfaces, count = points * points;
    const shown = { degrees: surfaces.flowing.slice(first, first + count), points, arrows, gradient: one.gradient, names };
    first += count;
    const [x, y] = [at[state.x], at[state.y]];
    const height = shown.degrees[Math.round(y * (points - 1)) * points + Math.round(x * (points - 1))];
    drawSurface(surface, { ...shown, mark: [x, y, height] }, colours);
    drawField(field, { ...shown, mark: [x, y] }, colours);
    const stuck = one.gradient[0].filter((value, spot) => value === 0 && one.gradient[1][spot] === 0).length;
    const mean = shown.degrees.reduce((sum, value) => sum + value, 0) / count;
    surface.setAttribute("aria-label", `${one.relaxation}: degrees over ${names.join(" and ")}, ${decimal(mean, 2)} in the mean. Arrow keys turn it.`);
    field.setAttribute("aria-label", `${one.relaxation}: the gradient is 0 at ${stuck} of ${one.gradient[0].length} points.`);
  });
}

function savePicture() {
  const drawn = cards.filter((card) => !card.surface.hidden);
  const side = drawn[0].surface.width, head = Math.round(side * 0.12), scale = side / drawn[0].surface.clientWidth;
  const whole = element("canvas", { width: side * drawn.length, height: head + 2 * side });
  const on = whole.getContext("2d"), colours = coloursOfPage();
  on.fillStyle = colours.page;
  on.fillRect(0, 0, whole.width, whole.height);
  on.fillStyle = colours.ink;
  on.font = `${14 * scale}px system-ui, sans-serif`;
  drawn.forEach(({ title, surface, field }, place) => {
    on.fillText(title.textContent, place * side + 8 * scale, head * 0.7);
    on.drawImage(surface, place * side, head);
    on.drawImage(field, place * side, head + side);
  });
  downloadPicture("surfaces.png", whole);
}

function saveSurfaces() {
  const { points } = surfaces, drawn = surfaces.surfaces.filter((one) => one.degrees);
  const table = [[read.atoms[state.x], read.atoms[state.y], ...drawn.map((one) => one.relaxation)]];
  for (let place = 0; place < points * points; place++) {
    table.push([(place % points) / (points - 1), Math.floor(place / points) / (points - 1), ...drawn.map((one) => one.degrees[place])]);
  }
  download("surfaces.csv", toCsv(table), "text/csv");
}

export function formulaInPython() {
  const given = read.atoms.map((atom, place) => `${inPython(atom)}: ${degrees()[place]}`).join(", ");
  return `import residuum as rs\n\nformula = rs.parse(${inPython(read.text)})\nprint(rs.is_tautology(formula))\n`
    + `for name in ${JSON.stringify(state.relaxations)}:\n    print(name, rs.truth(formula, {${given}}, name), rs.consistency(formula, name))\n`;
}

export function formulaAsCommand() {
  const given = read.atoms.map((atom, place) => inShell(`${atom}=${degrees()[place]}`));
  return ["residuum truth", inShell(read.text), ...given, ...state.relaxations.map((name) => `-r ${inShell(name)}`)].join(" ");
}
