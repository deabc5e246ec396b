"use strict";
// Asks for the state every two seconds and shows it. The report is loaded again only when the reader asks for it, so that
// what they sorted or opened there stays.

const EVERY_MS = 2000;
const at = (id) => document.getElementById(id);
let shownCells = null;

function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function cell(text, kind) {
  const element = document.createElement("td");
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function curve(points) {
  const space = "http://www.w3.org/2000/svg";
  const finite = points.filter(([, value]) => Number.isFinite(value));
  const element = document.createElementNS(space, "svg");
  element.setAttribute("viewBox", "0 0 100 20");
  element.setAttribute("preserveAspectRatio", "none");
  element.setAttribute("aria-hidden", "true");
  if (finite.length > 1) {
    const values = finite.map(([, value]) => value);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const [first, last] = [finite[0][0], finite[finite.length - 1][0]];
    const x = (step) => (100 * (step - first)) / Math.max(last - first, 1);
    const y = (value) => 20 - (20 * (value - least)) / Math.max(most - least, 1e-12);
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", finite.map(([step, value], index) => `${index ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join(""));
    element.append(path);
  }
  return element;
}

function row(found) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = found.title;
  line.append(head, cell(found.state.replace("_", " ")));
  if (found.state === "failed") {
    const error = cell(found.error, "error");
    error.colSpan = 7;
    line.append(error);
    return line;
  }
  const progress = found.progress;
  if (!progress) {
    const loading = cell(found.state === "running" ? (found.loaded ? "first steps, no loss yet" : "loading") : "the next process takes it over");
    loading.colSpan = 6;
    line.append(loading, cell(found.by));
    return line;
  }
  const dev = progress.dev_accuracy[progress.dev_accuracy.length - 1];
  const loss = cell(`${progress.loss_nats.toFixed(3)} `);
  loss.append(curve(progress.losses));
  const accuracy = cell(dev ? `${(100 * dev[1]).toFixed(2)} ` : "");
  accuracy.append(curve(progress.dev_accuracy));
  line.append(
    cell(`${progress.step}/${progress.steps}`, "number"),
    loss,
    accuracy,
    cell(Math.round(progress.tokens_per_s).toLocaleString("en"), "number"),
    cell(clock(progress.left_s), "number"),
    cell(progress.peak_rss_mib ? `${Math.round(progress.peak_rss_mib)} MiB` : "", "number"),
    cell(found.by),
  );
  return line;
}

function sentence(state) {
  const counts = state.counts;
  const parts = [`${counts.done} of ${counts.cells} cells done${state.search_continues ? (state.decision ? " so far; the next round may add more" : " so far; a search adds more") : ""}`];
  for (const [count, name] of [[counts.failed, "failed"], [counts.running, "running"], [counts.left_behind, "left by a process that has died"], [counts.waiting, "waiting"]]) {
    if (count > 0) parts.push(`${count} ${name}`);
  }
  if (state.left_s !== null) parts.push(`about ${clock(state.left_s)} to go`);
  return parts.join(", ");
}

function show(state) {
  const counts = state.counts;
  at("plan").textContent = state.plan + (state.synthetic ? " (synthetic data)" : "");
  document.title = `${counts.done}/${counts.cells} ${state.plan} · Frostline`;
  const text = sentence(state);
  if (at("counts").textContent !== text) at("counts").textContent = text;
  const decision = state.decision ? state.decision.lines.join("; ") : "";
  if (at("decision").textContent !== decision) at("decision").textContent = decision;
  at("decision").hidden = decision === "";
  at("share").value = counts.done / Math.max(counts.cells, 1);
  at("rows").replaceChildren(...state.cells.map(row));
  at("cells").hidden = state.cells.length === 0;
  at("summary").textContent = `Cells that run, failed or were left (${state.cells.length + state.omitted})`;
  at("omitted").hidden = state.omitted === 0;
  at("omitted").textContent = `and ${state.omitted} more`;
  const recorded = counts.done + counts.failed;
  if (recorded > 0 && shownCells === null) load(recorded);
  const more = recorded - (shownCells ?? recorded);
  at("renew").hidden = more === 0;
  // Fewer cells are recorded where records were removed.
  at("renew").textContent = more < 0 ? "Show the cells that are left" : more === 1 ? "Show 1 new cell" : `Show ${more} new cells`;
  at("renew").onclick = () => load(recorded);
}

function load(recorded) {
  shownCells = recorded;
  at("none").hidden = true;
  at("report").hidden = false;
  at("alone").hidden = false;
  at("renew").hidden = true;
  at("report").src = "report/index.html";
}

async function ask() {
  let locked = false;
  try {
    const answer = await fetch("status.json", { cache: "no-store" });
    locked = answer.status === 401;
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
    at("away").hidden = true;
  } catch {
    at("away").hidden = locked;
  }
  at("locked").hidden = !locked;
  setTimeout(ask, EVERY_MS);
}

ask();
