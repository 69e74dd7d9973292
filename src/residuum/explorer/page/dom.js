// Elements by one call. Text becomes text nodes, never markup.
export const find = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Decimals that fit a column; infinities and missing numbers come as text or null.
export function decimal(value, digits = 3) {
  if (typeof value !== "number") return value ?? "–";
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) return value.toExponential(1);
  return String(Number(value.toFixed(digits))).replace("-", "−");
}

let silence;
export function say(text) {
  find("said").textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => { find("said").textContent = ""; }, 2500);
}

// Runs `work` again if it was asked for in the meantime; never twice at the same time.
export function coalesced(work) {
  let running = false, again = false;
  return async function ask() {
    if (running) { again = true; return; }
    running = true;
    try {
      do { again = false; await work(); } while (again);
    } finally {
      running = false;
    }
  };
}

export function delayed(work, milliseconds) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(work, milliseconds); };
}
