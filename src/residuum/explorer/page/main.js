// The page: its views, and what is copied from them.
import { copy } from "/copying.js";
import { find, say } from "/dom.js";
import { formulaAsCommand, formulaInPython, openFormula } from "/formula.js";
import { useRelaxations } from "/relaxations.js";
import { openRules, rulesAsCommand, rulesInPython } from "/rules.js";
import { ask, fetchOpened, watchServer } from "/server.js";
import { openTraining, trainingAsCommand, trainingInPython } from "/training.js";
import { adoptFragment, keepState, linkOfState, restoreState, state } from "/state.js";

const VIEWS = {
  formula: { open: openFormula, python: formulaInPython, command: formulaAsCommand, typed: () => state.text },
  rules: { open: openRules, python: rulesInPython, command: rulesAsCommand, typed: () => state.rules },
  training: { open: openTraining, python: trainingInPython, command: trainingAsCommand, typed: () => JSON.stringify(state.training) },
};
const LONGEST_LINK = 8000;
const opened = new Set();

function show(name) {
  state.view = Object.hasOwn(VIEWS, name) ? name : "formula";
  keepState();
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    const is = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    find(tab.getAttribute("aria-controls")).hidden = !is;
  }
  if (!opened.has(state.view)) {
    opened.add(state.view);
    VIEWS[state.view].open();
  }
}

function prepareTabs() {
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  tabs.forEach((tab, place) => {
    tab.onclick = () => show(tab.getAttribute("aria-controls"));
    tab.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(place + step + tabs.length) % tabs.length];
      next.focus();
      next.click();
    };
  });
}

function prepareCopies() {
  find("copy-python").onclick = () => copy(VIEWS[state.view].python(), "Python");
  find("copy-command").onclick = () => copy(VIEWS[state.view].command(), "a command");
  find("copy-typed").onclick = () => copy(VIEWS[state.view].typed(), "what you typed");
  find("copy-link").onclick = () => {
    const link = linkOfState();
    if (link.length > LONGEST_LINK) say("Too long for a link: shorten the rules");
    else copy(link, "a link");
  };
}

async function start() {
  const [listed, file] = await Promise.all([ask("start", {}), fetchOpened()]);
  useRelaxations(listed);
  if (file && !restoreState()) Object.assign(state, { view: "rules", rules: file.text });
  else if (!file) restoreState();
  prepareTabs();
  prepareCopies();
  watchServer();
  addEventListener("hashchange", () => { if (adoptFragment()) { keepState(); location.reload(); } });
  if (!state.relaxations.length) useRelaxations(listed);
  show(state.view);
}

start();
