// Talking to the server: tasks, and noticing that it has stopped.
import { find } from "/dom.js";

export class Refused extends Error {}

// Sends a task; `onPart` gets each part of the answer. Returns the last part.
export async function ask(task, given, { onPart = () => {}, signal } = {}) {
  let response;
  try {
    response = await fetch(`/tasks/${task}`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify(given), signal,
    });
  } catch (error) {
    if (error.name !== "AbortError") { showStopped(true); throw new Refused("the server has stopped"); }
    throw error;
  }
  if (response.status === 403) showStopped(true);
  if (!response.ok) throw new Refused((await response.text()).trim());
  return await readLines(response.body.getReader(), onPart);
}

async function readLines(reader, onPart) {
  const decoder = new TextDecoder();
  let kept = "", last = null;
  for (;;) {
    let read;
    try {
      read = await reader.read();
    } catch (error) {
      if (error.name !== "AbortError") { showStopped(true); throw new Refused("the server has stopped"); }
      throw error;
    }
    const lines = (kept + decoder.decode(read.value, { stream: !read.done })).split("\n");
    kept = lines.pop();
    for (const line of lines) {
      const answer = JSON.parse(line);
      if ("refused" in answer) throw new Refused(answer.refused);
      if (answer.done) return last;
      last = answer.part;
      onPart(last);
    }
    if (read.done) throw new Refused("the answer ended early");
  }
}

export async function fetchOpened() {
  return (await fetch("/opened")).json();
}

function showStopped(stopped) {
  find("stopped").hidden = !stopped;
}

// A server that comes back on this port has another token, and answers 403.
export function watchServer() {
  setInterval(async () => {
    if (document.hidden) return;
    try {
      showStopped(!(await fetch("/explorer.css", { method: "HEAD", cache: "no-store" })).ok);
    } catch {
      showStopped(true);
    }
  }, 2000);
}
