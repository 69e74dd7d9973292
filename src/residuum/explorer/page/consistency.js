// Consistency and self-consistency, as the server finds them.
import { decimal, element, find } from "/dom.js";
import { ask } from "/server.js";
import { state } from "/state.js";

let running = null;

export function prepareConsistency() {
  find("measure").onclick = measure;
  find("stop-measuring").onclick = () => running?.abort();
}

// Numbers of another formula would mislead.
export function forgetConsistency() {
  running?.abort();
  find("consistencies").hidden = true;
  find("measuring").textContent = "";
}

async function measure() {
  running?.abort();
  const own = running = new AbortController();
  const table = find("consistencies"), body = table.tBodies[0], said = find("measuring");
  const rows = new Map(state.relaxations.map((name) =>
    [name, element("tr", {}, element("th", { scope: "row" }, name), ...Array.from({ length: 4 }, () => element("td", {}, "…")))]));
  body.replaceChildren(...rows.values());
  table.hidden = find("stop-measuring").hidden = false;
  let done = 0;
  said.textContent = `0 of ${2 * rows.size}`;
  try {
    await ask("consistency", { text: state.text, relaxations: [...rows.keys()], seconds: Number(find("seconds").value) }, {
      signal: own.signal,
      onPart: ({ relaxation, kind, found, problem }) => {
        const cells = rows.get(relaxation).cells;
        if (problem) { cells[1].replaceChildren(problem); done += 2; return; }
        const [value, how] = kind === "self" ? [cells[3], cells[4]] : [cells[1], cells[2]];
        value.replaceChildren(...inWords(found));
        how.replaceChildren(element("span", { class: "quiet", title: found.note }, knownBy(found)));
        done += 1;
        said.textContent = `${done} of ${2 * rows.size}`;
      },
    });
    said.textContent = "";
  } catch (error) {
    if (running !== own) return;
    said.textContent = error.name === "AbortError" ? "Cancelled" : error.message;
    for (const cell of body.querySelectorAll("td")) if (cell.textContent === "…") cell.textContent = "–";
  } finally {
    if (running === own) find("stop-measuring").hidden = true;
  }
}

function inWords(found) {
  const exact = found.exact && found.exact !== found.decimal ? [element("span", { class: "quiet" }, ` = ${found.exact}`)] : [];
  return [element("span", { class: "number" }, found.decimal), ...exact];
}

function knownBy({ kind, low, high, method }) {
  if (kind === "exact") return `exact, ${method}`;
  const between = `between ${decimal(low, 7)} and ${decimal(high, 7)}`;
  return `${kind === "estimate" ? "estimate, 99.9%" : kind} ${between}, ${method}`;
}
