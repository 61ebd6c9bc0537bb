"use strict";
// The page around the viewer: fetches what it is made of, keeps its settings, takes what is dropped on it, hands out what
// it exports.  Nothing goes anywhere but here: every request is for a file beside this one.

const kMostDropped = 700e6;  // bytes: a model lies in memory twice while it is opened
const kPlanes = 2;           // bytes of a weight, each of which is stored by itself in a pack

const canvas = document.getElementById("canvas");
const cover = document.getElementById("cover");
const word = document.getElementById("word");
const note = document.getElementById("note");
const typing = document.getElementById("typing");

let program = null;   // the viewer, once it runs
let manifest = null;  // which files there are: { program, script, packs: { name: { file, bytes, size } }, pages, ... }
const arrived = new Set(), asked = new Map();

function tell(sentence, seconds = 8) {
  note.textContent = sentence;
  note.hidden = false;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { note.hidden = true; }, 1000 * seconds);
}

function coverWith(sentence) {
  word.textContent = sentence;
  cover.hidden = false;
}

// Files of the site are compressed by xz whatever the server does, and each is fetched and unpacked by a worker of its own.
const unpacker = fetch("unpack.wasm").then(response => response.arrayBuffer()).then(WebAssembly.compile);

const refused = new Set();  // files that came damaged: the browser's own copy is not asked again

async function unpacked({ file, size }) {
  const module = await unpacker, worker = new Worker("unpack.js");
  try {
    return await new Promise((yes, no) => {
      worker.onmessage = ({ data }) => {
        if (!data.sentence) return yes(data.bytes);
        refused.add(file);
        no(new Error(data.sentence));
      };
      worker.onerror = () => no(new Error(`${file} cannot be unpacked in this browser`));
      worker.postMessage({ file, size, module, cache: refused.has(file) ? "reload" : "default" });
    });
  } finally {
    worker.terminate();
  }
}

// The bytes of a file whose every second byte was stored together: weights compress better so.
function joined(bytes) {
  const each = Math.floor(bytes.length / kPlanes);
  const whole = new Uint8Array(bytes.length);
  for (let plane = 0; plane < kPlanes; ++plane)
    for (let n = 0, from = plane * each, to = plane; n < each; ++n, to += kPlanes) whole[to] = bytes[from + n];
  whole.set(bytes.subarray(each * kPlanes), each * kPlanes);
  return whole;
}

function foldersOf(path) {
  const parts = path.split("/").slice(0, -1);
  return parts.join("/") || "/";
}

// A pack: the length of its table in 4 bytes, the table as JSON, the files one after another.
function placePack(FS, bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const table = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  for (const { path, size, planes } of table) {
    const stored = bytes.subarray(at, at + size);
    FS.mkdirTree(foldersOf(path));
    FS.writeFile(path, planes ? joined(stored) : stored);
    at += size;
  }
}

// One fetch for each pack, however often it is asked for.
function bytesOf(name) {
  if (!asked.has(name)) asked.set(name, unpacked(manifest.packs[name]));
  return asked.get(name);
}

async function bring(names) {
  const size = names.reduce((sum, name) => sum + manifest.packs[name].bytes, 0);
  coverWith(`${names.join(", ")}: ${(size / 1e6).toFixed(1)} MB …`);
  try {
    for (const name of names) {
      placePack(program.FS, await bytesOf(name));
      arrived.add(name);
      asked.delete(name);
    }
    cover.hidden = true;
    program.ccall("locus_files_changed", null, [], []);
  } catch (error) {
    names.forEach(name => asked.delete(name));
    coverWith(`${error.message}. A click tries again.`);
    await new Promise(clicked => addEventListener("pointerdown", clicked, { once: true }));
    await bring(names);
  }
}

function missing(page, model) {
  const wanted = [...(manifest.pages[page] || []), ...(manifest.packs[model] ? [model] : [])];
  return wanted.filter(name => !arrived.has(name));
}

// What the program calls.
const services = {
  coming: false,
  settingsTime: 0,
  copied: "",
  typing: false,

  ready(page, model) {
    if (services.coming) return false;
    const names = missing(page, model);
    if (names.length === 0) return true;
    services.coming = true;
    bring(names).then(() => { services.coming = false; });
    return false;
  },

  drawn(page, settled) {
    if (!services.first) {
      services.first = performance.now();
      cover.hidden = true;
      fetchRest();
    }
    canvas.dataset.page = page;
    canvas.dataset.settled = Boolean(settled);
    keepSettings();
    handOut();
    if (settled) bringLetters(page);
  },

  // The caret of the text field that is typed into, in pixels of the canvas; wanted false: there is none.
  caret(wanted, x, y) {
    services.typing = wanted;
    if (!wanted) {
      if (document.activeElement === typing) canvas.focus();
      return;
    }
    typing.style.left = `${Math.min(x / devicePixelRatio, innerWidth - 240)}px`;
    typing.style.top = `${y / devicePixelRatio}px`;
    typing.focus({ preventScroll: true });
  },

  // Nothing is on its way any more.
  idle: () => services.first !== undefined && asked.size === 0,

  copy(text) {
    if (text.startsWith("#")) text = location.origin + location.pathname + location.search + text;
    services.copied = text;
    const refused = () => tell(`The browser does not let a page copy; this is the text: ${text}`, 30);
    if (navigator.clipboard) navigator.clipboard.writeText(text).catch(refused);
    else refused();
  },
};

async function bringQuietly(name) {
  if (arrived.has(name) || asked.has(name)) return;
  try {
    placePack(program.FS, await bytesOf(name));
    arrived.add(name);
    program.ccall("locus_files_changed", null, [], []);
  } catch (error) {
    tell(error.message);
  }
  asked.delete(name);
}

const kLetters = /[\u2e80-\uffdc]/;

function bringLetters(page) {
  const link = () => decodeURIComponent(program.ccall("locus_link", "string", [], []));
  if (!arrived.has(manifest.letters) && (manifest.pagesWithLetters.includes(page) || kLetters.test(link())))
    bringQuietly(manifest.letters);
}

// Signs and letters beyond the Latin ones are not in the first picture.
async function fetchRest() {
  for (const name of manifest.later) await bringQuietly(name);
}

// undefined: this browser keeps nothing.
function stored(key) {
  try { return localStorage.getItem(key); } catch { return undefined; }
}

function keepSettings() {
  const file = "/settings/settings.json";
  if (!program.FS.analyzePath(file).exists) return;
  const time = program.FS.stat(file).mtime.getTime();
  if (time === services.settingsTime) return;
  services.settingsTime = time;
  try { localStorage.setItem("locus.settings", program.FS.readFile(file, { encoding: "utf8" })); } catch { /* not kept */ }
}

// What was exported is downloaded and leaves the program's file system.
function handOut() {
  for (const name of program.FS.readdir("/exports")) {
    if (name.startsWith(".")) continue;
    const file = "/exports/" + name;
    const url = URL.createObjectURL(new Blob([program.FS.readFile(file)]));
    program.FS.unlink(file);
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }
}

// Files that are dropped or chosen: into the program's file system, and not further.

async function filesOf(entry, path) {
  if (entry.isFile) return [{ path, file: await new Promise((yes, no) => entry.file(yes, no)) }];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((yes, no) => reader.readEntries(yes, no));
    if (some.length === 0) return found;
    for (const one of some) found.push(...await filesOf(one, path + "/" + one.name));
  }
}

let drops = 0, reading = null;  // reading: what is taken in at the moment

const kPiece = 16e6;  // bytes that are read between two frames

// Esc gives it up.
async function readWhole(file, taken) {
  const bytes = new Uint8Array(file.size);
  for (let at = 0; at < file.size; at += kPiece) {
    bytes.set(new Uint8Array(await file.slice(at, at + kPiece).arrayBuffer()), at);
    taken.bytes += Math.min(kPiece, file.size - at);
    if (taken.stopped) throw new Error("stopped");
    if (taken.size > 2 * kPiece)
      tell(`${taken.name}: ${(taken.bytes / 1e6).toFixed(0)} of ${(taken.size / 1e6).toFixed(0)} MB; Esc stops it`);
  }
  return bytes;
}

async function takeIn(names, files) {
  if (!program) return tell("One moment: the viewer is still on its way.");
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (size > kMostDropped)
    return tell(`${names.join(", ")} has ${(size / 1e6).toFixed(0)} MB, and a browser has room for ${kMostDropped / 1e6}: ` +
                "./locus view opens it on a desktop.", 20);
  const folder = `/dropped/${++drops}`;
  if (reading) reading.stopped = true;
  const taken = reading = { name: names.join(", "), size, bytes: 0, stopped: false }, written = [];
  try {
    for (const { path, file } of files) {
      const target = `${folder}/${path}`;
      program.FS.mkdirTree(foldersOf(target));
      program.FS.writeFile(target, await readWhole(file, taken), { canOwn: true });
      written.push(target);
    }
  } catch (error) {
    written.forEach(target => program.FS.unlink(target));
    return tell(taken.stopped ? `${taken.name} is left alone.` : `${taken.name} cannot be read: ${error.message}`);
  } finally {
    if (reading === taken) reading = null;
  }
  for (const name of names) program.ccall("locus_drop", null, ["string"], [`${folder}/${name}`]);
  tell(`${names.join(", ")} stays in this browser: nothing is sent anywhere.`);
}

addEventListener("dragover", event => event.preventDefault(), true);
addEventListener("drop", async event => {
  event.preventDefault();
  event.stopImmediatePropagation();
  const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
  const files = [];
  try {
    for (const entry of entries) files.push(...await filesOf(entry, entry.name));
    await takeIn(entries.map(entry => entry.name), files);
  } catch (error) {
    tell(`What was dropped cannot be read: ${error.message}`);
  }
}, true);

for (const id of ["folder", "file"])
  document.getElementById(id).addEventListener("change", event => {
    const files = [...event.target.files].map(file => ({ path: file.webkitRelativePath || file.name, file }));
    takeIn([...new Set(files.map(({ path }) => path.split("/")[0]))], files);
    event.target.value = "";
  });

addEventListener("keydown", event => {
  if (event.key === "Escape" && reading) reading.stopped = true;
}, true);

// Keys that a browser would take for itself; Ctrl+O chooses a folder, with Shift files.
addEventListener("keydown", event => {
  if (!event.ctrlKey || event.altKey) return;
  const key = event.key.toLowerCase();
  if ("plezyfasg".includes(key) || (event.shiftKey && key === "c") || key === "o") event.preventDefault();
  if (key === "o") document.getElementById(event.shiftKey ? "file" : "folder").click();
}, true);

addEventListener("paste", event => {
  const text = event.clipboardData.getData("text/plain");
  if (program) program.ccall("locus_paste", null, ["string"], [text]);
});

// Text that keys compose (Japanese, Chinese, accents, the keyboard of a telephone) needs a field of the browser's own.  It
// has the focus while a text field of the viewer is typed into, shows what is being composed at its caret, and hands on
// what was chosen; keys themselves pass through it.

canvas.addEventListener("focus", () => { if (services.typing) typing.focus({ preventScroll: true }); });

typing.addEventListener("compositionstart", () => typing.classList.add("composing"));

typing.addEventListener("compositionend", ({ data }) => {
  typing.classList.remove("composing");
  typing.value = "";
  if (program && data) program.ccall("locus_type", null, ["string"], [data]);
});

typing.addEventListener("input", event => { if (!event.isComposing) typing.value = ""; });

// The wheel, in steps upwards.  GLFW of emscripten hands on its pixels, of both events that a browser may send.

function turnWheel(steps) {
  if (program && steps) program.ccall("locus_wheel", null, ["number"], [steps]);
}

const kPixelsOfStep = [100, 3, 1];  // by deltaMode: pixels, lines, pages

for (const name of ["wheel", "mousewheel"])
  addEventListener(name, event => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (name === "wheel") turnWheel(-event.deltaY / kPixelsOfStep[event.deltaMode]);
  }, { capture: true, passive: false });

// Touch: one finger hovers, a tap clicks, a finger that rests holds the button down.  Two fingers pull what lies under
// them, as the right button does, and zoom it, as the wheel does.

const kRest = 400, kShake = 10;  // milliseconds until a finger rests; pixels that one moves without meaning to
const touch = { held: -1, spread: 0, x: 0, y: 0, tap: false, timer: 0 };  // held: the button, -1 for none

function mouse(type, button = 0) {
  canvas.dispatchEvent(new MouseEvent(type, { clientX: touch.x, clientY: touch.y, button, bubbles: true }));
}

function hold(button) {
  if (touch.held >= 0) mouse("mouseup", touch.held);
  touch.held = button;
  if (button >= 0) mouse("mousedown", button);
}

// Where the fingers are, in the middle, and how far from each other.
function placeOf([one, other = one]) {
  return { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2,
           spread: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) };
}

function fingersChanged({ touches }) {
  clearTimeout(touch.timer);
  if (touches.length === 0) {
    if (touch.tap) hold(0);
    Object.assign(touch, { tap: false, spread: 0 });
    return hold(-1);
  }
  const lifted = touches.length < 2 && touch.spread > 0;  // one of two: what the other does meanwhile means nothing
  if (touch.held >= 0) hold(-1);
  Object.assign(touch, placeOf(touches), { tap: touches.length === 1 && !lifted });
  if (lifted) return;
  mouse("mousemove");
  if (touches.length > 1) hold(2);
  else touch.timer = setTimeout(() => { touch.tap = false; hold(0); }, kRest);
}

function fingersMoved({ touches }) {
  const place = placeOf(touches);
  if (touch.tap && Math.hypot(place.x - touch.x, place.y - touch.y) < kShake) return;
  clearTimeout(touch.timer);
  const steps = place.spread > 0 && touch.spread > 0 ? Math.log(place.spread / touch.spread) / Math.log(1.2) : 0;
  Object.assign(touch, place, { tap: false });
  mouse("mousemove");
  turnWheel(steps);
}

for (const [name, take] of [["touchstart", fingersChanged], ["touchend", fingersChanged], ["touchcancel", fingersChanged],
                            ["touchmove", fingersMoved]])
  addEventListener(name, event => {
    if (event.target !== canvas) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    take(event);
  }, { capture: true, passive: false });

addEventListener("hashchange", () => location.reload());

// The script that emscripten made: it defines openLocus.
function run(bytes) {
  const script = document.createElement("script");
  script.src = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
  return new Promise((yes, no) => {
    script.onload = yes;
    script.onerror = () => no(new Error("the program's script does not run"));
    document.body.append(script);
  });
}

async function start() {
  manifest = await (await fetch("manifest.json")).json();
  const link = location.hash.slice(1), names = new URLSearchParams(link);
  const first = ["first", ...missing(names.get("page") || "attention", names.get("model"))];
  const packs = Promise.all(first.map(bytesOf));
  const [code, script, all] = await Promise.all([unpacked(manifest.program), unpacked(manifest.script), packs]);
  await run(script);
  program = await openLocus({
    canvas,
    wasmBinary: code,
    arguments: [link, new URLSearchParams(location.search).has("embed") ? "embed" : ""],
    locus: services,
    print: () => {},
    printErr: sentence => tell(sentence, 20),
    preRun: [module => {
      all.forEach((bytes, n) => { placePack(module.FS, bytes); arrived.add(first[n]); asked.delete(first[n]); });
      const settings = stored("locus.settings");
      if (settings !== undefined) module.FS.mkdirTree("/settings");
      if (settings) module.FS.writeFile("/settings/settings.json", settings);
      program = module;
    }],
  });
  window.locus = { program, services, manifest };  // for the browser's console
}

start().catch(error => coverWith(`Locus cannot start here: ${error.message}`));
