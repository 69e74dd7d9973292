// A formula in the notation of mathematics: names in italics, connectives apart.
import { element } from "/dom.js";

const SPACED = /[∧∨→↔=≠<>≤≥+∈·]|mod|div|and|of|at least|at most|exactly|where/y;
const TIGHT = /[¬∀∃⊤⊥!-]/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const QUOTED = /"(?:[^"\\]|\\.)*"/y;

export function showNotation(target, text, spoken) {
  target.replaceChildren(...pieces(text));
  target.setAttribute("aria-label", spoken);
}

function* pieces(text) {
  for (let at = 0; at < text.length;) {
    const [kind, found] = match(text, at);
    at += found.length;
    if (kind === "name") yield element("i", {}, found);
    else if (kind === "spaced") yield element("b", {}, found);
    else if (kind === "tight") yield element("b", { class: "tight" }, found);
    else yield found;
  }
}

function match(text, at) {
  for (const [kind, pattern] of [["quoted", QUOTED], ["spaced", SPACED], ["tight", TIGHT], ["name", NAME]]) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) continue;
    // `order` is a name, although it begins with a word that is none.
    if (kind === "spaced" && /[\p{L}\p{N}_]/u.test(text[at]) && (/[\p{L}\p{N}_]/u.test(text[at + found[0].length] ?? ""))) continue;
    return [kind, found[0]];
  }
  return ["other", String.fromCodePoint(text.codePointAt(at))];
}
