// Surfaces and gradient fields on canvases. One pair of angles turns all surfaces together.
const SMOOTHLY = !matchMedia("(prefers-reduced-motion: reduce)").matches;

export const view = { turn: -0.62, tilt: 0.5, toTurn: -0.62, toTilt: 0.5 };

export function coloursOfPage() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const [low, high] = [channels(read("--pale")), channels(read("--accent"))];
  const ramp = Array.from({ length: 65 }, (_, step) =>
    low.map((one, channel) => Math.round(one + (high[channel] - one) * step / 64)));
  return { ramp, ink: read("--ink"), quiet: read("--quiet"), line: read("--line"), page: read("--page"), bad: read("--bad") };
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function prepared(canvas) {
  const scale = Math.min(devicePixelRatio || 1, 2), size = canvas.clientWidth || 220;
  if (canvas.width !== Math.round(size * scale)) canvas.width = canvas.height = Math.round(size * scale);
  const on = canvas.getContext("2d");
  on.setTransform(scale, 0, 0, scale, 0, 0);
  on.clearRect(0, 0, size, size);
  return { on, size };
}

// Draws degrees over the unit square. `degrees` has `points` rows of the second atom.
export function drawSurface(canvas, { degrees, points, names, mark }, colours) {
  const { on, size } = prepared(canvas);
  const [cos, sin, up, flat] = [Math.cos(view.turn), Math.sin(view.turn), Math.cos(view.tilt), Math.sin(view.tilt)];
  const unit = size * 0.56;
  const at = (x, y, z) => {
    const [a, b] = [x - 0.5, y - 0.5];
    const across = a * cos - b * sin, away = a * sin + b * cos;
    return [size / 2 + across * unit, size * 0.52 - (z - 0.5) * unit * up * 0.92 - away * unit * flat];
  };
  const line = (...corners) => {
    on.beginPath();
    corners.forEach((corner, place) => (place ? on.lineTo(...corner) : on.moveTo(...corner)));
    on.stroke();
  };
  // The far corner, where the frame stands behind the surface.
  const [farX, farY] = [sin > 0 ? 1 : 0, cos > 0 ? 1 : 0];
  on.lineWidth = 1;
  on.strokeStyle = colours.line;
  line(at(0, 0, 0), at(1, 0, 0), at(1, 1, 0), at(0, 1, 0), at(0, 0, 0));
  line(at(1 - farX, farY, 0), at(1 - farX, farY, 1), at(farX, farY, 1), at(farX, 1 - farY, 1), at(farX, 1 - farY, 0));
  line(at(farX, farY, 0), at(farX, farY, 1));
  const cells = points - 1, step = 1 / cells;
  const corners = degrees.map((z, place) => at((place % points) * step, Math.floor(place / points) * step, z));
  for (let row = 0; row < cells; row++) {
    const j = farY ? cells - 1 - row : row;
    for (let column = 0; column < cells; column++) {
      const i = farX ? cells - 1 - column : column, first = j * points + i;
      const four = [first, first + 1, first + points + 1, first + points];
      const z = four.map((one) => degrees[one]);
      const mean = (z[0] + z[1] + z[2] + z[3]) / 4;
      // Light falls from the left: slopes that face it are brighter.
      const shade = 1 + 0.1 * Math.tanh(1.5 * ((z[1] - z[0]) * cos - (z[3] - z[0]) * sin) * cells / 4);
      const [r, g, b] = colours.ramp[Math.round(64 * Math.min(1, Math.max(0, mean)))].map((one) => Math.min(255, one * shade));
      on.fillStyle = on.strokeStyle = `rgb(${r} ${g} ${b})`;
      on.beginPath();
      four.forEach((one, place) => (place ? on.lineTo(...corners[one]) : on.moveTo(...corners[one])));
      on.closePath();
      on.fill();
      on.stroke();
    }
  }
  on.strokeStyle = colours.page;
  on.globalAlpha = 0.45;
  on.lineWidth = 0.7;
  for (let k = 0; k <= cells; k += cells / 8) {
    line(...Array.from({ length: points }, (_, one) => corners[k * points + one]));
    line(...Array.from({ length: points }, (_, one) => corners[one * points + k]));
  }
  on.globalAlpha = 1;
  if (mark) {
    const [x, y] = at(...mark), [, foot] = at(mark[0], mark[1], 0);
    on.strokeStyle = colours.ink;
    on.setLineDash([2, 3]);
    line([x, y], [x, foot]);
    on.setLineDash([]);
    on.fillStyle = colours.ink;
    on.beginPath();
    on.arc(x, y, 3.5, 0, 7);
    on.fill();
  }
  on.fillStyle = colours.quiet;
  on.font = `italic ${Math.max(12, size * 0.06)}px Georgia, serif`;
  on.textAlign = "center";
  const [nearX, nearY] = [1 - farX, 1 - farY];
  const middle = [at(0.5, nearY, 0), at(nearX, 0.5, 0)];
  names.forEach((name, place) => on.fillText(name.length > 9 ? `${name.slice(0, 8)}…` : name,
    middle[place][0] + (place ? nearX ? 1 : -1 : 0) * 12, middle[place][1] + 17));
  on.font = `${Math.max(10, size * 0.048)}px system-ui, sans-serif`;
  const [tickX, tickY] = at(1 - farX, farY, 0)[0] < at(farX, 1 - farY, 0)[0] ? [1 - farX, farY] : [farX, 1 - farY];
  for (const z of [0, 1]) {
    const [x, y] = at(tickX, tickY, z);
    on.fillText(String(z), x - 9, y + 3);
  }
}

// Draws where the gradient points, over a map of the degrees.
export function drawField(canvas, { degrees, points, gradient, arrows, names, mark }, colours) {
  const { on, size } = prepared(canvas);
  const margin = size * 0.1, inner = size - 1.6 * margin, left = margin, top = 0.6 * margin;
  const at = (x, y) => [left + x * inner, top + (1 - y) * inner];
  const cell = inner / (points - 1);
  for (let j = 0; j < points - 1; j++) {
    for (let i = 0; i < points - 1; i++) {
      const [r, g, b] = colours.ramp[Math.round(40 * Math.min(1, Math.max(0, degrees[j * points + i])))];
      on.fillStyle = `rgb(${r} ${g} ${b})`;
      const [x, y] = at(i / (points - 1), (j + 1) / (points - 1));
      on.fillRect(x, y, cell + 0.6, cell + 0.6);
    }
  }
  const finite = (value) => (typeof value === "number" ? value : 0);
  const sizes = gradient[0].map((one, place) => Math.hypot(finite(one), finite(gradient[1][place])));
  const largest = Math.max(...sizes, 1e-9), longest = inner / arrows * 0.46;
  on.strokeStyle = on.fillStyle = colours.ink;
  on.lineWidth = 1.1;
  sizes.forEach((length, place) => {
    const [x, y] = at(((place % arrows) + 0.5) / arrows, (Math.floor(place / arrows) + 0.5) / arrows);
    on.beginPath();
    if (length === 0) {
      on.arc(x, y, 1.6, 0, 7);
      on.globalAlpha = 0.55;
      on.stroke();
      on.globalAlpha = 1;
      return;
    }
    const reach = longest * (0.3 + 0.7 * Math.sqrt(length / largest)) / length;
    const [dx, dy] = [finite(gradient[0][place]) * reach, -finite(gradient[1][place]) * reach];
    const head = 3.2 / Math.hypot(dx, dy);
    on.moveTo(x - dx, y - dy);
    on.lineTo(x + dx, y + dy);
    on.moveTo(x + dx - (dx + dy) * head * 0.8, y + dy - (dy - dx) * head * 0.8);
    on.lineTo(x + dx, y + dy);
    on.lineTo(x + dx - (dx - dy) * head * 0.8, y + dy - (dy + dx) * head * 0.8);
    on.stroke();
  });
  if (mark) {
    on.fillStyle = colours.ink;
    on.strokeStyle = colours.page;
    on.lineWidth = 1.5;
    on.beginPath();
    on.arc(...at(mark[0], mark[1]), 4, 0, 7);
    on.fill();
    on.stroke();
  }
  on.fillStyle = colours.quiet;
  on.font = `italic ${Math.max(12, size * 0.06)}px Georgia, serif`;
  on.textAlign = "center";
  on.fillText(names[0].slice(0, 12), left + inner / 2, size - 3);
  if (names[1] === names[0]) return;
  on.save();
  on.translate(margin * 0.6, top + inner / 2);
  on.rotate(-Math.PI / 2);
  on.fillText(names[1].slice(0, 12), 0, 0);
  on.restore();
}

// Turns the view by dragging and by arrow keys, and calls `redraw` until it rests.
export function turnBy(canvas, redraw) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    turn((event.clientX - from[0]) * 0.012, (event.clientY - from[1]) * 0.012, redraw);
    from = [event.clientX, event.clientY];
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { from = null; });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, -0.12], ArrowDown: [0, 0.12] };
    if (!steps[event.key]) return;
    event.preventDefault();
    turn(...steps[event.key], redraw);
  });
}

let turning = false;
function turn(sideways, down, redraw) {
  view.toTurn += sideways;
  view.toTilt = Math.min(1.45, Math.max(0.05, view.toTilt + down));
  if (turning) return;
  turning = true;
  const step = () => {
    const pace = SMOOTHLY ? 0.35 : 1;
    view.turn += (view.toTurn - view.turn) * pace;
    view.tilt += (view.toTilt - view.tilt) * pace;
    turning = Math.abs(view.toTurn - view.turn) + Math.abs(view.toTilt - view.tilt) > 0.002;
    redraw();
    if (turning) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// Lets numbers move to new ones in a fifth of a second, so that a surface flows.
export function flow(shown, target, redraw) {
  if (!SMOOTHLY || !shown || shown.length !== target.length) { redraw(target); return () => {}; }
  const start = performance.now();
  let stopped = false;
  const step = (now) => {
    if (stopped) return;
    const part = Math.min(1, Math.max(0, (now - start) / 200)), eased = part * (2 - part);
    redraw(target.map((one, place) => shown[place] + (one - shown[place]) * eased));
    if (part < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  return () => { stopped = true; };
}
