// The table of relaxations: which ones are compared, their degrees and gradients.
import { decimal, element, find } from "/dom.js";
import { keepState, state } from "/state.js";

let known = [];

export function useRelaxations(listed) {
  known = listed.relaxations;
  if (!state.relaxations.length) state.relaxations = [...listed.paper];
}

const familyOf = (name) => known.find((one) => one.name.split("(")[0] === name.split("(")[0]);

export function fillSelect(select) {
  select.replaceChildren(...known.map(({ name }) => element("option", { value: name }, name)));
}

// Shows a row for each relaxation; `changed` is called when the choice is another.
export function showRelaxations(changed) {
  const add = find("add-relaxation");
  const more = known.filter(({ name, parameter }) => parameter || !state.relaxations.includes(name));
  add.replaceChildren(element("option", { value: "" }, "a relaxation …"),
    ...more.map(({ name }) => element("option", { value: name }, name)));
  add.onchange = () => {
    if (!state.relaxations.includes(add.value)) state.relaxations.push(add.value);
    state.relaxations = state.relaxations.slice(-12);
    update();
  };
  const update = () => { keepState(); showRelaxations(changed); changed(); };
  if (!state.relaxations.includes(state.shown)) state.shown = state.relaxations[0] ?? "";
  find("relaxations").tBodies[0].replaceChildren(...state.relaxations.map((name, place) => row(name, place, update, changed)));
}

function row(name, place, update, changed) {
  const choose = element("input", { type: "radio", name: "shown", value: name, checked: name === state.shown,
    onchange: () => { state.shown = state.relaxations[place]; update(); } });
  const title = element("span", {}, name);
  const head = element("th", { scope: "row" }, element("label", { title: familyOf(name)?.source ?? "" }, choose, title));
  const parameter = familyOf(name)?.parameter;
  if (parameter) head.append(slider(name, place, parameter, title, changed));
  const drop = element("button", { class: "plain", "aria-label": `Remove ${name}`, title: "Remove",
    onclick: () => { state.relaxations.splice(place, 1); update(); } }, "×");
  return element("tr", { class: name === state.shown ? "shown" : null }, head, element("td", { class: "number" }, "–"),
    element("td"), element("td", {}, drop));
}

// The parameter of a family: on a logarithmic scale above its bound, or evenly where it has none.
function slider(name, place, parameter, title, changed) {
  const word = name.split("(")[0];
  const low = parameter.above, even = low === null;
  const toValue = (at) => Number((even ? at : low + 10 ** at).toPrecision(3));
  const value = Number(/\((.*)\)/.exec(name)?.[1] ?? parameter.example);
  const start = even ? value : Math.log10(Math.max(1e-2, value - low));
  const input = element("input", { type: "range", min: even ? -8 : -2, max: even ? 8 : 2, step: 0.01, value: Number.isFinite(start) ? start : 2,
    "aria-label": `${parameter.symbol} of ${word}, ${parameter.range}`, "aria-valuetext": String(value) });
  input.addEventListener("input", () => {
    const written = `${word}(${toValue(Number(input.value))})`;
    if (state.shown === state.relaxations[place]) state.shown = written;
    state.relaxations[place] = title.textContent = written;
    input.setAttribute("aria-valuetext", String(toValue(Number(input.value))));
    keepState();
    changed();
  });
  return element("span", { class: "parameter" }, parameter.symbol, input);
}

export function showRows(rows, atoms) {
  [...find("relaxations").tBodies[0].rows].forEach((shown, place) => {
    const found = rows[place];
    if (!found) return;
    const [, degree, gradient] = shown.cells;
    if (found.problem) {
      degree.replaceChildren("–");
      gradient.replaceChildren(element("span", { class: "bad quiet" }, found.problem));
      return;
    }
    const filling = element("span");
    filling.style.transform = `scaleX(${found.degree})`;
    degree.replaceChildren(element("span", { class: "bar", "aria-hidden": "true" }, filling), decimal(found.degree, 4));
    gradient.replaceChildren(element("div", { class: "pulls" }, ...found.gradient.map((one, atom) => pull(atoms[atom], one))));
  });
}

function pull(atom, value) {
  const sign = value === 0 ? "·" : value === "-∞" || value < 0 ? "▾" : "▴";
  return element("span", { class: value === 0 ? "pull none" : "pull" }, `${sign} `, element("i", {}, atom), ` ${decimal(value)}`);
}
