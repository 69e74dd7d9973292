// The view of a rule file: its text, what it says, and what it says about predictions.
import { prepareAdvice, forgetAdvice } from "/advice.js";
import { inPython, inShell } from "/copying.js";
import { coalesced, decimal, delayed, element, find, say } from "/dom.js";
import { makeEditor } from "/editor.js";
import { showNotation } from "/notation.js";
import { showOutputs } from "/outputs.js";
import { fillSelect } from "/relaxations.js";
import { RULE_EXAMPLES } from "/rule_examples.js";
import { Refused, ask } from "/server.js";
import { keepState, state } from "/state.js";

const MOST_BYTES = 32_000_000;
const MOST_COLUMNS = 40;

let editor, valid = false, reading = null;
// Predictions that were set by hand or dropped; without them the server draws some.
let given = null, seed = 0, shown = null;

export function openRules() {
  editor = makeEditor(find("rules-text"), find("rules-backdrop"));
  const update = delayed(readRules, 150);
  find("rules-text").addEventListener("input", () => { state.rules = find("rules-text").value; given = null; keepState(); update(); });
  find("rule-examples").append(...Object.entries(RULE_EXAMPLES).flatMap(([name, text]) =>
    [element("button", { class: "plain", onclick: () => setRules(text) }, name), " · "]).slice(0, -1));
  fillSelect(find("rules-relaxation"));
  find("rules-relaxation").value = state.relaxation;
  find("rules-relaxation").onchange = (event) => { state.relaxation = event.target.value; keepState(); evaluate(); };
  find("draw").onclick = () => { given = null; seed += 1; find("dropped").textContent = ""; evaluate(); decode(); };
  find("draw-kind").onchange = () => { given = null; evaluate(); decode(); };
  for (const name of ["example", "rate", "pulled-by"]) find(name).addEventListener("input", () => evaluate());
  find("example").addEventListener("input", () => decode());
  prepareDrop();
  prepareAdvice(() => ({ predictions: shown?.predictions, lengths: shown?.lengths ?? null }));
  setRules(state.rules || RULE_EXAMPLES.smokers);
}

function setRules(text) {
  find("rules-text").value = state.rules = text;
  given = null;
  editor.fit();
  editor.mark();
  keepState();
  readRules();
}

async function readRules() {
  reading?.abort();
  const own = reading = new AbortController();
  valid = false;
  let found;
  try {
    found = await ask("rules", { text: state.rules }, { signal: own.signal });
  } catch (error) {
    if (error instanceof Refused) showProblems({ shown: error.message, problems: [] });
    return;
  }
  if (own !== reading) return;
  showProblems(found.problems ? found : null);
  if (found.problems) return;
  valid = true;
  forgetAdvice();
  showDeclared(found);
  checkRules(own);
  await evaluate();  // one after the other, so that one worker loads PyTorch for both
  await decode();
}

function showProblems(found) {
  editor.mark(found?.problems ?? []);
  find("rules-problem").hidden = !found;
  find("rules-problem").textContent = found?.shown ?? "";
  find("rules-text").setAttribute("aria-invalid", String(Boolean(found)));
  find("rules-read").style.opacity = found ? 0.35 : 1;
}

function showDeclared(found) {
  find("rule-list").replaceChildren(...found.rules.map((rule) => {
    const notation = element("div", { class: "notation small", role: "math" });
    showNotation(notation, rule.unicode, rule.ascii);
    const weight = rule.weight === 1 ? "" : ` · weight ${decimal(rule.weight)}`;
    return element("li", {}, element("span", { class: "quiet" }, `${rule.name}${weight}`), notation);
  }));
  const parts = [
    ...found.domains.map((one) => `domain ${one.name}: ${one.members}`),
    ...found.functions.map((one) => `function ${one.name}(${one.from.join(", ")}): ${one.to}${one.values === null ? ", given from Python" : ""}`),
    ...found.predicates.map((one) => `${one.name}(${one.domains.join(", ")}): ${one.kind}`)];
  find("declared").replaceChildren(...parts.flatMap((part) => [part, element("br")]));
  const chosen = find("pulled-by").value;
  find("pulled-by").replaceChildren(element("option", { value: "" }, "all rules"),
    ...found.rules.map(({ name }) => element("option", { value: name, selected: name === chosen }, name)));
}

async function checkRules(own) {
  find("checked").textContent = "";
  try {
    const found = await ask("check", { text: state.rules }, { signal: own.signal });
    const lines = [
      ...found.contradictions.map(({ rules, lengths }) => `No prediction${lengths.length ? ` for sequences of length ${lengths.join(", ")}` : ""} obeys ${rules.join(" and ")}.`),
      ...found.entailed.map(({ rule, by }) => (by.length ? `${rule} follows from ${by.join(" and ")}.` : `${rule} holds for every prediction.`)),
      ...Object.entries(found.unchecked).map(([rule, reason]) => `${rule} was not checked: ${reason}.`)];
    find("checked").className = found.contradictions.length ? "bad" : "quiet";
    find("checked").textContent = lines.join(" ") || "The rules agree with each other, and none follows from the others.";
  } catch (error) {
    if (error instanceof Refused) find("checked").textContent = error.message;
  }
}

function request() {
  const common = { text: state.rules, relaxation: state.relaxation, example: Math.min(63, Math.max(0, Math.round(Number(find("example").value)) || 0)) };
  if (given) return { ...common, ...given };
  return { ...common, seed, examples: 16, draw: find("draw-kind").value };
}

const evaluate = coalesced(async () => {
  if (!valid) return;
  try {
    const rate = Math.min(1000, Math.max(0, Number(find("rate").value) || 0));
    const asked = request();
    if (!shown) find("dropped").textContent = "computing …";
    const found = await ask("predictions", { ...asked, rate, rule: find("pulled-by").value });
    if (!shown) find("dropped").textContent = "";
    if (asked.text !== state.rules) return;
    shown = found;
    find("predictions-problem").textContent = "";
    find("evaluated").hidden = false;
    find("example").max = found.examples - 1;
    find("example-count").textContent = `of ${found.examples}, counted from 0`;
    showPenalties(found.rules);
    showOutputs(found, asked.example % found.examples, setByHand);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    find("predictions-problem").textContent = error.message;
    find("evaluated").hidden = true;
  }
});

function setByHand(predictions) {
  given = { predictions, lengths: shown.lengths };
  evaluate();
  decodeLater();
}

function showPenalties(rules) {
  find("penalties").tBodies[0].replaceChildren(...rules.map((rule) => element("tr", {},
    element("th", { scope: "row" }, rule.name), element("td", {}, String(rule.groundings)), element("td", {}, decimal(rule.before)),
    element("td", {}, decimal(rule.after)), element("td", {}, decimal(rule.truth)),
    element("td", { class: rule.obeyed ? "good" : "bad" }, rule.obeyed ? "yes" : "no"),
    element("td", {}, decimal(rule.mean)), element("td", {}, `${Math.round(100 * rule.satisfied)}%`))));
  const broken = rules.flatMap((rule) => rule.violations.map((one) => ({ rule: rule.name, ...one })));
  find("violations").replaceChildren(...(broken.length ? broken.map((one) => element("li", {},
    element("span", { class: "quiet" }, `${one.rule} `), element("span", { class: "mono" }, one.text), ` degree ${decimal(one.degree)}`,
    element("div", { class: "quiet pulls" }, ...(one.pulls.length
      ? one.pulls.map(({ output, gradient }) => element("span", {}, `${output} ${pullOf(gradient)}`))
      : ["no gradient: no step mends it"]))))
    : [element("li", { class: "quiet" }, "None: the prediction obeys all rules.")]));
}

// A step goes against the gradient.
function pullOf(gradient) {
  return typeof gradient === "number" ? `${gradient < 0 ? "▴" : "▾"} ${decimal(Math.abs(gradient))}` : String(gradient);
}

const decode = coalesced(async () => {
  if (!valid) return;
  const table = find("decoded").tBodies[0];
  try {
    const found = await ask("decode", request());
    find("decode-problem").textContent = "";
    table.replaceChildren(...found.outputs.flatMap(({ name, about, free, obeying }) => [
      ...(about.some(Boolean) ? [headOf(about)] : []), line(name, "free", free, obeying), line("", "obeying", obeying, free)]));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    table.replaceChildren();
    find("decode-problem").textContent = error.message;
  }
});
const decodeLater = delayed(() => decode(), 400);

function headOf(about) {
  return element("tr", {}, element("td", {}), element("td", {}), ...about.slice(0, MOST_COLUMNS).map((one) => element("th", { scope: "col", class: "quiet" }, one)));
}

function line(name, kind, labels, others) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "quiet" }, kind),
    ...labels.slice(0, MOST_COLUMNS).map((label, place) => element("td", { class: kind === "obeying" && label !== others[place] ? "changed" : null }, label)));
}

function prepareDrop() {
  const drop = find("drop"), field = find("sample");
  const over = (is) => (event) => { event.preventDefault(); drop.classList.toggle("over", is); };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); readFile(event.dataTransfer.files[0]); });
  for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
  field.onchange = () => readFile(field.files[0]);
}

async function readFile(file) {
  if (!file) return;
  if (file.size > MOST_BYTES) { say("Larger than 32 MB: give fewer examples"); return; }
  const content = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.readAsDataURL(file);
  });
  find("dropped").textContent = "reading …";
  try {
    const found = await ask("sample", { text: state.rules, form: find("form").value, content });
    given = { predictions: found.predictions, lengths: found.lengths };
    find("dropped").textContent = found.examples < found.total
      ? `${file.name}: the first ${found.examples} of ${found.total} examples, as many as the page shows`
      : `${file.name}: ${found.examples} examples`;
    find("example").value = 0;
    evaluate();
    decode();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    find("dropped").textContent = error.message;
  }
}

export function rulesInPython() {
  return `import residuum as rs\n\nknowledge = rs.loads(${inPython(state.rules)})\nrules = rs.compile(knowledge, ${inPython(state.relaxation)})\n`
    + "for name, rule in rules.rules.items():\n    print(name, rule.explain())\n";
}

export function rulesAsCommand() {
  const names = state.relaxations.map((name) => `-r ${inShell(name)}`).join(" ");
  return `printf %s ${inShell(state.rules)} > rules.rsd && residuum check rules.rsd && residuum advise rules.rsd ${names}`;
}
