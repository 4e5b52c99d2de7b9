"use strict";

const $ = (id) => document.getElementById(id);
const state = { session: null, messages: new Map(), order: [], requests: new Map(), busy: new Set() };
let secret = sessionStorage.getItem("secret") ?? "";

if (location.hash.startsWith("#token=")) {
  secret = decodeURIComponent(location.hash.slice(7));
  sessionStorage.setItem("secret", secret);
  history.replaceState(null, "", location.pathname);
}

class RefusedError extends Error {}

async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { ...(secret && { authorization: `Bearer ${secret}` }), ...(body && { "content-type": "application/json" }) },
    body: body && JSON.stringify(body),
  });
  if (response.status === 401) throw new RefusedError();
  if (response.status === 204) return null;
  const data = await response.json();
  if (!response.ok) throw new Error(data.data?.message ?? `The server answered ${response.status}.`);
  return data;
}

/** Run what a click started, and show why it failed. */
async function attempt(work) {
  $("error").textContent = "";
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedError) showLogin("Wrong or missing token.");
    else $("error").textContent = error.message;
  }
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, onClick, className) {
  const made = element("button", className, text);
  made.type = "button";
  made.addEventListener("click", () => attempt(onClick));
  return made;
}

function showLogin(message) {
  $("app").hidden = true;
  $("login").hidden = false;
  $("login-error").textContent = message;
  $("secret").focus();
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  secret = $("secret").value.trim();
  sessionStorage.setItem("secret", secret);
  start();
});

async function start() {
  try {
    const paths = await call("GET", "/path");
    $("folder").textContent = paths.directory;
    $("login").hidden = true;
    $("app").hidden = false;
    follow();
    await refresh();
  } catch (error) {
    if (error instanceof RefusedError) showLogin(secret ? "Wrong token." : "");
    else showLogin(error.message);
  }
}

/** Read everything that is shown again: at the start, and after the connection was lost. */
async function refresh() {
  const [sessions, permissions, questions, statuses] = await Promise.all([
    call("GET", "/session?roots=true"), call("GET", "/permission"), call("GET", "/question"), call("GET", "/session/status"),
  ]);
  state.busy = new Set(Object.keys(statuses));
  state.requests = new Map([...permissions, ...questions].map((each) => [each.id, each]));
  showSessions(sessions);
  if (state.session) await open(state.session.id);
  else if (sessions.length) await open(sessions[0].id);
  showStatus();
}

function showSessions(sessions) {
  $("sessions").replaceChildren(...sessions.map((session) => {
    const row = element("li");
    const choice = button(session.title, () => open(session.id));
    choice.dataset.session = session.id;
    choice.setAttribute("aria-current", String(session.id === state.session?.id));
    row.append(choice);
    return row;
  }));
  showRequests();
}

/** Mark the sessions that work, and those that wait for an answer. */
function markSessions() {
  const asking = new Set([...state.requests.values()].map((each) => each.sessionID));
  for (const choice of $("sessions").querySelectorAll("button")) {
    const id = choice.dataset.session;
    choice.dataset.mark = asking.has(id) ? "asks" : state.busy.has(id) ? "works" : "";
  }
}

async function open(id) {
  const [session, messages] = await Promise.all([call("GET", `/session/${id}`), call("GET", `/session/${id}/message?limit=100`)]);
  state.session = session;
  state.messages = new Map(messages.map((each) => [each.info.id, { info: each.info, parts: new Map(each.parts.map((part) => [part.id, part])) }]));
  closeMenu();
  showTranscript();
  showRequests();
  for (const row of $("sessions").querySelectorAll("button")) row.setAttribute("aria-current", String(row.dataset.session === id));
  if (!$("review").hidden) await showReview();
}

function showTranscript() {
  $("title").textContent = state.session?.title ?? "opencode-py";
  $("transcript").replaceChildren(...shownMessages().map(messageElement));
  $("transcript").scrollTop = $("transcript").scrollHeight;
}

/** The messages before the one from which the session was undone. */
function shownMessages() {
  const all = [...state.messages.values()];
  const undone = all.findIndex(({ info }) => info.id === state.session?.revert?.messageID);
  return undone < 0 ? all : all.slice(0, undone);
}

function messageElement(message) {
  const made = element("article", `message ${message.info.role}`);
  made.id = message.info.id;
  for (const part of message.parts.values()) {
    const shown = partElement(part, message.info.role);
    if (shown) made.append(shown);
  }
  const error = message.info.error;
  if (error) made.append(element("p", "failed", error.name === "MessageAbortedError" ? "Interrupted." : error.data.message));
  return made;
}

function partElement(part, role) {
  const shown = partBody(part, role);
  if (shown) shown.dataset.part = part.id;
  return shown;
}

function partBody(part, role) {
  if (part.type === "text" && !part.synthetic) return role === "user" ? element("div", "text", part.text) : markdownElement(part.text);
  if (part.type === "reasoning" && part.text) return element("div", "text reasoning", part.text);
  if (part.type === "file") return element("div", "quiet", `Attached ${part.filename ?? part.mime}`);
  if (part.type === "compaction") return element("div", "quiet", "The conversation was compacted.");
  if (part.type === "tool") return toolElement(part);
  return null;
}

/** Show Markdown: code, headings, lists and paragraphs. Markup in it stays text. */
function markdownElement(text) {
  const made = element("div", "markdown");
  text.split(/^```.*$/m).forEach((piece, index) => {
    if (index % 2) made.append(element("pre", "", piece.replace(/^\n|\n$/g, "")));
    else for (const block of piece.split(/\n\s*\n/)) if (block.trim()) made.append(...blockElements(block.trim()));
  });
  return made;
}

const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+/;

/** Yield the elements of lines without a blank one between them. */
function* blockElements(block) {
  let open = null;
  for (const line of block.split("\n")) {
    const heading = line.match(/^#{1,6}\s+(.*)/);
    const item = line.match(ITEM);
    const kind = heading ? "h3" : item ? (item[1] ? "ol" : "ul") : "p";
    if (!heading && open?.localName.endsWith("l") && (kind === open.localName || kind === "p")) {
      if (item) open.append(inlineElement("li", line.replace(ITEM, "")));
      else open.lastChild.append("\n", ...inlinePieces(line.trim()));
      continue;
    }
    if (!heading && open?.localName === "p" && kind === "p") {
      open.append("\n", ...inlinePieces(line));
      continue;
    }
    if (open) yield open;
    open = heading ? inlineElement("h3", heading[1]) : item ? element(kind) : inlineElement("p", line);
    if (item) {
      if (item[1]) open.start = Number(item[1]);
      open.append(inlineElement("li", line.replace(ITEM, "")));
    }
  }
  if (open) yield open;
}

function inlineElement(name, text) {
  const made = element(name, "text");
  made.append(...inlinePieces(text));
  return made;
}

function* inlinePieces(text) {
  for (const piece of text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\(https?:[^)\s]+\))/)) {
    const link = piece.match(/^\[([^\]]+)\]\((https?:.+)\)$/);
    if (link) {
      const made = element("a", "", link[1]);
      Object.assign(made, { href: link[2], target: "_blank", rel: "noreferrer" });
      yield made;
    } else if (/^`.+`$/.test(piece)) yield element("code", "", piece.slice(1, -1));
    else if (/^\*\*.+\*\*$/.test(piece)) yield element("strong", "", piece.slice(2, -2));
    else if (piece) yield piece;
  }
}

function toolElement(part) {
  const { status, input, output, error, metadata, title } = part.state;
  const made = element("details");
  const what = title || input.command || input.filePath || input.pattern || "";
  const row = element("summary", status === "error" ? "failed" : "");
  row.append(element("strong", "", part.tool), ` ${what}`);
  if (status !== "completed") row.append(element("span", "quiet", ` ${{ error: "failed", pending: "starting" }[status] ?? status}`));
  made.append(row);
  if (metadata?.diff) made.append(diffElement(metadata.diff));
  else made.append(element("pre", "", error ?? output ?? metadata?.output ?? JSON.stringify(input, null, 2)));
  return made;
}

function diffElement(diff) {
  const made = element("pre");
  for (const line of diff.split("\n")) {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    made.append(kind ? element("span", kind, line) : document.createTextNode(`${line}\n`));
  }
  return made;
}

async function showReview() {
  const files = state.session ? await call("GET", `/session/${state.session.id}/diff`) : [];
  $("review").replaceChildren(...files.map((file) => {
    const made = element("details");
    made.open = files.length < 4;
    made.append(element("summary", "", `${file.file}  +${file.additions} −${file.deletions}`), diffElement(file.patch));
    return made;
  }));
  if (!files.length) $("review").append(element("p", "quiet", "No changed files in this session."));
}

function showRequests() {
  $("requests").replaceChildren(...[...state.requests.values()].map((each) => (each.questions ? questionElement(each) : permissionElement(each))));
  showStatus();
}

/** Begin the element of a request, which names the session that it comes from if that is not open. */
function requestElement(request) {
  const made = element("div", "request");
  made.dataset.request = request.id;
  if (request.sessionID !== state.session?.id) {
    const row = $("sessions").querySelector(`[data-session="${request.sessionID}"]`);
    made.append(element("p", "quiet", row ? `From another session: ${row.textContent}` : "From a sub-agent"));
  }
  return made;
}

function permissionElement(request) {
  const made = requestElement(request);
  made.append(element("strong", "", request.metadata.heading ?? `Allow ${request.permission}?`));
  if (request.metadata.command) made.append(element("pre", "", request.metadata.command));
  else if (request.metadata.diff) made.append(diffElement(request.metadata.diff));
  else made.append(element("pre", "", request.patterns.join("\n")));
  if (request.metadata.reason) made.append(element("p", "quiet", request.metadata.reason));
  const answer = (reply) => () => settle(request.id, () => call("POST", `/permission/${request.id}/reply`, { reply }));
  const answers = element("div", "answers");
  answers.append(button("Allow once", answer("once"), "primary"));
  if (request.always.length) answers.append(button(`Always: ${request.always.join(", ")}`, answer("always")));
  answers.append(button("Reject", answer("reject")));
  made.append(answers);
  return made;
}

/** A form: a question per field, answered together. */
function formElement(request) {
  const made = requestElement(request);
  const fields = request.questions.map(({ question, options, multiple }) => {
    const lines = question.split("\n");
    const name = lines.pop();
    if (lines.length) made.append(element("strong", "text", lines.join("\n")));
    const label = element("label", "text", name);
    const field = element(options.length ? "select" : "input");
    field.multiple = multiple;
    if (options.length && !multiple) field.append(new Option("", ""));
    for (const option of options) field.append(new Option(option.label));
    label.append(field);
    made.append(label);
    return field;
  });
  const given = () => fields.map((field) => [...(field.selectedOptions ?? [field])].map((each) => each.value).filter(Boolean));
  const answers = element("div", "answers");
  answers.append(button("Send", () => settle(request.id, () => call("POST", `/question/${request.id}/reply`, { answers: given() })), "primary"));
  answers.append(button("Dismiss", () => settle(request.id, () => call("POST", `/question/${request.id}/reject`, {}))));
  made.append(answers);
  return made;
}

function questionElement(request) {
  if (request.questions.length > 1 || !request.questions[0].custom) return formElement(request);
  const made = requestElement(request);
  const { question, options } = request.questions[0];
  made.append(element("strong", "", question));
  const answers = element("div", "answers");
  const reply = (text) => settle(request.id, () => call("POST", `/question/${request.id}/reply`, { answers: [[text]] }));
  for (const option of options) answers.append(button(option.label, () => reply(option.label)));
  const own = element("input");
  own.setAttribute("aria-label", "Your own answer");
  answers.append(own, button("Answer", () => reply(own.value), "primary"));
  answers.append(button("Dismiss", () => settle(request.id, () => call("POST", `/question/${request.id}/reject`, {}))));
  made.append(answers);
  return made;
}

async function settle(id, answer) {
  await answer();
  state.requests.delete(id);
  showRequests();
}

function showStatus(text) {
  const busy = state.session && state.busy.has(state.session.id);
  const asks = [...state.requests.values()].some((each) => each.sessionID === state.session?.id);
  $("status").textContent = text ?? (asks ? "needs you" : busy ? "working" : "ready");
  $("stop").hidden = !busy;
  markSessions();
}

$("new").addEventListener("click", () => attempt(async () => {
  state.session = null;
  state.messages.clear();
  closeMenu();
  showTranscript();
  showRequests();
  $("prompt").focus();
}));

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("prompt").value.trim();
  if (!text) return;
  attempt(async () => {
    state.session ??= await call("POST", "/session", {});
    await call("POST", `/session/${state.session.id}/prompt_async`, { parts: [{ type: "text", text }] });
    $("prompt").value = "";
  });
});

$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("composer").requestSubmit();
  }
});

$("stop").addEventListener("click", () => attempt(() => call("POST", `/session/${state.session.id}/abort`)));

$("menu").addEventListener("click", () => {
  const open = $("sidebar").classList.toggle("open");
  $("menu").setAttribute("aria-expanded", String(open));
});

function closeMenu() {
  $("sidebar").classList.remove("open");
  $("menu").setAttribute("aria-expanded", "false");
}

function choose(tab) {
  const review = tab === "review";
  $("review").hidden = !review;
  $("transcript").hidden = review;
  $("tab-review").setAttribute("aria-selected", String(review));
  $("tab-chat").setAttribute("aria-selected", String(!review));
  if (review) attempt(showReview);
}
$("tab-chat").addEventListener("click", () => choose("chat"));
$("tab-review").addEventListener("click", () => choose("review"));

const handlers = {
  "session.created": () => attempt(reloadSessions),
  "session.updated": ({ info }) => {
    if (info.id === state.session?.id) {
      const undone = state.session.revert?.messageID;
      state.session = info;
      $("title").textContent = info.title;
      if (undone !== info.revert?.messageID) showTranscript();
    }
    const row = $("sessions").querySelector(`[data-session="${info.id}"]`);
    if (row) row.textContent = info.title;
    else if (!info.parentID) attempt(reloadSessions);
  },
  "session.deleted": () => attempt(reloadSessions),
  "session.status": ({ sessionID, status }) => {
    if (status.type === "idle") state.busy.delete(sessionID);
    else state.busy.add(sessionID);
    showStatus();
  },
  "session.idle": () => { if (!$("review").hidden) attempt(showReview); },
  "message.updated": ({ info }) => {
    if (info.sessionID !== state.session?.id) return;
    const known = state.messages.get(info.id);
    if (known) known.info = info;
    else state.messages.set(info.id, { info, parts: new Map() });
    redraw(info.id);
  },
  "message.removed": ({ messageID }) => {
    state.messages.delete(messageID);
    $(messageID)?.remove();
  },
  "message.part.updated": ({ part }) => {
    const message = state.messages.get(part.messageID);
    if (!message) return;
    message.parts.set(part.id, part);
    redraw(part.messageID);
  },
  "message.part.delta": ({ messageID, partID, delta }) => {
    const part = state.messages.get(messageID)?.parts.get(partID);
    if (!part) return;
    part.text += delta;
    redraw(messageID);
  },
  "permission.asked": (request) => { state.requests.set(request.id, request); showRequests(); },
  "permission.replied": ({ requestID }) => { state.requests.delete(requestID); showRequests(); },
  "question.asked": (request) => { state.requests.set(request.id, request); showRequests(); },
  "question.replied": ({ requestID }) => { state.requests.delete(requestID); showRequests(); },
  "question.rejected": ({ requestID }) => { state.requests.delete(requestID); showRequests(); },
};

const changed = new Set();

/** Draw a message again with the next frame, however often it changes before. */
function redraw(id) {
  if (!changed.size) requestAnimationFrame(drawChanged);
  changed.add(id);
}

function drawChanged() {
  const view = $("transcript");
  const follows = isAtEnd(view);
  const shown = new Set(shownMessages());
  for (const id of changed) {
    const message = state.messages.get(id);
    if (!shown.has(message)) continue;
    const made = messageElement(message);
    const before = $(id);
    if (before) {
      const open = new Set([...before.querySelectorAll("details[open]")].map((each) => each.dataset.part));
      for (const each of made.querySelectorAll("details")) each.open = open.has(each.dataset.part);
      before.replaceWith(made);
    } else view.append(made);
  }
  changed.clear();
  if (follows) view.scrollTop = view.scrollHeight;
}

let atEnd = true;
$("transcript").addEventListener("scroll", ({ target }) => { atEnd = isAtEnd(target); });
new ResizeObserver(([{ target }]) => { if (atEnd) target.scrollTop = target.scrollHeight; }).observe($("transcript"));

function isAtEnd(view) {
  return view.scrollHeight - view.scrollTop - view.clientHeight < 80;
}

async function reloadSessions() {
  showSessions(await call("GET", "/session?roots=true"));
}

/** Follow the events, and connect again whenever the connection is lost. */
async function follow() {
  for (let failures = 0; ; ) {
    try {
      const response = await fetch("/event", { headers: secret ? { authorization: `Bearer ${secret}` } : {} });
      if (response.status === 401) return showLogin("The token is no longer valid.");
      if (failures) await refresh();
      failures = 0;
      showStatus();
      let rest = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const line = block.split("\n").find((each) => each.startsWith("data: "));
          if (!line) continue;
          const { type, properties } = JSON.parse(line.slice(6));
          handlers[type]?.(properties);
        }
      }
    } catch (error) {
      console.warn(error);
    }
    failures += 1;
    showStatus("reconnecting");
    await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 500 * failures)));
  }
}

start();
