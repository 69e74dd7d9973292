// What the page shows, so that a link or a reload brings it back. The token is no part of it.
const KEY = "residuum-explorer";

export const state = {
  view: "formula", text: "P & Q -> R", degrees: { P: 0.8, Q: 0.7, R: 0.3 }, relaxations: [], shown: "r-product",
  x: 0, y: 1, rules: "", relaxation: "r-product", training: {},
};

const KINDS = Object.fromEntries(Object.entries(state).map(([name, value]) => [name, kindOf(value)]));

function kindOf(value) {
  return Array.isArray(value) ? "list" : typeof value;
}

function adopt(found) {
  for (const [name, value] of Object.entries(found ?? {})) {
    if (KINDS[name] !== kindOf(value) || value === null) continue;  // from a link: it may be anything
    if (name === "relaxations" && !value.every((one) => typeof one === "string")) continue;
    state[name] = name === "relaxations" ? value.slice(0, 12) : value;
  }
  const degrees = Object.entries(state.degrees).filter(([, one]) => typeof one === "number" && one >= 0 && one <= 1);
  state.degrees = Object.fromEntries(degrees);
}

// The fragment of the address goes before what this tab kept.
export function restoreState() {
  try { adopt(JSON.parse(sessionStorage.getItem(KEY))); } catch { /* nothing was kept */ }
  return adoptFragment();
}

export function adoptFragment() {
  if (!location.hash.startsWith("#state=")) return false;
  try {
    adopt(JSON.parse(decodeURIComponent(location.hash.slice("#state=".length))));
  } catch {
    return false;
  }
  history.replaceState(null, "", "/");
  return true;
}

export function keepState() {
  try { sessionStorage.setItem(KEY, JSON.stringify(state)); } catch { /* it is too large */ }
}

export function linkOfState() {
  return `${location.origin}/#state=${encodeURIComponent(JSON.stringify(state))}`;
}
