// Copies for the clipboard, and files for download.
import { element, say } from "/dom.js";

// Text as a literal of Python: that of JSON is one, since JSON escapes what Python must escape.
export const inPython = (text) => JSON.stringify(text);

// Text as one word of a POSIX shell.
export const inShell = (text) => /^[\w./=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // without permission: by selecting it
    const hidden = element("textarea", { class: "hidden" });
    hidden.value = text;
    document.body.append(hidden);
    hidden.select();
    document.execCommand("copy");
    hidden.remove();
  }
  say(`Copied ${what}`);
}

export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  say(`Saved ${name}`);
}

// Cells that a spreadsheet would read as a formula get an apostrophe.
export function toCsv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

// A drawing with the colours that it has on the page, as a file of its own.
export function toSvg(shown) {
  const copied = shown.cloneNode(true);
  const from = [shown, ...shown.querySelectorAll("*")], to = [copied, ...copied.querySelectorAll("*")];
  from.forEach((one, place) => {
    const style = getComputedStyle(one);
    for (const name of ["fill", "stroke", "stroke-width", "font-family", "font-size", "font-style", "opacity"]) {
      to[place].setAttribute(name, style.getPropertyValue(name));
    }
    to[place].removeAttribute("class");
  });
  copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copied);
}

export function downloadPicture(name, canvas) {
  canvas.toBlob((blob) => download(name, blob, "image/png"), "image/png");
}
