// The advice on rules, as the server measures it.
import { decimal, element, find } from "/dom.js";
import { ask } from "/server.js";
import { state } from "/state.js";

let running = null;

export function prepareAdvice(shownPredictions) {
  find("advise").onclick = () => advise(find("advise-on").value === "shown" ? shownPredictions() : {});
  find("stop-advising").onclick = () => running?.abort();
}

export function forgetAdvice() {
  running?.abort();
  running = null;
  find("measured-rules").hidden = find("stop-advising").hidden = true;
  for (const id of ["advice", "reasons", "advising"]) find(id).replaceChildren();
}

async function advise(predictions) {
  forgetAdvice();
  const own = running = new AbortController(), said = find("advising"), body = find("measured-rules").tBodies[0];
  body.replaceChildren();
  find("stop-advising").hidden = false;
  said.textContent = "rehearsing …";
  try {
    await ask("advice", { text: state.rules, relaxations: state.relaxations, ...predictions }, {
      signal: own.signal,
      onPart: (part) => {
        if (part.measured) {
          said.textContent = `${part.done} of ${part.of}`;
          if (part.measured.length) find("measured-rules").hidden = false;
          body.append(...part.measured.map(row));
        } else {
          find("advice").replaceChildren(element("strong", {}, `Recommended: ${part.recommended ?? "no relaxation"}`));
          find("reasons").replaceChildren(...part.reasons.map((reason) => element("li", {}, `${reason}.`)));
          said.textContent = "";
        }
      },
    });
  } catch (error) {
    if (running === own) said.textContent = error.name === "AbortError" ? "Cancelled" : error.message;
  } finally {
    if (running === own) find("stop-advising").hidden = true;
  }
}

function row(one) {
  const percent = (share) => (share === null ? "–" : `${decimal(100 * share, 1)}%`);
  return element("tr", {}, element("th", { scope: "row" }, one.rule), ...[one.sample, one.relaxation, percent(one.violated), percent(one.stuck),
    percent(one.raising), percent(one.mended), percent(one.evaded)].map((text) => element("td", {}, text)));
}
