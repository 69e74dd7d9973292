// A text field that underlines a mistake where it stands.
import { element } from "/dom.js";

export function makeEditor(field, backdrop) {
  const fit = () => {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  };
  const mark = (problems = []) => {
    const lines = field.value.split("\n");
    const starts = [0];
    for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
    const pieces = [];
    let done = 0;
    for (const { line, column } of problems) {
      const start = offset(field.value, starts[line - 1] ?? 0, column - 1);
      if (start < done) continue;
      const word = /^[\p{L}\p{N}_]+/u.exec(field.value.slice(start))?.[0] ?? [...field.value.slice(start)][0] ?? " ";
      pieces.push(field.value.slice(done, start), element("mark", {}, word === "\n" ? " \n" : word));
      done = start + word.length;
    }
    backdrop.replaceChildren(...pieces, field.value.slice(done), " ");
  };
  field.addEventListener("input", () => { fit(); mark(); });
  addEventListener("resize", fit);
  return { fit, mark };
}

// Columns are counted in characters; text of JavaScript in units of UTF-16.
function offset(text, start, characters) {
  let at = start;
  for (let left = characters; left > 0 && at < text.length; left--) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}
