// The outputs of one example: a slider for each probability, its gradient, and where a step takes it.
import { decimal, element, find } from "/dom.js";

const MOST = 240;
let kept = "", rows = [];

// `changed` gets all predictions when a slider was moved.
export function showOutputs(found, example, changed) {
  const count = found.outputs.reduce((sum, one) => sum + one.labels.length, 0);
  if (count > MOST) {
    kept = "";
    find("outputs").replaceChildren(element("p", { class: "quiet" }, `${count} outputs are too many to show one by one.`));
    return;
  }
  const form = JSON.stringify(found.outputs.map((one) => [one.name, one.labels]));
  if (form !== kept) {
    kept = form;
    rows = found.outputs.map((one) => one.labels.map(([group, label]) => row(one.name, group, label)));
    find("outputs").replaceChildren(...found.outputs.flatMap((one, slot) => fieldsets(one, rows[slot])));
  }
  found.outputs.forEach((one, slot) => {
    const now = flat(found.predictions[one.name][example]), after = flat(one.after[0]);
    rows[slot].forEach((shown, place) => {
      if (!shown.moving) shown.range.value = now[place];
      shown.value.textContent = decimal(now[place]);
      const gradient = one.gradient[place];
      const sign = gradient < 0 ? "▴" : "▾";
      shown.after.textContent = gradient === 0 ? "" : `${sign} ${decimal(after[place])}`;
      shown.after.title = `gradient ${decimal(gradient)}`;
      shown.range.setAttribute("aria-label", `${shown.spoken}, gradient ${decimal(gradient)}, ${decimal(after[place])} after one step`);
      shown.range.oninput = () => {
        shown.moving = true;
        const predictions = structuredClone(found.predictions);
        predictions[one.name][example] = moved(predictions[one.name][example], place, Number(shown.range.value), one.exclusive);
        changed(predictions);
      };
      shown.range.onchange = () => { shown.moving = false; };
    });
  });
}

// Outputs that share all members but the last stand together, as a softmax does.
function fieldsets(one, shown) {
  const groups = new Map();
  one.labels.forEach(([group], place) => groups.set(group, [...(groups.get(group) ?? []), shown[place].line]));
  return [...groups].map(([group, lines]) => element("fieldset", {},
    element("legend", {}, `${one.name} ${group} `, element("span", { class: "quiet" }, one.exclusive ? "softmax" : "sigmoid")), ...lines));
}

function row(name, group, label) {
  const range = element("input", { type: "range", min: 0, max: 1, step: 0.001 });
  const value = element("span", { class: "number" }), after = element("span", { class: "number quiet" });
  const line = element("div", { class: "output" }, element("span", { title: label }, label || name), range, value, after);
  return { spoken: `${name} ${group} ${label}`, range, value, after, line };
}

const flat = (numbers) => (Array.isArray(numbers) ? numbers.flat(Infinity) : [numbers]);

// Sets one probability; the others of its softmax share the rest in the same proportions.
function moved(numbers, place, value, exclusive) {
  if (!Array.isArray(numbers)) return value;
  const sizes = [];
  for (let one = numbers; Array.isArray(one); one = one[0]) sizes.push(one.length);
  const all = flat(numbers), last = sizes.at(-1), first = place - (place % last);
  if (exclusive) {
    let rest = 0;
    for (let at = first; at < first + last; at++) if (at !== place) rest += all[at];
    for (let at = first; at < first + last; at++) {
      if (at !== place) all[at] = rest > 0 ? all[at] / rest * (1 - value) : (1 - value) / Math.max(1, last - 1);
    }
  }
  all[place] = value;
  return nested(all, sizes);
}

function nested(numbers, [size, ...inner]) {
  if (!inner.length) return numbers;
  const each = numbers.length / size;
  return Array.from({ length: size }, (_, one) => nested(numbers.slice(one * each, (one + 1) * each), inner));
}
