// The page: it draws, asks the worker and shows what it answers.
const at = (id) => document.getElementById(id);

const worker = new Worker("worker.js");
const waiting = new Map();
let last = 0;

// burn calls a function of the Go program in the worker.
const burn = (call, ...args) => new Promise((resolve, reject) => {
  waiting.set(++last, { resolve, reject });
  worker.postMessage({ id: last, call, args });
});

function fault(text) {
  at("fault").textContent = text;
  at("fault").hidden = !text;
}

const megabytes = (n) => (n / 1e6).toFixed(1);

worker.onerror = (e) => fault(e.message || "the worker does not start");
worker.onmessage = ({ data }) => {
  if (data.progress !== undefined) {
    at("progress").value = data.progress;
    at("loading-text").textContent = `Loading burn.wasm: ${megabytes(data.done)} of ${megabytes(data.total)} MB`;
  } else if (data.ready) {
    begin().catch((e) => fault(e.message));
  } else if (data.id) {
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    data.fault === undefined ? resolve(data.value) : reject(new Error(data.fault));
  } else {
    fault(data.fault);
  }
};

const fetched = async (url) => {
  const r = await fetch(url);
  if (!r.ok) throw new Error(`${url}: ${r.status} ${r.statusText}`);
  return new Uint8Array(await r.arrayBuffer());
};
const lines = (bytes) => new TextDecoder().decode(bytes).split("\n").map((l) => l.trim()).filter((l) => l);

let devices = [];
let digitLabels = [];
let labels = null; // of the second demo
let model = "digits";
let image = null;

async function begin() {
  at("loading").hidden = true;
  const [weights, names, sample] = await Promise.all([fetched("digits.onnx"), fetched("labels.txt"), fetched("sample.png")]);
  digitLabels = labels = lines(names);
  image = sample;
  devices = await burn("devices");
  for (const d of devices) at("device").add(new Option(`${d.spec} – ${d.name}`, d.spec));
  at("device").disabled = false;
  await burn("model", "digits", weights);
  at("classify").disabled = false;
  chosen();
  document.body.dataset.ready = "yes";
}

function chosen() {
  const d = devices.find((d) => d.spec === at("device").value);
  at("device-detail").textContent = (d.software && !d.detail.includes("software") ? "software; " : "") + (d.detail || "");
  classifyDrawing();
}
at("device").onchange = chosen;

function show(list, time, result, spec) {
  list.replaceChildren(...result.classes.map(({ label, value }) => {
    const li = document.createElement("li");
    const name = document.createElement("span");
    const bar = document.createElement("span");
    const number = document.createElement("span");
    name.textContent = label;
    bar.className = "bar";
    bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
    number.textContent = value.toPrecision(3);
    li.append(name, bar, number);
    return li;
  }));
  time.textContent = `${(result.seconds * 1000).toFixed(1)} ms on ${spec}`;
}

// The first demo. The drawing is put into the middle of 28x28 pixels, 20 high or wide, as the images are that the network has learnt
// from. What it is given is the PNG of those: window.drawing, the last result, has it, and `burn run` takes it too.
const pad = at("pad").getContext("2d", { willReadFrequently: true });
const seen = at("seen").getContext("2d", { willReadFrequently: true });
let pen = null;
let running = false;
let again = false;
let empty = true;

function wipe() {
  pad.fillStyle = seen.fillStyle = "#000";
  pad.fillRect(0, 0, 280, 280);
  seen.fillRect(0, 0, 28, 28);
  empty = true;
  at("answer").textContent = "–";
  at("digit-bars").replaceChildren();
  at("digit-time").textContent = "";
  window.drawing = null;
}

// box is the smallest rectangle that holds all ink.
function box() {
  const { data } = pad.getImageData(0, 0, 280, 280);
  let [x0, y0, x1, y1] = [280, 280, -1, -1];
  for (let i = 0; i < 280 * 280; i++) {
    if (data[4 * i] > 32) {
      const x = i % 280, y = (i / 280) | 0;
      x0 = Math.min(x0, x); x1 = Math.max(x1, x);
      y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
  }
  return x1 < 0 ? null : { x: x0, y: y0, w: x1 - x0 + 1, h: y1 - y0 + 1 };
}

async function classifyDrawing() {
  if (running) { again = true; return; }
  const b = box();
  if (!b || !devices.length) return;
  running = true;
  document.body.dataset.busy = "yes";
  try {
    const scale = 20 / Math.max(b.w, b.h);
    const [w, h] = [b.w * scale, b.h * scale];
    seen.fillRect(0, 0, 28, 28);
    seen.imageSmoothingQuality = "high";
    seen.drawImage(at("pad"), b.x, b.y, b.w, b.h, (28 - w) / 2, (28 - h) / 2, w, h);
    const blob = await new Promise((done) => at("seen").toBlob(done, "image/png"));
    const png = new Uint8Array(await blob.arrayBuffer());
    const spec = at("device").value;
    const result = await burn("run", "digits", spec, png, { labels: digitLabels });
    if (empty) return;
    const byDigit = { ...result, classes: [...result.classes].sort((a, b) => a.index - b.index) };
    show(at("digit-bars"), at("digit-time"), byDigit, spec);
    at("answer").textContent = result.classes[0].label;
    window.drawing = { ...result, spec, png: btoa(String.fromCharCode(...png)) };
    fault("");
  } catch (e) {
    fault(e.message);
  } finally {
    running = false;
    document.body.dataset.busy = "no";
    if (again) { again = false; classifyDrawing(); }
  }
}

const place = (e) => {
  const r = at("pad").getBoundingClientRect();
  return [(e.clientX - r.left) * 280 / r.width, (e.clientY - r.top) * 280 / r.height];
};
at("pad").onpointerdown = (e) => {
  at("pad").setPointerCapture(e.pointerId);
  pen = place(e);
  draw(e);
};
at("pad").onpointermove = (e) => { if (pen) draw(e); };
at("pad").onpointerup = at("pad").onpointercancel = () => { pen = null; };

function draw(e) {
  const to = place(e);
  pad.strokeStyle = "#fff";
  pad.lineWidth = 22;
  pad.lineCap = pad.lineJoin = "round";
  pad.beginPath();
  pad.moveTo(...pen);
  pad.lineTo(...to);
  pad.stroke();
  pen = to;
  empty = false;
  classifyDrawing();
}
at("clear").onclick = wipe;
wipe();

// The second demo.
const picked = async (input) => new Uint8Array(await input.files[0].arrayBuffer());

at("model-file").onchange = async () => {
  const file = at("model-file").files[0];
  if (!file) return;
  try {
    const { input, output } = await burn("model", file.name, await picked(at("model-file")));
    model = file.name;
    labels = null;
    at("invert").checked = false;
    at("model-name").textContent = `${file.name}: ${input} → ${output}`;
    fault("");
  } catch (e) {
    fault(e.message);
  }
};
at("image-file").onchange = async () => {
  const file = at("image-file").files[0];
  if (!file) return;
  image = await picked(at("image-file"));
  at("picture").src = URL.createObjectURL(file);
};
at("labels-file").onchange = async () => { if (at("labels-file").files[0]) labels = lines(await picked(at("labels-file"))); };

const numbers = (text) => text.split(",").filter((t) => t.trim()).map(Number);

at("classify").onclick = async () => {
  at("classify").disabled = true;
  try {
    const spec = at("device").value;
    const result = await burn("run", model, spec, image, {
      invert: at("invert").checked, softmax: at("softmax").checked, mean: numbers(at("mean").value), std: numbers(at("std").value),
      labels: labels || [], top: 5,
    });
    show(at("image-bars"), at("image-time"), result, spec);
    window.classified = { ...result, spec };
    fault("");
  } catch (e) {
    fault(e.message);
  } finally {
    at("classify").disabled = false;
  }
};
