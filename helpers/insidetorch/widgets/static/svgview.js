// Shows an SVG made in Python: links cells on hover and focus, walks them by arrow keys, reads them
// out, and keeps JupyterLab from taking the keys. No rule of torch stands here.
const STEP = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// In command mode JupyterLab listens for single keys on the document and would insert or delete
// cells while a slider or a picture has the focus. Stop them at our box; let shortcuts with a
// modifier, Shift+Enter and Escape through.
function guard(event) {
  const run = event.shiftKey && event.key === "Enter";
  if (event.ctrlKey || event.metaKey || event.altKey || run || event.key === "Escape") return;
  event.stopPropagation();
}

// ipywidgets 8 gives the handles and the number fields of its sliders no accessible name: take the
// visible label.
function nameSliders(box) {
  for (const slider of box.querySelectorAll(".widget-slider")) {
    const label = slider.querySelector(".widget-label")?.textContent;
    if (!label) continue;
    for (const part of slider.querySelectorAll(".noUi-handle, .widget-readout")) part.setAttribute("aria-label", label);
    slider.querySelector(".widget-readout").setAttribute("role", "textbox");
  }
}

function element(className, attributes = {}) {
  const node = document.createElement("div");
  node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function render({ model, el }) {
  const picture = element("it-picture");
  const status = element("it-status", { role: "status", "aria-live": "polite" });
  el.classList.add("it-view");
  el.append(picture, status);
  let place = null; // row and column of the cell that had the focus last: survives a repaint

  const find = (r, c) => picture.querySelector(`[data-r="${r}"][data-c="${c}"]`);

  function mark(cell) {
    for (const old of picture.querySelectorAll(".on")) old.classList.remove("on");
    status.textContent = cell?.dataset.say ?? model.get("status");
    if (!cell) return;
    const link = CSS.escape(cell.dataset.link);
    for (const twin of picture.querySelectorAll(`[data-link="${link}"]`)) twin.classList.add("on");
  }

  function makeTabStop(cell) {
    for (const other of picture.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
  }

  // The next cell in a direction; gaps of an elided picture are stepped over.
  function neighbour([r, c], [dr, dc]) {
    for (let step = 1; step <= 64; step++) {
      const cell = find(r + dr * step, c + dc * step);
      if (cell) return cell;
    }
    return null;
  }

  picture.addEventListener("pointerover", (event) => mark(event.target.closest("[data-link]")));
  // A finger leaves when it is lifted, and a click moves the focus: what was pressed stays marked.
  picture.addEventListener("click", (event) => mark(event.target.closest("[data-link]")));
  picture.addEventListener("pointerleave", () => mark(picture.querySelector(":focus")));
  picture.addEventListener("focusout", () => mark(null));
  picture.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-r]");
    if (!cell) return;
    place = [Number(cell.dataset.r), Number(cell.dataset.c)];
    makeTabStop(cell);
    mark(cell);
  });
  picture.addEventListener("keydown", (event) => {
    const step = STEP[event.key];
    if (!step || !place) return;
    event.preventDefault();
    neighbour(place, step)?.focus();
  });

  function paint() {
    const hadFocus = picture.contains(document.activeElement);
    picture.innerHTML = model.get("svg");
    for (const cell of picture.querySelectorAll("[data-r]")) cell.setAttribute("aria-label", cell.dataset.say);
    status.textContent = model.get("status");
    const cell = (place && find(...place)) || picture.querySelector("[data-r]");
    if (cell) makeTabStop(cell);
    if (cell && hadFocus) cell.focus();
    el.dataset.rev = model.get("rev"); // tests wait for this, never for a time
  }

  let box = null;
  const frame = requestAnimationFrame(() => {
    box = el.closest(".it-box") ?? el;
    box.addEventListener("keydown", guard);
    nameSliders(box);
  });
  model.on("change:rev", paint);
  paint();
  return () => {
    cancelAnimationFrame(frame);
    box?.removeEventListener("keydown", guard);
    model.off("change:rev", paint);
  };
}

export default { render };
