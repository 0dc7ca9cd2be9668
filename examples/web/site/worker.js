// The worker runs Go: the page stays responsive while a model computes. It answers {id, call, args} with {id, value} or {id, fault},
// and reports {progress}, {ready} and {fault} of its own start.
importScripts("wasm_exec.js");

// counted passes a response on and reports how much of it has come. The length of what is unpacked is in a header: that of
// Content-Length counts packed bytes.
function counted(response) {
  const total = Number(response.headers.get("X-Uncompressed-Length") || response.headers.get("Content-Length"));
  let done = 0;
  const count = new TransformStream({
    transform(chunk, out) {
      done += chunk.byteLength;
      postMessage({ progress: total ? Math.min(done / total, 1) : 0, done, total });
      out.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(count), { headers: { "Content-Type": "application/wasm" } });
}

async function start() {
  const response = await fetch("burn.wasm");
  if (!response.ok) throw new Error(`burn.wasm: ${response.status} ${await response.text()}`);
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(counted(response), go.importObject);
  const ready = new Promise((resolve) => { self.burnReady = resolve; });
  go.run(instance).then(() => postMessage({ fault: "the program in burn.wasm has ended" }));
  await ready;
  postMessage({ ready: true });
}

onmessage = async ({ data: { id, call, args } }) => {
  try {
    postMessage({ id, value: await self.burn[call](...args) });
  } catch (e) {
    postMessage({ id, fault: e.message });
  }
};

start().catch((e) => postMessage({ fault: e.message }));
