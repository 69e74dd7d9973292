// The miniature training: its settings, its curves, and what happened.
import { Chart } from "/charts.js";
import { download, downloadPicture, inPython, toCsv, toSvg } from "/copying.js";
import { drawing, element, find } from "/dom.js";
import { showNotation } from "/notation.js";
import { fillSelect } from "/relaxations.js";
import { ask } from "/server.js";
import { keepState, state } from "/state.js";
import { coloursOfPage } from "/surface.js";

const USUAL = { first: "r-product", second: "s-product", outputs: "softmax", begin: "fresh", weight: 1, labels: 1, optimizer: "Adam", rate: 0.02, steps: 300, seed: 0 };
const PRESETS = {
  "A rule that teaches": {},
  "A dead gradient": { first: "lukasiewicz", second: "r-product", outputs: "sigmoid", begin: "wrong", labels: 0 },
  "A trivial solution": { labels: 0 },
  "A divergence": { second: "lukasiewicz", optimizer: "SGD", rate: 20, weight: 5 },
};
const NUMBERS = ["weight", "labels", "rate", "steps", "seed"];

let running = null, points = [], charts = [], names = ["", ""];

export function openTraining() {
  const form = find("settings");
  showNotation(find("toy-rule"), "∀d ∈ digit: Digit(d) → Next((d + 1) mod 5)", "forall d in digit: Digit(d) -> Next((d + 1) mod 5)");
  for (const name of ["first", "second"]) fillSelect(form.elements[name]);
  find("presets").append(...Object.entries(PRESETS).map(([name, settings]) =>
    element("button", { "aria-pressed": "false", onclick: () => { adopt({ ...USUAL, ...settings }); train(); } }, name)));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { keep(); showPressed(); });
  charts = [new Chart("Penalty of the rule", "penalty", { logarithmic: true }), new Chart("Size of its gradient", "gradient", { logarithmic: true }),
    new Chart("Pictures for which the rule is obeyed", "obeyed"), new Chart("Digits that are right, from labels", "digit"), new Chart("Next digits that are right, from the rule alone", "next")];
  find("charts").replaceChildren(...charts.map((chart) => chart.figure));
  find("train").onclick = train;
  find("stop-training").onclick = () => running?.abort();
  find("csv-charts").onclick = saveCsv;
  find("svg-charts").onclick = () => download("training.svg", toSvg(allCharts()), "image/svg+xml");
  find("png-charts").onclick = savePicture;
  adopt({ ...USUAL, ...state.training });
  redraw(state.training.steps);
}

// A link may hold anything: what the form cannot hold keeps its usual value.
function adopt(settings) {
  const form = find("settings");
  for (const [name, usual] of Object.entries(USUAL)) {
    const field = form.elements[name];
    field.value = settings[name];
    if (field.value === "" || !field.checkValidity()) field.value = usual;
  }
  keep();
  showPressed();
}

function keep() {
  const form = find("settings");
  state.training = Object.fromEntries(Object.keys(USUAL).map((name) =>
    [name, NUMBERS.includes(name) ? Number(form.elements[name].value) : form.elements[name].value]));
  keepState();
}

function showPressed() {
  for (const button of find("presets").children) {
    const settings = { ...USUAL, ...PRESETS[button.textContent] };
    const is = Object.keys(USUAL).every((name) => settings[name] === state.training[name]);
    button.setAttribute("aria-pressed", String(is));
  }
}

async function train() {
  running?.abort();
  const own = running = new AbortController(), said = find("training-said");
  const settings = state.training;
  names = [settings.first, settings.second];
  points = [];
  find("ended").replaceChildren();
  find("stop-training").hidden = false;
  said.textContent = "starting …";
  let waiting = false;
  try {
    await ask("training", settings, {
      signal: own.signal,
      onPart: (part) => {
        if (part.ended) {
          find("ended").replaceChildren(...part.ended.map((sentence, run) => element("li", {}, element("strong", {}, names[run]), ` ${sentence}`)));
          return;
        }
        points.push(part);
        said.textContent = `${part.step} of ${part.of} steps`;
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => { waiting = false; if (running === own) redraw(settings.steps); });
      },
    });
    said.textContent = "";
  } catch (error) {
    if (running === own) said.textContent = error.name === "AbortError" ? "Cancelled" : error.message;
  } finally {
    if (running === own) { find("stop-training").hidden = true; redraw(settings.steps); }
  }
}

function redraw(last) {
  find("first-name").textContent = points.length ? names[0] : "first";
  find("second-name").textContent = points.length ? names[1] : "second";
  for (const chart of charts) chart.show(points, last, names);
}

function allCharts() {
  const whole = drawing("svg", { viewBox: `0 0 ${320 * charts.length} 210`, width: 320 * charts.length, height: 210 });
  charts.forEach((chart, place) => {
    const part = drawing("g", { transform: `translate(${320 * place} 24)` }, drawing("text", { x: 8, y: -8, "font-size": 13 }, chart.title));
    part.append(...[...chart.picture.children].map((one) => one.cloneNode(true)));
    whole.append(part);
  });
  whole.setAttribute("class", "hidden");
  document.body.append(whole);  // colours are read from the page
  setTimeout(() => whole.remove());
  return whole;
}

// A picture of SVG would be an image, which the content policy forbids: lines are drawn again.
function savePicture() {
  const scale = 2, whole = element("canvas", { width: 320 * scale * charts.length, height: 210 * scale });
  const on = whole.getContext("2d"), colours = coloursOfPage();
  on.scale(scale, scale);
  on.fillStyle = colours.page;
  on.fillRect(0, 0, whole.width, whole.height);
  charts.forEach((chart, place) => {
    on.setTransform(scale, 0, 0, scale, 320 * scale * place, 24 * scale);
    on.font = "13px system-ui, sans-serif";
    on.fillStyle = colours.ink;
    on.textAlign = "start";
    on.fillText(chart.title, 8, -8);
    for (const one of chart.picture.querySelectorAll("path")) {
      on.strokeStyle = getComputedStyle(one).stroke;
      on.lineWidth = one.classList.contains("curve") ? 1.75 : 1;
      on.stroke(new Path2D(one.getAttribute("d") ?? ""));
    }
    on.font = "12px system-ui, sans-serif";
    on.fillStyle = colours.quiet;
    for (const one of chart.picture.querySelectorAll("text")) {
      on.textAlign = one.getAttribute("text-anchor");
      on.fillText(one.textContent, Number(one.getAttribute("x")), Number(one.getAttribute("y")));
    }
  });
  downloadPicture("training.png", whole);
}

function saveCsv() {
  const measures = charts.map((chart) => chart.measure);
  download("training.csv", toCsv([
    ["step", ...names.flatMap((name) => measures.map((measure) => `${name} ${measure}`))],
    ...points.map((point) => [point.step, ...point.runs.flatMap((run) => measures.map((measure) => run[measure] ?? null))])]), "text/csv");
}

export function trainingInPython() {
  const { first, second, outputs, begin, weight, labels, optimizer, rate, steps, seed } = state.training;
  const kind = outputs === "softmax" ? "exclusive" : "independent";
  const loss = outputs === "softmax" ? "rs.facts(digit[:50], digits[:50])"
    : "torch.nn.functional.binary_cross_entropy_with_logits(digit[:50], torch.eye(5)[digits[:50]])";
  const wrong = begin !== "wrong" ? "" : `    with torch.no_grad():  # every digit at once, and none that comes next
        network[2].bias.add_(3.0 * torch.tensor([1.0, -1.0]).repeat_interleave(5))
`;
  return `import torch
import residuum as rs

torch.manual_seed(${seed})
digits = torch.arange(200) % 5
pictures = torch.eye(5)[digits] + 0.25 * torch.randn(200, 5)
for relaxation in (${inPython(first)}, ${inPython(second)}):
    rule = rs.compile(
        "forall d in digit: Digit(d) -> Next((d + 1) mod 5)", relaxation, domains={"digit": 5},
        outputs={"Digit": "${kind}", "Next": "${kind}"},
    )
    torch.manual_seed(${seed})
    network = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 10))
${wrong}    optimizer = torch.optim.${optimizer}(network.parameters(), lr=${rate})
    for _ in range(${steps}):
        digit, following = network(pictures).chunk(2, dim=1)
        loss = ${weight} * rule(Digit=digit, Next=following) + ${labels} * ${loss}
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    print(relaxation, (following.argmax(1) == (digits + 1) % 5).float().mean())
`;
}

export function trainingAsCommand() {
  return `python - <<'END'\n${trainingInPython()}END`;
}
