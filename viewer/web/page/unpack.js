"use strict";
// A worker that fetches one file of the site and unpacks it: { file, size, module, cache } in, { bytes } or { sentence } out.

async function unpack({ file, size, module, cache }) {
  const response = await fetch(file, { cache });
  if (!response.ok) throw new Error(`${file} cannot be had: ${response.status} ${response.statusText}`);
  const packed = new Uint8Array(await response.arrayBuffer());
  const unpacker = (await WebAssembly.instantiate(module, { env: { emscripten_notify_memory_growth() {} } })).exports;
  unpacker._initialize();
  const from = unpacker.malloc(packed.length), to = unpacker.malloc(size);
  new Uint8Array(unpacker.memory.buffer, from, packed.length).set(packed);
  if (!unpacker.unpack(from, packed.length, to, size)) throw new Error(`${file} is damaged`);
  return new Uint8Array(unpacker.memory.buffer).slice(to, to + size);
}

onmessage = ({ data }) => unpack(data).then(
  bytes => postMessage({ bytes }, [bytes.buffer]),
  error => postMessage({ sentence: error.message }));
